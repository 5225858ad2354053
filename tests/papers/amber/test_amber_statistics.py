"""Tables 3 and 4, counted by hand on a benchmark of one set."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import save_benchmark
from whichone.papers.amber.amber_tables import amber_statistics
from whichone.records import Bearer, NameSet, Output, Query
from whichone.report.show import show


def query(number: int, task: str, entity: str, relation: str) -> Query:
    return Query(
        id=f"{task}{number}",
        task=task,
        input="?",
        outputs=(Output(answer="x"),),
        name="A",
        name_set="human:A",
        entity=entity,
        relation=relation,
        attributes={"property_label": f"label of {relation}"},
    )


def test_both_tables(tmp_path: Path) -> None:
    people = [Bearer(entity=f"Q{n}", role="tail", types=("Q5",)) for n in range(3)]
    tuples = [("Q0", "P641"), ("Q0", "P54"), ("Q1", "P641")]
    queries = [
        query(n, task, entity, relation)
        for task, times in (("qa", 1), ("fc", 2))
        for n, (entity, relation) in enumerate(tuples * times)
    ]
    benchmark = save_benchmark(
        tmp_path / "bench",
        name="one",
        queries=queries,
        sets=[NameSet(id="human:A", name="A", collection="human", bearers=tuple(people))],
        passages=[],
    )
    found = amber_statistics(benchmark)
    assert found is not None
    tables = found.document["human"]
    assert tables["table_4"] == {
        "sets": 1,
        "entities_per_set": 3.0,
        "entities_with_properties_per_set": 2.0,
        "properties_per_set": 3.0,
        "queries": 9,
        "queries_fc": 6,
        "queries_qa": 3,
    }
    shares = {(row["type"], row["property"]): row["share"] for row in tables["table_3"]}
    assert shares == {("Human", "P54"): pytest.approx(1 / 3), ("Human", "P641"): pytest.approx(2 / 3)}
    document, text = show(str(tmp_path / "bench"))
    assert document["amber"]["human"] == tables
    assert "Table 4, AmbER-H" in text and "66.67" in text


def test_other_benchmarks_have_none(tmp_path: Path) -> None:
    made = save_benchmark(
        tmp_path / "bench",
        name="other",
        queries=[Query(id="1", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[],
    )
    assert amber_statistics(made) is None
