"""Re-ranking by vectors: one a passage, or one a token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_files import WORDS, write_onnx, write_tokenizer

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.records import Passage
from whichone.retrieval import rerank
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.rerank import TokenOrder, VectorOrder
from whichone.runs.retrieve import retrieve
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

PASSAGES = [Passage(id=f"{n}", page="p", title="", text=text) for n, text in enumerate(["a", "ab", "b", "a"])]


class Letters:
    """A text's vector counts its letters a and b; a token is a letter."""

    size = 2

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {"encoder": "letters"}

    def questions(self, texts: Sequence[str]) -> Any:
        return np.array([[t.count("a"), t.count("b")] for t in texts], np.float32)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        self.encoded += texts
        return self.questions(texts)


class LetterTokens(Letters):
    def questions(self, texts: Sequence[str]) -> list[Vectors]:
        return [np.array([[c == "a", c == "b"] for c in t], np.float32) for t in texts]


def test_one_vector_a_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Letters()
    order = VectorOrder(encoder)
    places, scores, _ = order.order("aab", PASSAGES)
    assert places == [1, 0, 3, 2]
    assert scores == [3, 2, 2, 1]
    order.order("b", PASSAGES)
    assert encoder.encoded == ["a", "ab", "b", "a"]  # each passage once
    monkeypatch.setattr(rerank, "KEPT", 3)
    assert VectorOrder(encoder).order("aab", PASSAGES)[0] == [1, 0, 3, 2]


def test_one_vector_a_token() -> None:
    places, scores, _ = TokenOrder(LetterTokens()).order("ab", PASSAGES)
    assert places == [1, 0, 2, 3]
    assert scores == [2, 1, 1, 1]


def test_of_a_run(colours: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = tmp_path / "model"
    model.mkdir()
    table = np.eye(len(WORDS), dtype=np.float32)
    write_onnx(model / "model.onnx", table, output="last_hidden_state", summed=False)
    write_tokenizer(model)
    ids = ["c:1#0", "c:2#0", "c:3#0"]
    first = FunctionRetriever(lambda text, k: ids, name="fixed")
    run_retriever(first, colours, tmp_path / "first", k=3, name="first")
    for by in ("vectors", "tokens"):
        options = {"run": str(tmp_path / "first"), "model": str(model), "by": by}
        retrieve(colours.folder.root, tmp_path / by, retriever="rerank", options=options, k=3)
        run = Run.open(tmp_path / by)
        assert run.description["order"]["by"] == by
        assert run.ranked_pages()["q"][0] == "c:3"  # asked for "blue red"
    vectors = np.zeros((3, len(WORDS)), np.float32)
    vectors[1, WORDS.index("red")] = 1  # the second passage is red, whatever its text
    np.savez(tmp_path / "given-0.npz", ids=ids, vectors=vectors)
    pattern = str(tmp_path / "given-*.npz")
    given = {"run": str(tmp_path / "first"), "model": str(model), "vectors": pattern}
    place = colours.folder.root
    options = {**given, "by": "vectors"}
    run = retrieve(place, tmp_path / "given", retriever="rerank", options=options, k=3)
    assert run.ranked_pages()["q"] == ["c:2", "c:1", "c:3"]
    with pytest.raises(UsageError, match="for an encoder"):
        retrieve(place, tmp_path / "pairs", retriever="rerank", options=given, k=3)
