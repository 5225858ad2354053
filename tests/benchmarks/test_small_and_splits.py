"""A small corpus of its own, and parts that share no name and no entity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.derive import own_parts, split_queries
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.records import Bearer, NameSet, Output, Provenance, Query
from whichone.runs.retrieve import retrieve


def query(n: int, name: str, entity: str) -> Query:
    gold = Output(answer="x", provenance=((Provenance(page=f"p:{entity}"),),))
    return Query(id=f"q{n}", task="qa", input="?", name=name, name_set=name, entity=entity, outputs=(gold,))


def test_names_that_share_an_entity_stay_together() -> None:
    bearers = {"Al": "ab", "Bo": "bc", "Cy": "de", "Di": "fg", "Ed": "hi"}
    sets = [
        NameSet(id=name, name=name, bearers=tuple(Bearer(entity=e) for e in entities))
        for name, entities in bearers.items()
    ]
    queries = [query(n, name, entities[0]) for n, (name, entities) in enumerate(bearers.items())]
    for seed in range(8):
        parts = split_queries(queries, sets, {"train": 0.6, "test": 0.4}, seed)
        assert sorted(len(part) for part in parts.values()) == [2, 3]
        where = {q.name: part for part, members in parts.items() for q in members}
        assert where["Al"] == where["Bo"]  # b bears both
    assert parts == split_queries(queries, sets, {"train": 0.6, "test": 0.4}, 7)


def test_parts_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ["build", "splits", "builtin/amber", "parts", "--shares", "train=0.7,test=0.3"]
    done = CliRunner().invoke(whichone, [*typed, "--json"], catch_exceptions=False)
    rows = {row["part"]: row for row in json.loads(done.stdout)}
    train, test = (Benchmark.open(f"parts/{part}") for part in ("train", "test"))
    assert rows["train"]["queries"] + rows["test"]["queries"] == 1284
    assert 0.6 < rows["train"]["queries"] / 1284 < 0.8
    bearers = [{b.entity for s in one.sets for b in s.bearers} for one in (train, test)]
    assert bearers[0] and bearers[1] and not bearers[0] & bearers[1]
    assert not {s.name for s in train.sets} & {s.name for s in test.sets}
    assert train.pages == test.pages
    whole = Benchmark.open("builtin/amber").corpus
    for part in (train, test):  # the same corpus, with the names of its pages
        assert part.corpus.hash == whole.hash
        assert len(part.corpus.names.table) == len(whole.names.table) > len(part.pages)
    with pytest.raises(UsageError, match="no part and share"):
        CliRunner().invoke(
            whichone,
            [*typed[:3], "other", "--shares", "train"],
            catch_exceptions=False,
            standalone_mode=False,
        )


def test_a_small_corpus_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    retrieve("builtin/amber", "run", retriever="bm25", k=5)
    invoke = CliRunner().invoke
    done = invoke(whichone, ["build", "small", "builtin/amber", "none", "--json"])
    counts = json.loads(done.stdout)["counts"]
    assert counts["distractor_pages"] == 0
    assert counts["pages"] == counts["gold_pages"] + counts["namesakes_pages"] < 421
    done = invoke(whichone, ["build", "small", "builtin/amber", "run", "few", "-k", "1", "--json"])
    some = json.loads(done.stdout)["counts"]
    assert counts["pages"] < some["pages"] == counts["pages"] + some["distractor_pages"] < 421
    few, full = Benchmark.open("few"), Benchmark.open("builtin/amber")
    assert few.queries == full.queries and few.sets == full.sets
    assert few.pages < full.pages and few.passages.num_rows == some["passages"]
    assert "among the first 1 of bm25" in few.card
    wrong = invoke(whichone, ["build", "small", "few", "run", "no"])
    assert "the run is over" in str(wrong.exception)


def test_parts_by_an_attribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ["build", "splits", "builtin/amber", "parts", "--by", "collection", "--json"]
    rows = json.loads(CliRunner().invoke(whichone, typed, catch_exceptions=False).stdout)
    whole = Benchmark.open("builtin/amber")
    for row in rows:
        part = Benchmark.open(row["path"])
        assert {q.attributes["collection"] for q in part.queries} == {row["part"]}
        assert {s.id for s in part.sets} == {q.name_set for q in part.queries}
    assert sum(row["queries"] for row in rows) == len(whole.queries) and len(rows) == 2
    with pytest.raises(BadInput, match="has no attribute 'colour'"):
        own_parts(whole, tmp_path / "other", "colour")
