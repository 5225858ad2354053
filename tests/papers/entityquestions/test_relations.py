"""The relations as data: the published 24, and files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.relations import published_relations, read_relations
from whichone.errors import BadInput


def test_the_published_relations() -> None:
    relations = published_relations()
    assert len(relations) == 24
    assert "P30" not in relations  # in the released template file, not among the 24
    assert relations["P19"].ask("Abe Lincoln") == "Where was Abe Lincoln born?"
    assert {r.id for r in relations.values() if r.reworded} == {"P19", "P159", "P170"}
    assert relations["P131"].question == relations["P276"].question
    assert relations["P413"].question == "What position does $name play?"


def test_the_name_is_found_in_either_wording() -> None:
    birth = published_relations()["P19"]
    assert birth.name_in("Where was Arve Furset born?") == "Arve Furset"
    assert birth.name_in(birth.ask("Arve Furset", reworded=True)) == "Arve Furset"
    assert birth.name_in("Where was  born?") is None
    assert birth.name_in("Who founded Oslo?") is None


def test_a_relation_without_rewording_is_asked_as_ever() -> None:
    assert published_relations()["P26"].ask("X", reworded=True) == "Who is X married to?"


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "relations.toml"
    path.write_text('[P6]\nlabel = "head"\nquestion = "Who leads $name?"\n')
    assert read_relations(path)["P6"].ask("Oslo") == "Who leads Oslo?"


@pytest.mark.parametrize(
    "text", ['[P6]\nlabel = "x"\nquestion = "Who leads?"\n', '[P6]\nlabel = "x"\n', "P6 = "]
)
def test_a_wrong_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "relations.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"relations\.toml"):
        read_relations(path)
