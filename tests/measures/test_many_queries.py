"""Queries, name sets and rankings that stay on disk give the same figures as those in memory."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from test_scores import names

from whichone.benchmarks import benchmark_tables
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput
from whichone.files import arrow_records, tables
from whichone.files.arrow_records import Selection
from whichone.measures.comparison import compare
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, score_answers, score_run, slice_scores, subset
from whichone.measures.summary import summarise, summarise_answers, summary_measures
from whichone.records import Answer, Ranking
from whichone.report import first_screen
from whichone.report.report import make_report
from whichone.runs import run as run_module
from whichone.runs.read import run_reader
from whichone.runs.run import Answers
from whichone.runs.runner import run_retriever
from whichone.runs.shown import Setting

MEASURES = parse_measures(["acc@1", "all_correct@1", "confused@20", "answer_in_top@2"])


class Sometimes:
    """The head's page first, but for every third question the tail's, and nothing for every seventh."""

    def __init__(self, shift: int) -> None:
        self.shift = shift

    def search(self, questions, k):
        for question in questions:
            n = int(question.id[1:])
            head = n // 2 * 2
            pages = [f"w:{head}#0", f"w:{head + 1}#0"]
            if (n + self.shift) % 3 == 0:
                pages.reverse()
            yield Ranking(question=question.id, passages=() if n % 7 == 0 else tuple(pages))


def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "ROW_GROUP", 7)
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", 16)
    monkeypatch.setattr(arrow_records, "_FEW", 0)


def scored(folder: Path, place: Path) -> tuple[Benchmark, list[Scores]]:
    benchmark = Benchmark.open(folder)
    results = []
    for shift in (0, 1):
        run = run_retriever(
            Sometimes(shift), benchmark, place / f"run{shift}", k=2, name=f"s{shift}", block=5
        )
        results.append(score_run(run, benchmark, MEASURES))
    return benchmark, results


def in_parts(folder: Path, count: int) -> Benchmark:
    """The same queries and name sets in row groups of seven: more than are decoded at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP", 7)
        return names(folder, count)


def test_on_disk_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names(tmp_path / "bench", 30)
    in_parts(tmp_path / "parts", 30)
    _, known = scored(tmp_path / "bench", tmp_path / "known")
    few_in_memory(monkeypatch)
    _, stored = scored(tmp_path / "parts", tmp_path / "stored")
    for file in ("rankings", "failures"):
        first, second = (tmp_path / place / "run0" / f"{file}.parquet" for place in ("known", "stored"))
        assert first.read_bytes() == second.read_bytes()
    for a, b in zip(known, stored, strict=True):
        assert a.queries == b.queries
        assert a.empty == b.empty
        assert cluster_note(a.queries) == cluster_note(b.queries)
        for name, values in a.values.items():
            np.testing.assert_array_equal(values, b.values[name])
        for by in ((), ("role",), ("popularity",)):
            same_rows(slice_scores(a, by), slice_scores(b, by))
        for one, other in zip(summarise(a), summarise(b), strict=True):
            same_estimates(one.values, other.values)
        heads_a, heads_b = (subset(s, lambda query: query.role == "head") for s in (a, b))
        assert heads_a.queries == heads_b.queries
        assert cluster_note(heads_a.queries) == cluster_note(heads_b.queries)
    for one, other in zip(compare(known, MEASURES), compare(stored, MEASURES), strict=True):
        assert (one.p, one.wins, one.losses) == (other.p, other.wins, other.losses)
        same_estimates({"": one.difference}, {"": other.difference})


def same_rows(known, stored) -> None:
    assert [where for where, _ in known] == [where for where, _ in stored]
    for (_, a), (_, b) in zip(known, stored, strict=True):
        same_estimates(a, b)


def same_estimates(known, stored) -> None:
    assert known.keys() == stored.keys()
    for name, estimate in known.items():
        other = stored[name]
        assert (estimate.n, estimate.clusters, estimate.kind) == (other.n, other.clusters, other.kind)
        for figure in ("value", "low", "high"):
            assert getattr(estimate, figure) == pytest.approx(getattr(other, figure), abs=1e-12)


def test_strangers_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names(tmp_path / "bench", 30)
    names(tmp_path / "fewer", 25)
    few_in_memory(monkeypatch)
    run = run_retriever(Sometimes(0), Benchmark.open(tmp_path / "bench"), tmp_path / "run", k=2, name="s")
    with pytest.raises(BadInput, match="unknown queries: q50, q51, q52"):
        score_run(run, Benchmark.open(tmp_path / "fewer"), MEASURES)


class Says:
    """The head's answer, for every third question the tail's; nothing for every fifth, an error for every seventh."""

    def read(self, tasks):
        for task in tasks:
            n = int(task.question.id[1:])
            said = n // 2 * 2 + (n % 3 == 0)
            error = "no power" if n % 7 == 0 else None
            text = f"a{said}" if n % 5 and error is None else None
            yield Answer(
                question=task.question.id,
                text=text,
                passages=(task.passages[0].id,),
                error=error,
                notes={"n": n},
            )


def with_answers(place: Path, number: int) -> Benchmark:
    """The same names; every question has an answer of its own."""
    plain = names(place / "plain", number)
    queries = [
        replace(query, entity=f"Q{n}", outputs=(replace(query.outputs[0], answer=f"a{n}"),))
        for n, query in enumerate(plain.queries)
    ]
    return save_benchmark(place / "bench", name="b", queries=queries, sets=plain.sets, corpus=plain.corpus)


def test_answers_on_disk_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = with_answers(tmp_path, 30)
    setting = Setting(passages="gold")
    made = run_reader(Says(), benchmark, tmp_path / "answers", setting, on_error="skip")
    assert len(made.failures) == 9
    measures = parse_measures(summary_measures(["qa"]))
    known = score_answers(made, benchmark, measures)
    few_in_memory(monkeypatch)
    answers = Answers.open(tmp_path / "answers")
    assert dict(answers.answers.items()) == made.answers
    assert list(answers.shown.values()) == list(made.shown.values())
    stored = score_answers(answers, Benchmark.open(tmp_path / "bench"), measures)
    assert {0.0, 1.0} <= set(known.values["answered_for_namesake"])
    for name, values in known.values.items():
        np.testing.assert_array_equal(values, stored.values[name])
    for one, other in zip(summarise_answers(known), summarise_answers(stored), strict=True):
        same_estimates(one.values, other.values)
    fewer = with_answers(tmp_path / "fewer", 25)
    with pytest.raises(BadInput, match="unknown queries: q50, q51, q52"):
        score_answers(answers, fewer, measures)


def test_queries_and_name_sets_by_their_places(tmp_path: Path) -> None:
    known = names(tmp_path / "bench", 30)
    stored = in_parts(tmp_path / "parts", 30)
    places = np.random.default_rng(0).permutation(60)
    for at_once in (places, np.sort(places), places[:1], places[:0]):
        chosen = list(Selection(stored.queries, at_once))
        assert chosen == [known.queries[int(n)] for n in at_once]
    assert [stored.queries[int(n)].id for n in places] == [f"q{n}" for n in places]
    assert stored.queries[10:20:3] == known.queries[10:20:3]
    assert stored.queries[-1] == known.queries[-1]
    assert list(stored.sets) == list(known.sets)
    assert len(stored.sets) == 30
    assert stored.sets_of(stored.queries) == known.sets_of(known.queries)
    assert stored.sets_of(known.queries[::-1]) == known.sets_of(known.queries)[::-1]
    assert stored.set_by_id("none") is None
    assert stored.others_of(stored.queries) == known.others_of(known.queries)


def test_report_on_disk_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_parts(tmp_path / "bench", 30)
    scored(tmp_path / "bench", tmp_path / "runs")
    runs = [tmp_path / "runs" / "run0", tmp_path / "runs" / "run1"]
    make_report(runs, tmp_path / "known" / "report.html", panels=5)
    few_in_memory(monkeypatch)
    for module in (benchmark_tables, first_screen):
        monkeypatch.setattr(module, "_BLOCK", 16)
    make_report(runs, tmp_path / "stored" / "report.html", panels=5)
    known = sorted(p.name for p in (tmp_path / "known").rglob("*.csv"))
    assert known
    for name in known:
        first, second = (next((tmp_path / p).rglob(name)) for p in ("known", "stored"))
        assert rounded(first) == rounded(second), name
    pages = [(tmp_path / p / "report.html").read_text() for p in ("known", "stored")]
    assert len({re.findall(r"<details class=\"panel\">.*", page)[0] for page in pages}) == 1


def rounded(file: Path) -> list[list[str]]:
    rows = csv.reader(file.read_text().splitlines())
    return [[re.sub(r"(\d\.\d{9})\d+", r"\1", cell) for cell in row] for row in rows]
