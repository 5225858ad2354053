"""PopQA's files: real ones, the three layouts, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.papers.popqa.popqa import read_popqa, write_popqa

ROW = {
    "id": 7,
    "subj": "Abe Lincoln",
    "prop": "occupation",
    "obj": "trombonist",
    "s_uri": "http://www.wikidata.org/entity/Q4669037",
    "o_uri": "http://www.wikidata.org/entity/Q544972",
    "s_wiki_title": "Abe Lincoln (musician)",
    "s_pop": 98,
    "question": "What is Abe Lincoln's occupation?",
    "possible_answers": '["trombonist", "trombone player"]',
}


def test_real_file(shared: Path) -> None:
    queries = list(read_popqa(shared / "data/popqa/popqa-1000.json.gz"))
    assert len(queries) == 1000
    first = queries[0]
    assert (first.id, first.name, first.relation) == ("0", "George Rankin", "occupation")
    assert (first.entity, first.attributes["s_pop"]) == ("Q5543720", 142)
    assert first.answers()[:2] == ("politician", "political leader")
    assert first.gold_pages() == {"corpus:George Rankin"}
    assert first.attributes["object"] == "Q82955"


@pytest.mark.parametrize("suffix", [".tsv", ".json", ".jsonl"])
def test_every_layout_goes_out_and_comes_in(suffix: str, tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text(json.dumps([ROW, {**ROW, "id": 8, "s_pop": None}]))
    queries = list(read_popqa(source))
    path = tmp_path / f"out{suffix}"
    assert write_popqa(path, queries) == 2
    again = list(read_popqa(path))
    assert [(q.id, q.name, q.entity, q.answers(), q.attributes["s_pop"]) for q in again] == [
        ("7", "Abe Lincoln", "Q4669037", ("trombonist", "trombone player"), 98),
        ("8", "Abe Lincoln", "Q4669037", ("trombonist", "trombone player"), None),
    ]
    assert again[0].gold_pages() == {"corpus:Abe Lincoln (musician)"}


@pytest.mark.parametrize(
    ("change", "message"),
    [({"possible_answers": "trombonist"}, "no JSON list"), ({"possible_answers": "[]"}, "empty list")],
)
def test_wrong_answers_are_named(change: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "popqa.jsonl"
    path.write_text(json.dumps({**ROW, **change}) + "\n")
    with pytest.raises(BadInput, match=f"popqa.jsonl:1: .*{message}"):
        list(read_popqa(path))


def test_a_wrong_number_is_named(tmp_path: Path) -> None:
    path = tmp_path / "popqa.tsv"
    queries = list(read_popqa(_json(tmp_path)))
    write_popqa(path, queries)
    path.write_text(path.read_text().replace("\t98\t", "\tmany\t"))
    with pytest.raises(BadInput, match=r"popqa\.tsv:2: s_pop is no number"):
        list(read_popqa(path))


def _json(folder: Path) -> Path:
    path = folder / "source.json"
    path.write_text(json.dumps([ROW]))
    return path
