"""Re-ranking by a chat model and by a cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.corpus import PASSAGES as PASSAGE_TABLE
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing
from whichone.protocols import ChatReply
from whichone.records import Passage, Question
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.retrieval.rerank import ChatOrder, Rerank, permutation
from whichone.runs.from_runs import RunRerank, recalled
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

PASSAGES = [Passage(id=f"p{n}#0", page=f"p{n}", title="", text=str(n)) for n in range(45)]


class Sorter:
    """A chat model for tests that puts the highest number first."""

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, messages: Sequence[Any], **_: Any) -> ChatReply:
        self.calls += 1
        lines = messages[1]["content"].split("\n\n")[1:-1]
        numbers = [(int(line.rpartition(":")[2]), line.partition("]")[0]) for line in lines]
        return ChatReply(text=" > ".join(f"{mark}]" for _, mark in sorted(numbers, reverse=True)))


def test_windows_carry_the_best_to_the_top() -> None:
    model = Sorter()
    places, scores, notes = ChatOrder(model).order("which?", PASSAGES)
    assert places[:10] == [44, 43, 42, 41, 40, 39, 38, 37, 36, 35]
    assert sorted(places) == list(range(45))
    assert model.calls == 4
    assert scores == sorted(scores, reverse=True)
    assert notes == {}


def test_replies_that_name_too_little_keep_the_order() -> None:
    class Tired:
        def complete(self, messages: Sequence[Any], **_: Any) -> ChatReply:
            return ChatReply(text="I cannot say.")

    places, _, notes = ChatOrder(Tired()).order("which?", PASSAGES[:5])
    assert places == [0, 1, 2, 3, 4]
    assert notes == {"unread_replies": 1}


def test_numbers_of_a_reply() -> None:
    assert permutation("[3] > [1] > [3] > [9] > [0]", 4) == [2, 0]
    assert permutation("", 4) == []


@pytest.fixture
def first(small: Benchmark, tmp_path: Path) -> Run:
    return first_run(small, tmp_path / "first")


def first_run(benchmark: Benchmark, place: Path) -> Run:
    ids = ["w:1#0", "w:2#0", "w:3#0"]
    retriever = FunctionRetriever(lambda text, k: ids, name="fixed")
    return run_retriever(retriever, benchmark, place, k=3, name="first")


class Backwards:
    def describe(self) -> dict[str, Any]:
        return {"by": "backwards"}

    def order(self, question: str, passages: Sequence[Passage]) -> Any:
        places = list(range(len(passages)))[::-1]
        return places, [float(n) for n in places], {}


def test_what_lies_deeper_stays_below(small: Benchmark, first: Run) -> None:
    retriever = Rerank(recalled(first), Backwards(), small.corpus, depth=2)
    (ranking,) = retriever.search([Question(id="q1", text="?")], 3)
    assert ranking.passages == ("w:2#0", "w:1#0", "w:3#0")
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    assert retriever.describe()["order"] == {"by": "backwards"}


def test_mistakes(small: Benchmark, first: Run, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no/such-model"):
        RunRerank.for_run(small, tmp_path, run=str(first.path), model="no/such-model")
    empty = Corpus.of_table(PASSAGE_TABLE.empty(), hash="none")
    retriever = Rerank(recalled(first), Backwards(), empty)
    with pytest.raises(BadInput, match="not in the corpus"):
        list(retriever.search([Question(id="q1", text="?")], 3))


@pytest.mark.slow
def test_a_real_cross_encoder(small: Benchmark, first: Run, tmp_path: Path) -> None:
    """A tiny untrained one: what counts is that it is opened, asked, and its order taken."""
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word1", "word2", "page", "where"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    folder = tmp_path / "model"
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    retriever = RunRerank.for_run(small, tmp_path, run=str(first.path), model=str(folder))
    (ranking,) = retriever.search([Question(id="q1", text="where word1")], 3)
    assert sorted(ranking.passages) == ["w:1#0", "w:2#0", "w:3#0"]
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    assert retriever.describe()["order"]["model"] == "model"


@pytest.mark.slow
def test_a_real_chat_model(
    smollm2: str, small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small one orders badly; every reply is read or counted, and nothing is lost or made up."""
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    few = save_benchmark(tmp_path / "few", name="few", queries=small.queries[:2], passages=small.passages)
    first = first_run(few, tmp_path / "first")
    options = {"run": str(first.path), "model": "SmolLM2", "endpoint": smollm2, "window": 2}
    retriever = RunRerank.for_run(few, tmp_path, **options, step=1, concurrency=2)
    made = run_retriever(retriever, few, tmp_path / "second", k=3, name="second")
    retriever.close()
    assert made.failures == {}
    found: dict[str, list[str]] = {}
    for row in made.rankings.to_pylist():
        found.setdefault(row["question"], []).append(row["passage"])
    assert all(sorted(passages) == ["w:1#0", "w:2#0", "w:3#0"] for passages in found.values())
    assert len(found) == len(few.queries) == 2
    assert made.description["order"]["window"] == 2
