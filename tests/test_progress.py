"""What long work says: a line now and then where there is no terminal, and each batch that is encoded."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from whichone import progress as module
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.progress import progress
from whichone.records import Output, Passage, Provenance, Query
from whichone.retrieval.dense import vectors
from whichone.retrieval.dense.encoder import Vectors, batches_by_length


def test_without_a_terminal_there_is_a_line_when_it_is_due(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with progress("encoding", 2_000, "passages") as advance:
        for _ in range(5):
            clock[0] += 12.5
            advance(400)
    assert capsys.readouterr().err == (
        "encoding: 1,200 of 2,000 passages\n"  # at 37.5 seconds, then 30 later or more
    )


class Batches:
    """An encoder that takes texts in batches of two, as the ONNX encoders take 32; `batched` False takes all at once."""

    size = 2

    def __init__(self, batched: bool) -> None:
        self.batched = batched

    def describe(self) -> dict[str, object]:
        return {"encoder": "batches", "batched": self.batched, "size": self.size}

    def questions(self, texts: list[str]) -> Vectors:
        if self.batched:
            for _ in batches_by_length([len(text) for text in texts], 2):
                pass
        return np.ones((len(texts), 2), np.float32)

    def passages(self, titles: list[str], texts: list[str]) -> Vectors:
        return self.questions(texts)


@pytest.mark.parametrize(("batched", "steps"), [(True, [2, 2, 1]), (False, [5])])
def test_dense_indexing_advances_by_the_batch(
    batched: bool, steps: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [Passage(id=f"w:{n}#0", page=f"w:{n}", title="", text="a" * (n + 1)) for n in range(5)]
    gold = Output(provenance=((Provenance(page="w:1"),),))
    asked = Query(id="q", task="qa", input="?", outputs=(gold,))
    save_benchmark(tmp_path / "b", name="b", queries=[asked], sets=[], passages=passages)
    heard: list[int] = []

    monkeypatch.setattr(vectors, "progress", lambda *_: nullcontext(heard.append))
    vectors.encode_corpus(Benchmark.open(tmp_path / "b").corpus, Batches(batched), tmp_path / "work")
    assert [amount for amount in heard if amount] == steps
