"""What is left out of BM25's sums by numpy changes no ranking and no bit of a score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.records import Passage
from whichone.retrieval.bm25 import Bm25, scoring
from whichone.retrieval.bm25.index import open_postings
from whichone.retrieval.bm25.scoring import Scorer

PASSAGES = 3_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words by Zipf's law: the first is in nearly every passage, most are in few."""
    draw = np.random.default_rng(3)
    numbers = np.exp(draw.uniform(0, np.log(2_000), (PASSAGES, 30))).astype(int)
    passages = [
        Passage(
            id=f"w:{n:05}#0", page=f"w:{n:05}", title="", text=" ".join(f"zq{w}x" for w in row[: 10 + n % 20])
        )
        for n, row in enumerate(numbers.tolist())
    ]  # fmt: skip
    place = tmp_path_factory.mktemp("bm25") / "index"
    Bm25.build(passages, place)
    return place


@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_same_to_the_last_bit(index: Path, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_LONG", 50)
    postings = open_postings(index)
    scorer = Scorer(postings, backend="numpy")
    frequencies = np.asarray(postings.frequencies)
    draw = np.random.default_rng(k)
    left_out = 0
    pruned = Scorer._of

    def counted(self: Scorer, terms: object, passages: np.ndarray) -> np.ndarray:
        nonlocal left_out
        left_out += len(passages) < PASSAGES // 10
        return pruned(self, terms, passages)  # type: ignore[arg-type]

    monkeypatch.setattr(Scorer, "_of", counted)
    for _ in range(200):
        share = frequencies / frequencies.sum()
        terms = dict.fromkeys(draw.choice(len(frequencies), 5, p=share).tolist(), 1.0)
        ordinals, scores = scorer.best_weighted(terms, k)
        wanted = scorer._add_all(scorer._weighted(terms), k)
        assert ordinals.tolist() == wanted[0].tolist()
        assert scores.tobytes() == wanted[1].tobytes()
        assert not scorer._scores.any()
    assert left_out > 20
