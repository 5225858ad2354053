"""KILT's knowledge source: in and out without loss."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.files.folder import Folder
from whichone.knowledge.formats import kilt_source
from whichone.knowledge.formats.kilt_source import export_kilt, read_part
from whichone.knowledge.knowledge_tables import KIND, LINKS, PAGES

ADA = {
    "_id": "12",
    "wikipedia_id": "12",
    "wikipedia_title": "Ada Lovelace",
    "text": ["Ada Lovelace\n", "Ada was born in London.\n", "Section::::Work.\n", "BULLET::::- notes"],
    "anchors": [
        {"text": "born", "href": "Birth%23Human", "paragraph_id": 1, "start": 8, "end": 12},
        {"text": "London", "href": "London", "paragraph_id": 1, "start": 16, "end": 22, "wikipedia_id": "9"},
        {"text": "Ada", "href": "Ada%20%28name%29", "paragraph_id": 1, "start": 0, "end": 3},
    ],
    "categories": "1815 births,People from London, England,Ada",
    "history": {"revid": 5, "timestamp": "2019-08-01T00:00:00Z", "parentid": 4, "url": "https://x?oldid=5"},
    "wikidata_info": {"wikidata_id": "Q7259", "aliases": {"alias": ["Ada Byron"]}},
}  # fmt: skip
NAMED = {
    "_id": "3",
    "wikipedia_id": 3,
    "wikipedia_title": "Ada",
    "text": ["Ada\n"],
    "anchors": [],
    "categories": "Disambiguation pages",
    "history": {},
    "own": {"kept": True},
}


def knowledge_base(tmp_path: Path, *records: dict[str, Any]) -> Path:
    part = read_part(b"\n".join(json.dumps(r).encode() for r in records))
    assert part.refused == []
    tables = part.tables()
    with Folder.create(tmp_path / "kb", KIND) as folder:
        folder.write(PAGES, tables["pages"])
        folder.write(LINKS, tables["links"])
        folder.commit()
    return tmp_path / "kb"


def test_rows() -> None:
    tables = read_part(json.dumps(ADA).encode(), position=40).tables()
    [page] = tables["pages"].to_pylist()
    assert page["page"] == "enwiki:12"
    assert (page["entity"], page["kind"], page["position"]) == ("Q7259", "article", 40)
    assert page["categories"] == ["1815 births", "People from London, England", "Ada"]
    assert (page["revision"], page["timestamp"]) == (5, "2019-08-01T00:00:00Z")
    links = [(x["text"], x["target"], x["target_page"]) for x in tables["links"].to_pylist()]
    assert links == [("Ada", "Ada (name)", None), ("born", "Birth", None), ("London", "London", "enwiki:9")]


def test_a_record_goes_out_as_it_came_in(tmp_path: Path) -> None:
    base = knowledge_base(tmp_path, ADA, NAMED)
    out = [msgspec.json.decode(line) for line in export_kilt(base, anchor_ids=False)]
    assert out == [ADA, NAMED]


def test_disambiguation_pages_are_told() -> None:
    [row] = read_part(json.dumps(NAMED).encode()).tables()["pages"].to_pylist()
    assert row["kind"] == "disambiguation"


def test_the_golden_knowledge_source(shared: Path, tmp_path: Path) -> None:
    path = shared / "golden/amber_build/world1/kilt_knowledgesource.json.gz"
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    base = knowledge_base(tmp_path, *records)
    out = {r["wikipedia_id"]: r for r in map(msgspec.json.decode, export_kilt(base))}
    assert len(out) == len(records) > 0
    assert out == {r["wikipedia_id"]: r for r in records}


def test_bad_lines_are_refused_with_their_place() -> None:
    good = json.dumps(ADA).encode()
    for bad in (b"{", b"[1]", b'{"wikipedia_id": "1"}', b"\xff", b'{"a":' * 2000):
        part = read_part(good + b"\n" + bad + b"\n")
        assert [offset for offset, _ in part.refused] == [len(good) + 1]
        assert part.tables()["pages"].num_rows == 1


_HREFS = st.sampled_from(
    ["London", "New%20York%20%28film%29", "new%20york", "A(b", "x%23y", "%C3%89a", "A%20%20b", "", "A%20b "]
)  # fmt: skip
_ANCHORS = st.fixed_dictionaries(
    {"text": st.text(max_size=3), "href": _HREFS, "paragraph_id": st.integers(0, 2)}
    | {key: st.sampled_from([0, 3, 3.0, 7, -1, 2**31, True, None]) for key in ("start", "end")},
    optional={"wikipedia_id": st.sampled_from(["9", 9])},
)
_HISTORIES = st.fixed_dictionaries(
    {},
    optional={
        "revid": st.sampled_from([5, "5", -5, 2**63, None]),
        "timestamp": st.sampled_from(["2019", 2019, None]),
        "parentid": st.just(4),
    },
)
_ABOUTS = st.fixed_dictionaries(
    {},
    optional={
        "wikidata_id": st.sampled_from(["Q1", "", 1, None]),
        "description": st.sampled_from(["a disambiguation page", "a woman", None]),
    },
)
_RECORDS = st.fixed_dictionaries(
    {"wikipedia_id": st.sampled_from(["12", 12]), "wikipedia_title": st.sampled_from(["Ada", "Ada (disambiguation)"])}
    | {"_id": st.just("12"), "text": st.lists(st.text(max_size=3), max_size=2)},
    optional={
        "anchors": st.lists(_ANCHORS, max_size=3),
        "categories": st.sampled_from(["", "A,B", "London, England", "Disambiguation pages"]),
        "history": _HISTORIES,
        "wikidata_info": _ABOUTS,
        "own": st.just(1),
    },
)  # fmt: skip


@given(_RECORDS)
def test_usual_records_give_the_rows_that_any_record_gives(record: dict[str, Any]) -> None:
    line = json.dumps(record).encode()
    usual = read_part(line)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kilt_source, "_usual", _unusual)
        general = read_part(line)
    assert usual.tables() == general.tables()
    assert usual.counts == general.counts
    assert usual.refused == general.refused


def _unusual(line: bytes) -> None:
    raise msgspec.ValidationError("taken for an unusual record")


def test_usual_records_are_taken_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kilt_source._Reader, "_add_other", None)
    sorted_ada = {**ADA, "anchors": ADA["anchors"][:1]}
    assert read_part(json.dumps(sorted_ada).encode()).refused == []
