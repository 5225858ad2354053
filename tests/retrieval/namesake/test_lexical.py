"""BM25 of `namesake`: long lists are left out without changing what is best."""

from __future__ import annotations

import random

import numpy as np
import pytest

import whichone
from whichone.retrieval.namesake import lexical


@pytest.fixture(scope="module")
def namesake() -> whichone.Namesake:
    draw = random.Random(0)
    words = [f"word{n}" for n in range(60)]
    weights = [1 / (n + 1) for n in range(60)]
    texts = [" ".join(draw.choices(words, weights, k=12)) for _ in range(600)]
    records = [{"id": n, "text": f"everywhere {text}"} for n, text in enumerate(texts)]
    return whichone.Namesake.over(records, encoder="none")


@pytest.mark.parametrize("text", ["word0 word1 word40 word50", "word2 word55", "word0 word1", "x"])
def test_the_best_are_the_same_without_reading_long_lists(
    namesake: whichone.Namesake, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    index = namesake._retriever.index
    whole = index.lexical.best(text, 10, index.whole)
    monkeypatch.setattr(lexical, "LONG", 60)
    staged = index.lexical.best(text, 10, index.whole)
    assert staged[0].tolist() == whole[0].tolist()
    assert np.allclose(staged[1], whole[1], atol=1e-5)
    monkeypatch.setattr(lexical, "LARGE", 1)  # never every list
    large = index.lexical.best(text, 10, index.whole)
    assert large[0].tolist()[:1] == whole[0].tolist()[:1]


def test_a_word_of_every_passage_counts_nothing(namesake: whichone.Namesake) -> None:
    index = namesake._retriever.index
    assert len(index.lexical.weights("everywhere word1")) == 1
