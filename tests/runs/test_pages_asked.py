"""acc@20 means twenty pages: runs are asked for pages, and figures deeper than a run are marked."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import whichone
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.questions import QuestionFields, import_questions
from whichone.cli import whichone as command
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.measures.summary import as_table, summarise_runs, table_5
from whichone.records import Ranking
from whichone.report.page import Table
from whichone.report.show import show
from whichone.runs.retrieve import recorded_call, retrieve
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

PAGES = [f"Ada Park ({n})" for n in range(12)]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Twelve pages of five passages; the first pages of a ranking take all its places."""
    rows = [
        {"id": f"{page}-{n}", "title": page, "text": "ada " * (30 - 2 * place) + f"word {n}"}
        for place, page in enumerate(PAGES)
        for n in range(5)
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = [
        {"question": f"Who is Ada{'?' * (place + 1)}", "gold": [page]} for place, page in enumerate(PAGES)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, asked)))
    return import_questions(
        tmp_path / "q.jsonl", tmp_path / "p.jsonl", tmp_path / "b", fields=QuestionFields(gold="gold")
    )


class InOrder:
    """Every passage in the order of the corpus; counts what it is asked for."""

    def __init__(self, bench: Benchmark, stable: bool = True) -> None:
        self._ids = [p.id for p in bench.passage_records()]
        self._stable = stable
        self.asked: list[int] = []

    def search(self, questions, k):
        self.asked.append(k)
        ids = self._ids if self._stable else self._ids[k % 7 :]
        for question in questions:
            yield Ranking(question=question.id, passages=tuple(ids[:k]))


def pages_of(run: Run) -> set[int]:
    return {len(pages) for pages in run.ranked_pages().values()}


def test_k_counts_pages_and_passages_count_passages(bench: Benchmark, tmp_path: Path) -> None:
    by_pages = retrieve(bench.folder.root, tmp_path / "pages", retriever="bm25", k=8)
    assert pages_of(by_pages) == {8}
    by_passages = retrieve(bench.folder.root, tmp_path / "passages", retriever="bm25", passages=8)
    assert pages_of(by_passages) == {2}
    lists = by_pages.ranked_passages()
    for question, passages in by_passages.ranked_passages().items():
        assert list(lists[question][:8]) == list(passages), "answer_in_top@8 sees the same passages"


def test_it_is_asked_on_only_where_pages_are_missing(bench: Benchmark, tmp_path: Path) -> None:
    search = InOrder(bench)
    run = run_retriever(search, bench, tmp_path / "run", k=6, pages=True, name="x")
    assert (search.asked, pages_of(run)) == ([6, 12, 24, 48], {6})
    assert {len(p) for p in run.ranked_passages().values()} == {26}, "up to the sixth page"
    first = InOrder(bench)
    run_retriever(first, bench, tmp_path / "more", k=40, pages=True, name="x")
    assert first.asked == [40, 60], "there are twelve pages, and not one more to ask for"


def test_who_cannot_be_asked_on_keeps_what_was_first(bench: Benchmark, tmp_path: Path) -> None:
    run = run_retriever(InOrder(bench, stable=False), bench, tmp_path / "run", k=6, pages=True, name="x")
    assert {len(p) for p in run.ranked_passages().values()} == {6}
    assert run.folder.manifest.counts["shallow"] == len(PAGES)
    scores = score_run(run, bench, parse_measures(["acc@1", "acc@6", "confused@6"]))
    assert scores.shallow["acc@6"] == len(PAGES) - 2, "two have gold among the pages there are"


def test_a_figure_deeper_than_the_run_is_marked(bench: Benchmark, tmp_path: Path) -> None:
    run = retrieve(bench.folder.root, tmp_path / "run", retriever="bm25", passages=10)
    names = ["acc@1", "acc@2", "acc@5", "answer_in_top@10", "precision@2"]
    scores = score_run(run, bench, parse_measures(names))
    assert scores.shallow == {"acc@5": len(PAGES) - 2}
    (said,) = [c for c in scores.cautions() if c.startswith("°")]
    assert "acc@5: 10 of 12 questions end above that depth" in said
    assert "retrieve -k 5" in said
    printed = CliRunner().invoke(command, ["score", str(tmp_path / "run"), "--measures", "acc@2,acc@5"])
    assert "°" in printed.output
    given = CliRunner().invoke(
        command, ["score", str(tmp_path / "run"), "--measures", "acc@2,acc@5", "--json"]
    )
    (row,) = json.loads(given.stdout)
    assert row["acc@5"]["shallow"] == 10
    assert "shallow" not in row["acc@2"]
    deep = retrieve(bench.folder.root, tmp_path / "deep", retriever="bm25", k=5)
    compared = CliRunner().invoke(
        command, ["compare", str(tmp_path / "run"), str(tmp_path / "deep"), "--measures", "acc@5,acc@2"]
    )
    rows = [line for line in compared.output.splitlines() if "│ acc@" in line]
    assert ["°" in line for line in rows] == [True, False]
    assert "10 of 12 questions end above that depth" in compared.output
    assert score_run(deep, bench, parse_measures(["acc@5"])).shallow == {}
    assert score_run(deep, bench, parse_measures(["acc@9"])).shallow["acc@9"] > 0


def test_summaries_and_the_reports_tables_mark_it_too(bench: Benchmark, tmp_path: Path) -> None:
    run = retrieve(bench.folder.root, tmp_path / "run", retriever="bm25", passages=10)
    (row, *_) = rows = summarise_runs([run], bench, k=5)
    assert row.values["all"].shallow == 10
    assert "°" in as_table(rows)[0]["all"]
    assert table_5(rows)[0]["QA all"].endswith("°")
    table = Table("t", "T", ["system", "all"], [["bm25", row.values["all"]]])
    assert "°" in table.text(0, 1)
    assert "deeper than the run" in table.full_note
    assert r"$^\circ$" in table.to_latex()
    deep = retrieve(bench.folder.root, tmp_path / "deep", retriever="bm25", k=5)
    assert "°" not in str(as_table(summarise_runs([deep], bench, k=5))[0]["all"])


def test_only_questions_that_the_measure_applies_to_are_counted(bench: Benchmark, tmp_path: Path) -> None:
    run = retrieve(bench.folder.root, tmp_path / "run", retriever="bm25", passages=10)
    queries = [msgspec.structs.replace(q, outputs=()) if n % 2 else q for n, q in enumerate(bench.queries)]
    half = save_benchmark(
        tmp_path / "half", name="half", queries=queries, corpus=bench.corpus, by_hash=True, allow_no_gold=True
    )
    scores = score_run(run, half, parse_measures(["acc@5"]))
    assert (scores.shallow["acc@5"], int(np.isnan(scores.values["acc@5"]).sum())) == (5, 6)
    assert "5 of 6 questions end above" in " ".join(scores.cautions())


def test_a_run_is_made_again_in_its_own_unit(bench: Benchmark, tmp_path: Path) -> None:
    pages = retrieve(bench.folder.root, tmp_path / "a", retriever="bm25", k=4)
    passages = retrieve(bench.folder.root, tmp_path / "again", retriever="bm25", passages=4)
    assert "passages" not in recorded_call(pages)
    assert recorded_call(pages)["k"] == 4
    assert recorded_call(passages)["passages"] == 4
    assert "-k 4" in str(show(str(tmp_path / "a")))
    assert "--passages 4" in str(show(str(tmp_path / "again")))


def test_evaluate_counts_pages(bench: Benchmark) -> None:
    ids = [p.id for p in bench.passage_records()]
    result = whichone.evaluate(lambda text, k: ids[:k], bench.folder.root, k=12, measures=["acc@12"])
    assert result.scores.shallow == {}
    assert float(result.scores.values["acc@12"].mean()) == 1.0
