"""Tables of queries and name sets written as they come, in the same bytes as from memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks import benchmark_tables
from whichone.benchmarks.benchmark import save_benchmark
from whichone.errors import BadInput
from whichone.files import tables
from whichone.records import Bearer, NameSet, Output, Passage, Query


def query(n: int, identity: str | None = None) -> Query:
    return Query(
        id=identity or f"q{n}", task="qa", input=f"who is {n}?", outputs=(Output(answer="x"),), language="de"
    )


def name_set(n: int) -> NameSet:
    bearers = tuple(Bearer(entity=f"e{n}-{i}", pages=(f"p:{i}",)) for i in range(2))
    return NameSet(id=f"name:{n % 97:02}-{n}", name=f"n {n}", bearers=bearers)


def saved(place: Path, count: int) -> dict[str, str]:
    benchmark = save_benchmark(
        place,
        name="many",
        queries=(query(n) for n in range(count)),
        sets=(name_set(n) for n in range(count)),
        passages=[Passage(id="p:0#0", page="p:0", title="P", text="t")],
    )
    assert [q.id for q in benchmark.queries] == [f"q{n}" for n in range(count)]
    assert benchmark.corpus.language == "de"
    ids = [s.id for s in benchmark.sets]
    assert ids == sorted(ids)
    assert len(ids) == count
    return {name: entry.sha256 for name, entry in benchmark.folder.manifest.files.items()}


def test_blocks_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saved(tmp_path / "whole", 300)
    monkeypatch.setattr(benchmark_tables, "BLOCK", 7)
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", 50)
    assert saved(tmp_path / "blocks", 300) == whole


def test_an_id_that_occurs_twice_in_other_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_tables, "BLOCK", 2)
    queries = [query(n) for n in range(9)] + [query(9, "q1")]
    with pytest.raises(BadInput, match=r"1 query ids occur twice: q1$"):
        save_benchmark(tmp_path / "bench", name="twice", queries=queries)
    assert not (tmp_path / "bench").exists()
