"""Every registered measure has one meaning and one direction in scores, comparisons, power, ranks, gates and boards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from finished_demo import finished_demo
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.budgets import Budgets
from whichone.measures.comparison import (
    against_best,
    better_systems,
    compare,
    comparison_rows,
    names_needed,
    tied_ranks,
)
from whichone.measures.gate import check_budgets
from whichone.measures.intervals import Estimate
from whichone.measures.measure import Measure, every_measure, parse_measure
from whichone.measures.scores import Scores, estimate, score_run
from whichone.records import Query
from whichone.runs.run import Run
from whichone.web.boards.board import definitions, make_board, ranked
from whichone.web.storage import Database, open_database

MEASURES = every_measure(5)
EACH = pytest.mark.parametrize("measure", MEASURES, ids=str)


def system(name: str, measure: Measure, values: Any) -> Scores:
    """Two queries about a name, and some about none."""
    queries = [
        Query(id=f"q{n}", task="qa", input="?", name_set=f"s{n // 2}" if n % 7 else None)
        for n in range(len(values))
    ]
    return Scores(
        name, "b-1", queries, [measure], {str(measure): np.array(values, float)}
    )  # fmt: skip


def whole(scores: Scores, measure: Measure) -> float | None:
    return estimate(scores, measure, np.arange(len(scores.queries))).value


@EACH
def test_it_says_what_it_is(measure: Measure) -> None:
    assert measure.label and measure.label != measure.name
    assert measure.direction in ("higher", "lower", "neither")
    assert measure.population == ("name set" if measure.aggregate == "all" else "query")
    assert measure.bounds[1] == 1 or measure.unit == "number"
    assert definitions([str(measure)])[str(measure)].startswith(measure.label)


VALUES = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 0.5, np.nan])] * 2), min_size=24, max_size=60)


@EACH
@settings(max_examples=15)
@given(pairs=VALUES)
def test_the_sides_of_a_comparison_are_the_scores(measure: Measure, pairs: list[tuple[float, float]]) -> None:
    a, b = (
        system(name, measure, values) for name, values in zip("ab", zip(*pairs, strict=True), strict=True)
    )
    scored = whole(a, measure), whole(b, measure)
    compared = compare([a, b], [measure])
    assert bool(compared) == (scored != (None, None))
    if None in scored:
        for found in compared:
            assert (found.value_a, found.value_b) == scored and found.better is None
            assert found.difference.value is None and comparison_rows(compared)[0]["b - a"] == "-"
        return
    (found,) = compared
    assert (found.value_a, found.value_b) == pytest.approx(scored, abs=1e-12)
    assert found.difference.value == pytest.approx(found.value_b - found.value_a, abs=1e-12)
    assert 0 < found.p <= 1
    if found.difference.low is not None and found.difference.high is not None:
        assert found.difference.low <= found.difference.value <= found.difference.high


@EACH
def test_power_counts_what_the_measure_counts(measure: Measure) -> None:
    """Pairs of queries about 24 names: per query they are clusters, per name set the lower of two."""
    draw = np.random.default_rng(1)
    a, b = (system(s, measure, draw.integers(0, 2, 48)) for s in "ab")
    (found,) = names_needed([a, b], measure=str(measure), difference=0.1)
    (compared,) = compare([a, b], [measure])
    assert found.pilot == compared.difference.clusters
    assert found.fewest is not None and found.fewest <= found.names
    if measure.unit == "share":
        assert found.most is not None and found.names <= found.most


def test_all_correct_takes_more_names_than_accuracy_where_it_varies_more() -> None:
    draw = np.random.default_rng(2)
    values = [draw.random(400) < share for share in (0.6, 0.8)]
    of_queries, of_sets = (
        names_needed(
            [system(s, parse_measure(m), v) for s, v in zip("ab", values, strict=True)],
            measure=m,
            difference=0.1,
        )[0].names
        for m in ("acc@1", "all_correct@1")
    )
    assert of_sets > 1.2 * of_queries


@EACH
def test_the_better_system_is_first_everywhere(measure: Measure) -> None:
    """The names say nothing: a measure's own direction decides."""
    worst, best = (0.0, 1.0) if measure.direction == "higher" else (1.0, 0.0)
    good, bad = (system(s, measure, [v] * 60) for s, v in (("zz", best), ("aa", worst)))
    ranks = tied_ranks([bad.system, good.system], compare([bad, good], [measure]))
    behind = better_systems([bad, good], measure)
    (compared,) = compare([bad, good], [measure])
    (gate,) = [
        check
        for check in check_budgets(bad, Budgets(), baseline=replace(good, system="old")).checks
        if check.name.startswith("baseline")
    ]
    if measure.direction == "neither":
        assert ranks == {"aa": 1, "zz": 1} and behind == {"aa": [], "zz": []}
        assert compared.better is None and "no question can measure" in gate.message
        return
    assert ranks == {"zz": 1, "aa": 2}
    assert behind == {"aa": ["zz"], "zz": []}
    assert compared.better == "zz" and (compared.wins > 0) and not compared.losses
    assert against_best([bad, good], measure).keys() == {"aa"}
    assert gate.verdict == "failed"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = open_database(str(tmp_path_factory.mktemp("boards") / "web.sqlite"))
    yield opened
    opened.close()


@EACH
def test_a_board_puts_the_better_system_first(measure: Measure, database: Database) -> None:
    worst, best = (0.1, 0.9) if measure.direction == "higher" else (0.9, 0.1)
    board = str(measure)
    make_board(database, board, ["b-1"], "Board", hidden=False)
    for name, value in (("aa", worst), ("zz", best)):
        part = {
            "kind": "rankings",
            "measures": {board: Estimate(value, None, None, 60).brief()},
            "counts": {"queries": 60},
        }
        row = (f"{board} {name}", board, name, "ann", "trec", "done", 1.0, "",
               json.dumps({"parts": [part]}), 0.0)  # fmt: skip
        database.write(
            lambda t, row=row: t.execute(
                "insert into submissions (submission, board, name, person, format, state, progress, "
                "message, result, made) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        )
    opened = {"board": board, "benchmarks": ["b-1"], "names": {"b-1": "b"}, "hidden": False}
    _, rows = ranked(database, opened, "rankings")
    tied = measure.direction == "neither"
    expected = [("aa", 1), ("zz", 1)] if tied else [("zz", 1), ("aa", 2)]
    assert [(row["name"], row["rank"]) for row in rows] == expected


def test_scores_and_comparisons_of_real_runs_agree(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every measure of rankings over the built-in world, as `score` and `compare` read the same folders."""
    pytest.importorskip("ir_measures")
    runs = finished_demo(tmp_path_factory) / "out" / "runs"
    benchmark = Benchmark.open(runs.parent / "amber")
    measures = [m for m in MEASURES if m.of != "answers"]
    a, b = (score_run(Run.open(runs / n), benchmark, measures) for n in ("bm25", "popular"))
    compared = {c.measure: c for c in compare([a, b], measures)}
    for measure in measures:
        scored = whole(a, measure), whole(b, measure)
        if None not in scored:
            found = compared[str(measure)]
            assert (found.value_a, found.value_b) == pytest.approx(scored, abs=1e-12)
    assert compared["all_correct@5"].difference.n == len(benchmark.sets)
    assert compared["lucky_hit@5"].value_a != compared["lucky_hit@5"].value_b
