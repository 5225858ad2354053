"""Bearers left out of a corpus: the benchmark, its measures, the curve, the gate and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.derive import absent_benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.measures.absent import Curve, handed_over, refused_present
from whichone.measures.budgets import Budgets
from whichone.measures.gate import gate_run
from whichone.measures.measure import Answered
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, Question, Ranking
from whichone.report.report import make_report
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

NAMES = [
    f"Ada {name}" for name in ("Park", "Lind", "Moss", "Reed", "Vale", "West", "Hart", "Cole", "Fox", "Bell")
]
CITIES = ("Leeds", "Turin", "Oslo")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    passages, queries, sets = [], [], []
    for name in NAMES:
        bearers = []
        for city in CITIES:
            key = f"{name} {city}"
            page = f"t:{key}"
            passages.append(
                Passage(id=f"{page}#0", page=page, title=name, text=f"{name} lives in {city}.", entity=key)
            )
            bearers.append(Bearer(entity=key, pages=(page,)))
            gold = Output(answer=city, provenance=((Provenance(page=page),),))
            for n, unclear in enumerate((False, True)):
                queries.append(
                    Query(
                        id=f"{key} {n}", task="qa", input=f"Who is {name}{'' if unclear else f' of {city}'}?", outputs=(gold,),
                        name=name, name_set=name, entity=key, attributes={"underspecified": unclear},
                    )
                )  # fmt: skip
        sets.append(NameSet(id=name, name=name, bearers=tuple(bearers)))
    place = tmp_path_factory.mktemp("absent") / "whole"
    return save_benchmark(place, name="cities", queries=queries, passages=passages, sets=sets)


@pytest.fixture(scope="module")
def absent(whole: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return absent_benchmark(whole, tmp_path_factory.mktemp("absent") / "some", share=0.4, seed=1)


def test_bearers_are_left_out_and_their_questions_stay(whole: Benchmark, absent: Benchmark) -> None:
    gone = {q.entity for q in absent.queries if q.attributes["absent"]}
    assert len(gone) == 12  # of 30
    for query in absent.queries:
        assert query.attributes["absent"] == (query.entity in gone) == (not query.gold_pages())
        assert query.answers() == (query.input.split()[-1].strip("?"),) or not query.attributes["absent"]
    assert {p.entity for p in absent.passage_records()} == {p.entity for p in whole.passage_records()} - gone
    for name_set in absent.sets:  # one bearer of a name stays, for whom an absent one may be taken
        assert len(name_set.bearers) == 3 and any(bearer.pages for bearer in name_set.bearers)
    # what fits those who stay too is no question about somebody absent
    asked = {q.id for q in absent.queries}
    assert {q.id for q in whole.queries} - asked == {f"{key} 1" for key in gone}


def test_the_draw_follows_the_seed(whole: Benchmark, absent: Benchmark, tmp_path: Path) -> None:
    def gone(benchmark: Benchmark) -> set[str | None]:
        return {q.entity for q in benchmark.queries if q.attributes["absent"]}

    assert gone(absent_benchmark(whole, tmp_path / "same", share=0.4, seed=1)) == gone(absent)
    assert gone(absent_benchmark(whole, tmp_path / "other", share=0.4, seed=2)) != gone(absent)
    with pytest.raises(UsageError, match="share of absent bearers"):
        absent_benchmark(whole, tmp_path / "all", share=1)


def test_a_benchmark_without_others_of_a_name_has_nobody_to_leave_out(
    whole: Benchmark, tmp_path: Path
) -> None:
    first = next(iter(whole.queries))
    others = [b for s in whole.sets for b in s.bearers if b.entity == first.entity]
    alone = NameSet(id=str(first.name_set), name=str(first.name), bearers=tuple(others))
    single = save_benchmark(tmp_path / "one", name="one", queries=[first], corpus=whole.corpus, sets=[alone])
    with pytest.raises(BadInput, match="no bearer can be left out"):
        absent_benchmark(single, tmp_path / "none")


class Scripted:
    """Returns the first passages of the corpus with a score for how sure it is, or notes of its own."""

    name = "scripted"

    def __init__(self, benchmark: Benchmark, *, notes: bool) -> None:
        self.passages = [p.id for p in benchmark.passage_records()][:3]
        self.away = {q.id for q in benchmark.queries if q.attributes["absent"]}
        self.notes = notes

    def describe(self) -> dict[str, str]:
        return {"retriever": "scripted"}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for n, question in enumerate(questions):
            away = question.id in self.away and n % 4 > 0
            notes = {"nobody": 0.9 if away else 0.1, "declines": away} if self.notes else {}
            scores = (1.0 if away else 2.0, 0.5, 0.1)
            yield Ranking(question=question.id, passages=tuple(self.passages), scores=scores, notes=notes)


@pytest.fixture(scope="module")
def runs(absent: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Run]:
    place = tmp_path_factory.mktemp("runs")
    return {
        notes: run_retriever(
            Scripted(absent, notes=notes), absent, place / str(notes), k=3, name=f"notes {notes}"
        )
        for notes in (False, True)
    }


def test_the_curve_is_read_off_notes_or_scores(
    absent: Benchmark, whole: Benchmark, runs: dict[bool, Run]
) -> None:
    curves = {notes: Curve.of(run, absent) for notes, run in runs.items()}
    for notes, curve in curves.items():
        assert curve is not None and curve.by == ("says so" if notes else "score of its first result")
        noticed = curve.noticed(0.05).value
        expected = sum(n % 4 > 0 for n, q in enumerate(absent.queries) if q.attributes["absent"]) / 12
        assert noticed == pytest.approx(expected)
        refused, seen = curve.points()
        assert (refused[0], seen[0], refused[-1], seen[-1]) == (0, 0, 1, 1)
    assert Curve.of(runs[True], whole) is None


def test_the_gate_has_budgets_for_absent_bearers(
    absent: Benchmark, whole: Benchmark, runs: dict[bool, Run]
) -> None:
    def verdicts(run: Run, **budgets: float) -> dict[str, tuple[str, float | None]]:
        report = gate_run(run, absent, Budgets(**budgets), floor=False)
        return {check.name: (check.verdict, check.estimate.value) for check in report.checks}

    careless = verdicts(runs[False], max_handed_over=0.5, max_refused_present=0.05)
    assert careless["max_handed_over"] == ("failed", 1.0)
    assert careless["max_refused_present"] == ("undecided", 0.0)  # ten names prove no 5 %
    careful = verdicts(runs[True], max_handed_over=0.99)
    assert careful["max_handed_over"][1] is not None and careful["max_handed_over"][1] < 0.5


def test_answers_that_refuse_are_careful(absent: Benchmark) -> None:
    away = next(q for q in absent.queries if q.attributes["absent"])
    there = next(q for q in absent.queries if not q.attributes["absent"])
    over, refused = handed_over(None), refused_present(None)

    def answered(query: Query, text: str | None, asks: str | None = None) -> Answered:
        return Answered(query=query, text=text, gold=query.gold_pages(), asks=asks)

    assert (over.value(answered(away, "Leeds")), over.value(answered(away, None))) == (1.0, 0.0)
    assert over.value(answered(there, "Leeds")) is None and refused.value(answered(away, None)) is None
    assert (refused.value(answered(there, None)), refused.value(answered(there, None, "Which?"))) == (
        1.0,
        0.0,
    )


def test_the_report_has_a_table_and_a_curve(absent: Benchmark, runs: dict[bool, Run], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    make_report([run.path for run in runs.values()], tmp_path / "report.html", benchmark=absent)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Nobody here: bearers that the corpus does not have" in page
    assert "Nobody here: what being careful costs" in page and "score of its first result" in page


def test_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def typed(words: str) -> str:
        done = CliRunner().invoke(whichone, words.split(), catch_exceptions=False)
        return done.stdout

    made = json.loads(typed("build absent builtin/entityquestions away --share 0.3 --json"))
    assert made["counts"]["absent"] > 50
    typed("retrieve away run --retriever namesake -o encoder=none -k 5")
    (figures,) = json.loads(typed("score run --measures handed_over,refused_present,acc@1 --json"))
    assert figures["handed_over"]["n"] == made["counts"]["absent"]
    assert (
        figures["refused_present"]["n"]
        == figures["acc@1"]["n"]
        == made["counts"]["queries"] - figures["handed_over"]["n"]
    )
