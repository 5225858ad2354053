"""BM25 of `namesake`: what is left out changes nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

import whichone


@pytest.fixture
def namesake() -> whichone.Namesake:
    draw = random.Random(0)
    words = [f"word{n}" for n in range(60)]
    weights = [1 / (n + 1) for n in range(60)]
    texts = [" ".join(draw.choices(words, weights, k=12)) for _ in range(600)]
    records = [{"id": n, "text": f"everywhere {text}"} for n, text in enumerate(texts)]
    return whichone.Namesake.over(records, encoder="none")


@pytest.mark.parametrize("added", [0, 40])
@pytest.mark.parametrize("text", ["word0 word1 word40 word50", "word2 word55", "word0 word1", "x"])
def test_the_best_are_those_of_all_scores(
    namesake: whichone.Namesake, monkeypatch: pytest.MonkeyPatch, text: str, added: int
) -> None:
    """Also where long passages were added since, so that shorter ones count more than when they were indexed."""
    longer = " ".join(f"word{n}" for n in range(60))
    namesake.add([{"id": f"long{n}", "text": longer} for n in range(added)])
    index = namesake._retriever.index
    rows, scores = index.lexical.best(text, 10, index.whole)
    every = index.lexical.of(text, np.arange(600 + added))
    assert len(rows) == (0 if text == "x" else 10)
    assert np.allclose(scores, np.sort(every)[::-1][: len(rows)], atol=1e-5)
    assert np.allclose(scores, every[rows], atol=1e-5)


def test_a_word_of_every_passage_counts_nothing(namesake: whichone.Namesake) -> None:
    index = namesake._retriever.index
    assert len(index.lexical.weights("everywhere word1")) == 1
