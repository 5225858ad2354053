"""The runner: blocks, failures, time limits, and going on after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.records import Question, Ranking
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.retrieval.bm25 import Bm25
from whichone.runs.retrieve import default_index_folder, retrieve
from whichone.runs.run import Run
from whichone.runs.runner import _spread, run_retriever


class Scripted:
    """Returns what a function says for each question, and remembers which it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        self.asked.append([q.id for q in questions])
        for question in questions:
            yield Ranking(question=question.id, **self.answer(question))


def own_page(question: Question) -> dict[str, Any]:
    n = question.id.removeprefix("q")
    return {"passages": (f"w:{n}#0", f"w:{n}#1"), "scores": (2.0, 1.0)}


def run(retriever: Any, benchmark: Benchmark, place: Path, **options: Any) -> Run:
    return run_retriever(retriever, benchmark, place, k=3, name="scripted", **options)


def test_a_run_holds_everything(small: Benchmark, tmp_path: Path) -> None:
    made = run(Scripted(own_page), small, tmp_path / "run", block=4)
    assert made.ranked_pages() == {f"q{n}": [f"w:{n}"] for n in range(10)}
    assert made.folder.manifest.counts == {"questions": 10, "failures": 0, "empty": 0, "fewer_than_k": 10}
    assert made.description["returns"] == "passage"
    assert made.folder.table("timing").num_rows == 10
    assert made.benchmark().id == small.id


def test_blocks_are_asked_one_after_the_other(small: Benchmark, tmp_path: Path) -> None:
    retriever = Scripted(own_page)
    run(retriever, small, tmp_path / "run", block=4)
    assert [len(block) for block in retriever.asked] == [4, 4, 2]


def test_the_block_size_does_not_change_the_run(small: Benchmark, tmp_path: Path) -> None:
    one = run(Scripted(own_page), small, tmp_path / "one", block=1)
    all_at_once = run(Scripted(own_page), small, tmp_path / "all", block=100)
    assert one.folder.content_hash == all_at_once.folder.content_hash


def test_a_finished_run_is_not_made_again(small: Benchmark, tmp_path: Path) -> None:
    run(Scripted(own_page), small, tmp_path / "run")
    again = Scripted(own_page)
    run(again, small, tmp_path / "run")
    assert again.asked == []


def test_after_an_error_finished_blocks_are_kept(small: Benchmark, tmp_path: Path) -> None:
    broken = Scripted(lambda q: 1 / 0 if q.id == "q7" else own_page(q))
    with pytest.raises(BadInput, match="ZeroDivisionError"):
        run(broken, small, tmp_path / "run", block=2)
    mended = Scripted(own_page)
    made = run(mended, small, tmp_path / "run", block=2)
    assert mended.asked == [["q6", "q7"], ["q8", "q9"]]
    assert len(made.ranked_pages()) == 10


def test_other_parameters_start_over(small: Benchmark, tmp_path: Path) -> None:
    broken = Scripted(lambda q: 1 / 0 if q.id == "q7" else own_page(q))
    with pytest.raises(BadInput):
        run(broken, small, tmp_path / "run", block=2)
    other = Scripted(own_page)
    run(other, small, tmp_path / "run", block=2, description={"retriever": "other"})
    assert len(other.asked) == 5


def test_single_failures_are_kept_and_counted(small: Benchmark, tmp_path: Path) -> None:
    def sometimes(question: Question) -> dict[str, Any]:
        if question.id == "q3":
            raise RuntimeError("no such luck")
        if question.id == "q5":
            return {"passages": ("w:5#0", "nowhere"), "scores": (2.0, 1.0)}
        if question.id == "q6":
            return {}
        return own_page(question)

    made = run(Scripted(sometimes), small, tmp_path / "run", on_error="skip")
    assert set(made.failures) == {"q3", "q5"}
    assert "no such luck" in made.failures["q3"]
    assert "nowhere" in made.failures["q5"]
    assert made.folder.manifest.counts["failures"] == 2
    assert made.folder.manifest.counts["empty"] == 1
    assert len(made.ranked_pages()) == 7


def test_a_system_that_fails_at_everything_makes_no_run(small: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="all 10 questions failed, the last one so: Zero"):
        run(Scripted(lambda q: 1 / 0), small, tmp_path / "run", on_error="skip", block=4)
    mended = run(Scripted(own_page), small, tmp_path / "run", on_error="skip", block=4)
    assert mended.folder.manifest.counts["failures"] == 0


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": "5"}, {"k": 3, "on_error": "ignore"}, {"k": 3, "returns": "pages"}]
)
def test_wrong_options_are_refused(small: Benchmark, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run_retriever(Scripted(own_page), small, tmp_path / "run", name="scripted", **wrong)


def test_going_on_with_changed_code_is_said(
    small: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str, k: int) -> list[str]:
        return ["w:1"] if "word1" in text or "word0" in text else ["nowhere"]

    with pytest.raises(BadInput, match="nowhere"):
        run(FunctionRetriever(broken), small, tmp_path / "run", block=2)
    typed: dict[str, Any] = {"__name__": broken.__module__}  # without a source file
    exec("def broken(text, k): return ['w:2']", typed)
    mended = typed["broken"]
    mended.__qualname__ = broken.__qualname__
    pages = run(FunctionRetriever(mended), small, tmp_path / "run", block=2).ranked_pages()
    assert pages["q0"] == ["w:1"]
    assert pages["q2"] == ["w:2"]
    assert "made before the code changed are kept" in capsys.readouterr().err


def test_too_slow_a_block_fails(small: Benchmark, tmp_path: Path) -> None:
    def slow(question: Question) -> dict[str, Any]:
        time.sleep(0.3 if question.id == "q4" else 0)
        return own_page(question)

    with pytest.raises(BadInput, match="no result after"):
        run(Scripted(slow), small, tmp_path / "a", block=1, timeout=0.1)
    made = run(Scripted(slow), small, tmp_path / "b", block=1, timeout=0.1, on_error="skip")
    assert set(made.failures) == {"q4"}


def test_a_missing_ranking_is_an_error(small: Benchmark, tmp_path: Path) -> None:
    class Lazy:
        def search(self, questions: Sequence[Question], k: int) -> list[Ranking]:
            return [Ranking(question=q.id) for q in questions[1:]]

    with pytest.raises(BadInput, match="10 questions went in, 9 rankings came out"):
        run(Lazy(), small, tmp_path / "run")


def test_notes_are_kept(small: Benchmark, tmp_path: Path) -> None:
    made = run(Scripted(lambda q: {"notes": {"why": q.id}}), small, tmp_path / "run")
    rows = {row["question"]: row["notes"] for row in made.folder.table("notes").to_pylist()}
    assert rows["q2"] == '{"why":"q2"}'


def test_time_is_shared_in_batches_of_one_size_only() -> None:
    def spread(*values: float) -> list[float]:
        seconds = {f"q{n}": value for n, value in enumerate(values)}
        _spread(seconds)
        return list(seconds.values())

    assert spread(3, 0, 0, 6, 0, 0, 2) == [1, 1, 1, 2, 2, 2, 2]
    assert spread(4, 0, 0, 0) == [1, 1, 1, 1]
    assert spread(9, 3, 0, 0, 6, 0, 0) == [9, 1, 1, 1, 2, 2, 2]  # the first one alone
    alone = [5, 0.1, 0.2, 0.1, 6, 0.1, 0.2]  # one by one, some of them from a cache
    assert spread(*alone) == alone
    uneven = [5, 0, 6, 0, 0]
    assert spread(*uneven) == uneven
    assert spread(5) == [5]
    assert spread() == []


def test_time_of_a_batch_is_shared_by_its_questions(small: Benchmark, tmp_path: Path) -> None:
    class AtOnce(Scripted):
        def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
            time.sleep(0.2)
            return super().search(questions, k)

    made = run(AtOnce(own_page), small, tmp_path / "run")
    seconds = made.folder.table("timing")["seconds"].to_pylist()
    assert max(seconds) < 0.1


KILLED = """
import sys, time
from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Ranking
from whichone.runs.runner import _spread, run_retriever

class Slow:
    def search(self, questions, k):
        for q in questions:
            time.sleep(0.05)
            n = q.id[1:]
            yield Ranking(question=q.id, passages=(f"w:{n}#0", f"w:{n}#1"), scores=(2.0, 1.0))

run_retriever(Slow(), Benchmark.open(sys.argv[1]), sys.argv[2], k=3, name="scripted", block=1,
              description={"retriever": "Scripted"})
"""


def test_a_killed_run_goes_on(small: Benchmark, tmp_path: Path) -> None:
    place = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(small.folder.root), str(place)], env=dict(os.environ)
    )
    deadline = time.monotonic() + 120
    while len(list(place.glob(".partial/block-*.json"))) < 3:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(list(place.glob(".partial/block-*.json")))
    assert 3 <= finished < 10
    with pytest.raises(BadInput, match="half-written"):
        Run.open(place)
    rest = Scripted(own_page)
    made = run(rest, small, place, block=1, description={"retriever": "Scripted"})
    assert len(rest.asked) == 10 - finished
    whole = run(Scripted(own_page), small, tmp_path / "whole", description={"retriever": "Scripted"})
    assert made.folder.content_hash == whole.folder.content_hash


def test_bm25_runs_and_reopens_its_index(small: Benchmark, tmp_path: Path) -> None:
    made = run(Bm25.over(small.corpus, tmp_path / "work"), small, tmp_path / "run")
    assert {q: pages[0] for q, pages in made.ranked_pages().items()} == {f"q{n}": f"w:{n}" for n in range(10)}
    (place,) = (tmp_path / "work").glob("bm25-*")
    before = place.stat().st_mtime_ns
    Bm25.over(small.corpus, tmp_path / "work")
    Bm25.over(small.corpus, tmp_path / "work", k1="1.2")
    assert place.stat().st_mtime_ns == before
    assert len(list((tmp_path / "work").glob("bm25-*"))) == 2


def test_a_first_run_waits_for_an_index_that_is_being_built(
    small: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    Bm25.over(small.corpus, tmp_path / "elsewhere", k1=1.25)
    (place,) = (tmp_path / "elsewhere").glob("bm25-*")
    work = default_index_folder(small.corpus)
    other = Folder.create(work / place.name, "index", resume=True)
    threading.Timer(0.5, other.close).start()
    options = {"k1": "1.25"}
    made = retrieve(small.folder.root, tmp_path / "run", retriever="bm25", options=options, k=3)
    assert "waiting for another process" in capsys.readouterr().err
    assert made.folder.manifest.counts["failures"] == 0


def test_returns_must_be_said_when_both_fit(tmp_path: Path) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.records import Output, Passage, Query

    benchmark = save_benchmark(
        tmp_path / "b",
        name="same",
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[Passage(id="a", page="a", title="", text="")],
    )
    retriever = Scripted(lambda q: {"passages": ("a",)})
    with pytest.raises(UsageError, match="both passages and pages"):
        run(retriever, benchmark, tmp_path / "run")
    made = run(retriever, benchmark, tmp_path / "run", returns="page")
    assert made.ranked_pages() == {"q": ["a"]}
