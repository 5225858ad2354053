"""AmbER's Figure 4 on pairs counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores
from whichone.papers.amber.amber_tables import templates_section
from whichone.records import Bearer, NameSet, Output, Query
from whichone.report.figures import BINS, gap_bins, popularity_gap


def query(identity: str, name_set: str, entity: str, role: str) -> Query:
    return Query(
        id=identity, task="qa", input=f"What sport does {entity} play?", name_set=name_set,
        entity=entity, role=role, relation="P641", outputs=(Output(answer="golf"),),
        attributes={"collection": "human"},
    )  # fmt: skip


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """Set a: heads of 10,000 views, tails of 1,000 (gap 1/3) and 10 (gap 3); set b: 100 and 90."""
    sets = [
        NameSet(
            id="a", name="A", collection="human",
            bearers=(
                Bearer(entity="a1", role="head", popularity=10_000),
                Bearer(entity="a2", role="tail", popularity=1_000),
                Bearer(entity="a3", role="tail", popularity=10),
            ),
        ),
        NameSet(
            id="b", name="B", collection="human",
            bearers=(
                Bearer(entity="b1", role="head", popularity=100),
                Bearer(entity="b2", role="tail", popularity=90),
            ),
        ),
    ]  # fmt: skip
    queries = [
        query("1", "a", "a1", "head"), query("2", "a", "a1", "head"), query("3", "a", "a2", "tail"),
        query("4", "a", "a3", "tail"), query("5", "b", "b1", "head"), query("6", "b", "b2", "tail"),
    ]  # fmt: skip
    return save_benchmark(tmp_path / "b", name="b", queries=queries, sets=sets, passages=[])


def test_query_accuracy_in_bins_of_log_views(benchmark: Benchmark) -> None:
    measures = parse_measures(["acc@1"])
    values = {"acc@1": np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])}
    scores = Scores("s", benchmark.id, benchmark.queries, measures, values)
    assert popularity_gap(10_000, 1_000, "log10") == pytest.approx(1 / 3)
    (found,) = gap_bins([scores], benchmark, "human", "log10")
    assert {b: (e.value, e.n) for b, e in zip(BINS, found, strict=True) if e.n} == {
        "0-20": (1.0, 1),
        "20-40": (0.5, 1),
        "> 100": (-0.5, 1),
    }
    (on_views,) = gap_bins([scores], benchmark, "human", "views")
    assert [e.n for e in on_views] == [1, 0, 0, 0, 0, 2]
    assert on_views[-1].value == pytest.approx(0.5 - 0.5)


def test_tables_2_and_10(benchmark: Benchmark) -> None:
    section = templates_section([], benchmark)
    assert section is not None
    tasks, templates = section.tables
    assert tasks.rows == [("question answering", "What sport does a1 play?", "golf")]
    (row,) = templates.rows
    assert row[0] == "AmbER-H" and row[2] == "What sport does $name play?"
