"""`whichone.Namesake` over anybody's passages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import whichone
import whichone.namesake
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError

STAFF = [
    {"id": "1", "title": "Ada Park (Payroll)", "text": "Ada Park works in Payroll, in Leeds."},
    {"id": "2", "title": "Ada Park (Legal)", "text": "Ada Park works in Legal. She is in Turin."},
    {"id": "3", "title": "Bo Lind", "text": "Bo Lind sells bicycles in Oslo."},
]


def test_three_lines() -> None:
    namesake = whichone.Namesake.over(STAFF, encoder="none")
    assert namesake.search("Which Ada Park is in Turin?", 1)[0].passage.source_id == "2"
    assert len(namesake) == 3


def test_tables_names_and_a_folder(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(STAFF)
    namesake = whichone.Namesake.over(table, names={"The Boss": ["3"]}, encoder="none")
    hits = namesake.search_many(["What does The Boss sell?", "Ada Park in Leeds"], 2)
    assert [found[0].passage.source_id for found in hits] == ["3", "1"]
    namesake.save(tmp_path / "index")
    again = whichone.Namesake.open(tmp_path / "index")
    assert again.search("What does The Boss sell?", 2) == hits[0]
    with pytest.raises(UsageError, match="already"):
        namesake.save(tmp_path / "index")


def test_what_is_no_passage() -> None:
    with pytest.raises(BadInput, match="passage 1 is no record"):
        whichone.Namesake.over([STAFF[0], "text"], encoder="none")
    with pytest.raises(BadInput, match="'9', which is no entity, page or passage"):
        whichone.Namesake.over(STAFF, names={"Nobody": "9"}, encoder="none")


CUSTOMERS = [
    {"id": "t1", "entity": "c1", "tenant": "acme", "text": "The printer in hall 3 prints nothing."},
    {"id": "t2", "entity": "c1", "tenant": "acme", "text": "Invoice 77 was paid twice."},
    {"id": "t3", "entity": "c2", "tenant": "acme", "text": "The printer prints everything twice."},
    {"id": "t4", "entity": "c3", "tenant": "globex", "text": "The printer smells of smoke."},
]
PEOPLE = [
    {"id": "c1", "name": "Ada Park", "aliases": ["A. Park"], "city": "Leeds"},
    {"id": "c2", "name": "Ada Park", "city": "Turin"},
    {"id": "c3", "name": "Ada Park", "city": "Oslo"},
]


def ids(hits: list[whichone.namesake.Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_many_passages_an_entity_and_attributes_that_tell_entities_apart() -> None:
    namesake = whichone.Namesake.over(CUSTOMERS, names=PEOPLE, encoder="none")
    assert namesake.sees == ("corpus", "knowledge base")
    assert ids(namesake.search("printer of Ada Park in Turin", 1)) == ["t3"]
    first = namesake.search("Ada Park from Leeds: which invoice was paid?", 2)
    assert ids(first) == ["t2", "t1"]
    assert first[0].passage.entity == "c1"
    assert first[0].fields == {"tenant": "acme"}


def test_a_filter_comes_before_ranking() -> None:
    namesake = whichone.Namesake.over(CUSTOMERS, names=PEOPLE, encoder="none")
    found = namesake.search("Ada Park's printer", 5, filter={"tenant": "globex"})
    assert ids(found) == ["t4"]
    assert set(ids(namesake.search("printer", 5, filter={"tenant": ["acme"]}))) == {"t1", "t3"}
    assert ids(namesake.search("printer", 5, filter={"tenant": "acme", "entity": "c2"})) == ["t3"]
    assert namesake.search("printer", 5, filter={"tenant": "nobody"}) == []
    with pytest.raises(UsageError, match="did you mean tenant"):
        namesake.search("printer", 5, filter={"tenat": "acme"})


def test_tables_of_pandas_and_a_corpus(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    people = pd.DataFrame([*PEOPLE, {"id": "c3", "name": "Boss"}])
    namesake = whichone.Namesake.over(pd.DataFrame(CUSTOMERS), names=people, encoder="none")
    assert ids(namesake.search("What smells at Boss?", 1)) == ["t4"]
    namesake.save(tmp_path / "index")
    corpus = Corpus.open(tmp_path / "index" / "corpus")
    again = whichone.Namesake.over(corpus, encoder="none")
    assert again.sees == ("corpus",)
    assert ids(again.search("smoke", 1, filter={"tenant": "globex"})) == ["t4"]


def test_adding_replacing_and_removing(tmp_path: Path) -> None:
    namesake = whichone.Namesake.over(CUSTOMERS, names=PEOPLE, encoder="none")
    namesake.save(tmp_path / "index")
    reader = whichone.Namesake.open(tmp_path / "index")
    new = {"id": "t9", "entity": "c2", "tenant": "acme", "text": "The scanner sings at night."}
    assert namesake.add([new]) == 1
    # what was given for its entity counts for the new passage too
    assert ids(namesake.search("Ada Park in Turin: what sings?", 2)) == ["t9", "t3"]
    assert ids(namesake.search("scanner", 3, filter={"entity": "c2"})) == ["t9"]
    assert ids(reader.search("scanner", 3)) == []
    assert reader.refresh() and not reader.refresh()
    assert ids(reader.search("scanner", 3)) == ["t9"]
    namesake.add([{**new, "text": "The scanner is silent."}])
    assert len(namesake) == 5
    assert ids(namesake.search("sings", 3)) == []
    assert namesake.remove("t9") == 1 and namesake.remove("t9") == 0
    assert namesake.remove(entity="c1") == 2
    assert ids(namesake.search("Ada Park printer in Leeds", 5, filter={"tenant": "acme"})) == ["t3"]
    assert len(namesake) == len(whichone.Namesake.open(tmp_path / "index")) == 2


def test_names_of_passages_that_are_there_already() -> None:
    namesake = whichone.Namesake.over(STAFF, encoder="none")
    assert namesake.sees == ("corpus",)
    namesake.add([], names=[{"id": "3", "name": "The Boss", "city": "Oslo"}])
    assert ids(namesake.search("What does The Boss sell?", 1)) == ["3"]
    assert len(namesake) == 3
    assert namesake.sees == ("corpus", "knowledge base")


def test_an_index_says_what_it_was_made_of() -> None:
    described = whichone.Namesake.over(STAFF, encoder="none").describe()
    assert len(described["corpus"]) == 64
    assert described["versions"]["whichone"]
    assert described["encoder"] == "none"
    assert described["bm25"]["k1"] == 0.9


def test_what_is_no_name() -> None:
    with pytest.raises(BadInput, match=r"names\[0\] has no name"):
        whichone.Namesake.over(STAFF, names=[{"id": "1", "city": "Leeds"}], encoder="none")
    with pytest.raises(BadInput, match="two passages have the id '1'"):
        whichone.Namesake.over([STAFF[0], STAFF[0]], encoder="none")
