"""Scores of a run, their clusters and slices."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli.score_commands import gate_junit, gate_markdown
from whichone.errors import BadInput, UsageError
from whichone.measures.budgets import Budgets
from whichone.measures.gate import check_budgets, tail_gap
from whichone.measures.intervals import cluster, cluster_rule, number_parts
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, score_run, slice_scores, subset
from whichone.measures.summary import summarise
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, Ranking
from whichone.report.report import make_report
from whichone.runs.runner import run_retriever


def query(n: int, page: str, role: str, relation: str = "P1") -> Query:
    return Query(
        id=f"q{n}",
        task="qa",
        input=f"question {n}",
        outputs=(Output(answer="x", provenance=((Provenance(page=page),),)),),
        name_set=f"s{n // 2}",
        role=role,
        relation=relation,
        attributes={"collection": "human", "popularity": n},
    )


def names(path: Path, number: int) -> Benchmark:
    """So many name sets with a head and a tail, a query about each."""
    pages = range(2 * number)
    queries = [query(n, f"w:{n}", "head" if n % 2 == 0 else "tail") for n in pages]
    sets = [
        NameSet(
            id=f"s{n}",
            name=f"Name {n}",
            bearers=(
                Bearer(entity=f"Q{2 * n}", role="head", pages=(f"w:{2 * n}",)),
                Bearer(entity=f"Q{2 * n + 1}", role="tail", pages=(f"w:{2 * n + 1}",)),
            ),
        )
        for n in range(number)
    ]
    passages = [Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"T{n}", text="text") for n in pages]
    return save_benchmark(path, name="b", queries=queries, sets=sets, passages=passages)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return names(tmp_path / "bench", 4)


class AlwaysHead:
    """Returns the head's page first, the tail's second."""

    def search(self, questions, k):
        for question in questions:
            n = int(question.id[1:]) // 2 * 2
            yield Ranking(question=question.id, passages=(f"w:{n}#0", f"w:{n + 1}#0"), scores=(2, 1))


@pytest.fixture
def scores(benchmark: Benchmark, tmp_path: Path) -> Scores:
    run = run_retriever(AlwaysHead(), benchmark, tmp_path / "run", k=2, name="head")
    return score_run(run, benchmark, parse_measures(["acc@1", "all_correct@1", "confused@20"]))


def test_popularity_bias_shows(scores: Scores) -> None:
    (row,) = summarise(scores)
    found = {name: estimate.value for name, estimate in row.values.items()}
    assert found == {
        "all": 0.5,
        "head": 1,
        "tail": 0,
        "all_correct": 0,
        "confused": 0.5,
        "confused_head": 0,
        "confused_tail": 1,
    }
    assert row.values["all"].clusters == 4


def test_slices(scores: Scores) -> None:
    rows = slice_scores(scores, ["role"])
    assert [(where, e["acc@1"].value, e["acc@1"].n) for where, e in rows] == [
        ({"role": "head"}, 1, 4),
        ({"role": "tail"}, 0, 4),
    ]
    halves = slice_scores(scores, ["popularity"])
    assert [(where["popularity"], e["acc@1"].n) for where, e in halves] == [
        ("head (4 to 7)", 4),
        ("tail (0 to 3)", 4),
    ]
    with pytest.raises(UsageError, match="did you mean popularity"):
        slice_scores(scores, ["popularty"])


def test_clusters_fall_back() -> None:
    gold = (Output(provenance=((Provenance(page="w:2"), Provenance(page="w:1")),)),)
    cases = [
        (Query(id="q", task="qa", input="?", name_set="s", entity="e"), ("name set", "s")),
        (Query(id="q", task="qa", input="?", entity="e", outputs=gold), ("entity", "e")),
        (Query(id="q", task="qa", input="?", outputs=gold), ("gold page", "w:1")),
        (Query(id="q", task="qa", input="?"), ("query", "q")),
    ]
    for one, expected in cases:
        assert cluster(one) == expected
    assert cluster_rule([one for one, _ in cases]) == "name set and entity and gold page and query"


def test_a_run_of_another_benchmark_is_refused(benchmark: Benchmark, scores: Scores, tmp_path: Path) -> None:
    run = run_retriever(AlwaysHead(), benchmark, tmp_path / "run", k=2, name="head")
    other = save_benchmark(
        tmp_path / "other",
        name="b",
        queries=benchmark.queries[:2],
        sets=benchmark.sets,
        passages=benchmark.passages,
    )
    with pytest.raises(BadInput, match="the run is over b-"):
        run.benchmark(other.folder.root)
    with pytest.raises(BadInput, match="unknown queries: q2, q3"):
        score_run(run, other, parse_measures(["acc@1"]))


def test_a_report_of_runs_over_two_benchmarks_is_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    other = save_benchmark(
        tmp_path / "other",
        name="c",
        queries=benchmark.queries[:2],
        sets=benchmark.sets,
        passages=benchmark.passages,
    )
    for place, asked in (("one", benchmark), ("two", other)):
        run_retriever(AlwaysHead(), asked, tmp_path / place, k=2, name="head")
    with pytest.raises(BadInput, match=r"different benchmarks: head \(two\) on c-"):
        make_report([tmp_path / "two", tmp_path / "one"], tmp_path / "out.html")


def test_a_report_says_what_failed_and_what_was_learned(benchmark: Benchmark, tmp_path: Path) -> None:
    class Half:
        def search(self, questions, k):
            for question in questions:
                if question.id == "q1":
                    raise RuntimeError("down")
                found = (f"w:{question.id[1:]}#0",) if question.id != "q2" else ()
                yield Ranking(question=question.id, passages=found)

    run_retriever(Half(), benchmark, tmp_path / "run", k=2, name="half", on_error="skip", learned=5)
    make_report([tmp_path / "run"], tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "1 of 8 questions failed and 1 of 8 got no result: these count as wrong" in page
    assert "trained on 5 of these 8 questions" in page


def test_a_redacted_report_has_neither_names_nor_ids_that_hold_them(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    called = [
        msgspec.structs.replace(s, id=f"c:Bo {n}", name=f"Bo {n}") for n, s in enumerate(benchmark.sets)
    ]
    queries = [msgspec.structs.replace(q, name_set=f"c:Bo {n // 2}") for n, q in enumerate(benchmark.queries)]
    named = save_benchmark(
        tmp_path / "named", name="n", queries=queries, sets=called, passages=benchmark.passages
    )
    run_retriever(AlwaysHead(), named, tmp_path / "run", k=2, name="head")
    make_report([tmp_path / "run"], tmp_path / "open.html")
    make_report([tmp_path / "run"], tmp_path / "redacted.html", redact=True)
    assert "Bo 1" in (tmp_path / "open.html").read_text("utf-8")
    redacted = (tmp_path / "redacted.html").read_text("utf-8")
    assert "Bo " not in redacted
    assert "<bdi>name 4</bdi>" in redacted


def test_the_gate(tmp_path: Path) -> None:
    """20 names, the head always first: a gap of 1 in every one of them, at least 0.66 in general."""
    benchmark = names(tmp_path / "bench", 20)
    run = run_retriever(AlwaysHead(), benchmark, tmp_path / "run", k=2, name="head")
    scores = score_run(run, benchmark, parse_measures(["acc@1", "confused@20"]))
    report = check_budgets(scores, Budgets(max_tail_gap=0.5, max_confusion=0.6, min_accuracy=0.9))
    alone = subset(scores, lambda query: query.name_set == "s1")
    assert "only 1 name set:" in check_budgets(alone, Budgets(max_confusion=0.6)).warnings[0]
    verdicts = {check.name: check.verdict for check in report.checks}
    assert verdicts == {"max_tail_gap": "failed", "max_confusion": "passed", "min_accuracy": "failed"}
    assert report.exit_code == 1
    assert "only 20 name sets" in report.warnings[0]
    gap = tail_gap(scores)
    assert (gap.value, gap.high, gap.clusters) == (1, 1, 20)
    assert gap.low == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / 20)))
    assert b'failures="2"' in gate_junit(report)
    assert "| max-tail-gap | **failed** |" in gate_markdown(report)


def test_a_search_that_gives_nothing_does_not_pass(benchmark: Benchmark, tmp_path: Path) -> None:
    class Silent:
        """Nothing to most questions: neither confused nor unfair."""

        def __init__(self, least: int) -> None:
            self.least = least

        def search(self, questions, k):
            for question in questions:
                n = question.id[1:]
                told = (f"w:{n}#0",) if int(n) >= self.least else ()
                yield Ranking(question=question.id, passages=told)

    def gate(least: int):
        run = run_retriever(Silent(least), benchmark, tmp_path / f"{least}", k=2, name="silent")
        scores = score_run(run, benchmark, parse_measures(["acc@1", "confused@20"]))
        return check_budgets(scores, Budgets(max_confusion=1, max_tail_gap=1))

    dead, poor = gate(8), gate(4)
    assert dead.exit_code == 1
    assert [c.verdict for c in dead.checks] == ["passed", "passed", "failed"]
    assert "8 of 8 got no result" in dead.checks[-1].message
    assert poor.exit_code == 0
    assert "4 of 8 got no result" in poor.warnings[0]


def test_few_names_decide_nothing(scores: Scores) -> None:
    report = check_budgets(scores, Budgets(max_confusion=0.4))
    assert report.verdict == "undecided"
    assert report.checks[0].message.startswith("0.500 (interval: none, fewer than 8 clusters)")


def test_undecided_exits_1_only_when_strict(scores: Scores) -> None:
    mixed = Scores(
        "s",
        scores.benchmark,
        scores.queries,
        scores.measures,
        {**scores.values, "confused@20": np.array([0, 0, 1, 1, 0, 0, 1, 1.0])},
    )
    budgets = Budgets(max_confusion=0.5)
    assert check_budgets(mixed, budgets).verdict == "undecided"
    assert check_budgets(mixed, budgets).exit_code == 0
    assert check_budgets(mixed, budgets, strict=True).exit_code == 1


def test_a_regression_fails(benchmark: Benchmark, scores: Scores) -> None:
    queries = [query(n, f"w:{n}", "head") for n in range(40)]
    measures = parse_measures(["acc@1", "confused@20"])
    good = {"acc@1": np.ones(40), "confused@20": np.zeros(40)}
    bad = {"acc@1": np.array([0.0] * 20 + [1.0] * 20), "confused@20": np.zeros(40)}
    old = Scores("old", "b", queries, measures, good)
    new = Scores("new", "b", queries, measures, bad)
    verdicts = [c.verdict for c in check_budgets(new, Budgets(), baseline=old).checks]
    assert verdicts == ["failed", "passed"]
    assert check_budgets(old, Budgets(), baseline=new).verdict == "passed"


def test_wrong_use(scores: Scores) -> None:
    with pytest.raises(UsageError, match="nothing to check"):
        check_budgets(scores, Budgets())
    with pytest.raises(UsageError, match="fraction from 0 to 1, not 20"):
        check_budgets(scores, Budgets(max_confusion=20))


def _asked(values: list[object]) -> list[Query]:
    return [query(n, "w:1", "head") for n, _ in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "parts", "expected"),
    [
        ([5, 1, 4, 2, 3, 6], "", ["head (4 to 6)", "tail (1 to 3)"]),
        (["5", "1", "1000", "2.5"], "", ["head (5 to 1,000)", "tail (1 to 2.5)"]),  # of a CSV file
        (["12,000", "7", "1e3", ""], "", ["head (1,000 to 12,000)", "tail (7)", None]),
        ([*range(1, 9)], "4", [f"{n} of 4 ({2 * n - 1} to {2 * n})" for n in (1, 2, 3, 4)]),
        ([0, 0, 0, 0, 0, 7, 8, 9, 10, 11, 12], "", ["head (7 to 12)", "tail (0)"]),
        ([0] * 9 + [1, 2], "", [0, 1, 2]),  # few numbers, each of several queries, but for the last
        ([1, 2, 3] * 4, "", [1, 2, 3]),
        ([1, 2, 3] * 4, "2", ["1 of 2 (1)", "2 of 2 (2 to 3)"]),
        ([1, 2, None, 4], "", ["head (2 to 4)", "tail (1)", None]),
        ([True, False, True], "", [False, True]),
        (["1", "two"], "", ["1", "two"]),
        ([3, 3, 3], "3", ["1 of 1 (3)"]),
        ([*range(1, 21), "n/a", "-", ""], "", ["head (11 to 20)", "no number", "tail (1 to 10)", None]),
        ([*range(1, 21), "n/a"], "2", ["1 of 2 (1 to 10)", "2 of 2 (11 to 20)", "no number"]),
        (["1", "2", "3", "12a"], "", ["1", "12a", "2", "3"]),
    ],
)
def test_slices_by_a_number(values: list[object], parts: str, expected: list[object]) -> None:
    asked = _asked(values)
    known = dict(zip([q.id for q in asked], values, strict=True))
    read = number_parts("n", lambda q: known[q.id], asked, parts)
    found = {read(q) for q in asked}
    assert sorted(found, key=lambda v: (v is None, str(v))) == expected


def test_a_wrong_number_of_parts(scores: Scores) -> None:
    for wrong in ("popularity:1", "popularity:x"):
        with pytest.raises(UsageError, match="is no number of parts"):
            slice_scores(scores, [wrong])
    with pytest.raises(UsageError, match=r"collection is mostly no number \('"):
        slice_scores(scores, ["collection:2"])


def test_popularity_of_the_one_who_is_meant(tmp_path: Path) -> None:
    """Built benchmarks have it in their name sets, not in their queries."""
    bench = Benchmark.open("builtin/amber")
    run = run_retriever(Nothing(), bench, tmp_path / "run", k=1, name="nothing")
    rows = slice_scores(score_run(run, bench, parse_measures(["acc@1"])), ["popularity"])
    assert [where["popularity"].partition(" ")[0] for where, _ in rows] == ["head", "tail"]
    assert sum(e["acc@1"].n for _, e in rows) == len(bench.queries)


class Nothing:
    def search(self, questions, k):
        return [Ranking(question=q.id) for q in questions]
