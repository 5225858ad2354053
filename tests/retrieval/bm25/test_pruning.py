"""What is left out of BM25's sums changes no ranking and no bit of a score."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from whichone.files.folder import Folder
from whichone.records import Passage
from whichone.retrieval.bm25 import Bm25, ranking
from whichone.retrieval.bm25.inverted import open_postings
from whichone.retrieval.bm25.postings import length_norms
from whichone.retrieval.bm25.ranking import Scorer

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


@pytest.mark.parametrize("window", [1, 700, 1 << 16, None])
@pytest.mark.parametrize("k", [1, 10, 100, 2 * PASSAGES])
def test_windows_change_nothing(
    index: Path, k: int, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None: short lists, which are added up whole."""
    if window is not None:
        monkeypatch.setattr(ranking, "_ADDED", 0)
        monkeypatch.setattr(ranking, "WINDOW", window)
    postings = open_postings(Folder.open(index, "index"))
    fast, plain = Scorer(postings, backend="numba"), Scorer(postings, backend="numpy")
    share = np.asarray(postings.frequencies) / np.asarray(postings.frequencies).sum()
    draw = np.random.default_rng(k + (window or 0))
    for _ in range(60):
        terms = draw.choice(len(share), int(draw.integers(1, 9)), p=share).tolist()
        weights = {term: float(draw.uniform(0.1, 3)) for term in terms}
        rows, scores = fast.best_weighted(weights, k)
        wanted = plain._add_all(plain._weighted(weights), k)
        assert rows.tolist() == wanted[0].tolist()
        assert scores.tobytes() == wanted[1].tobytes()


def test_few_candidates_are_scored(index: Path) -> None:
    """Of 3,000 passages that have one of the words, hardly more than the ten best."""
    postings = open_postings(Folder.open(index, "index"))
    scorer = Scorer(postings, backend="numba")
    kernels = scorer._kernels
    assert kernels is not None
    frequent = np.argsort(postings.frequencies)[-4:].tolist()
    lists = scorer._lists(scorer._weighted(dict.fromkeys(frequent, 1.0)))
    arrays = (postings.ceilings, postings.floor, *postings.arrays())
    rows, _, scored = kernels.best(*lists, 1.0, 1e-5, *arrays, len(postings), 10, 256)
    assert len(rows) == 10 <= scored < PASSAGES // 10


@pytest.mark.parametrize("added", [0, 1 << 30])
@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_norms_of_a_larger_mean(
    index: Path, backend: ranking.Backend, added: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages that were added have made the mean length larger, so that impacts exceed those that are stored."""
    monkeypatch.setattr(ranking, "_ADDED", added)
    stored = open_postings(Folder.open(index, "index"))
    norms = length_norms(stored.lengths, 5 * float(stored.lengths.mean()), 1.2, 0.75)
    postings = dataclasses.replace(stored, norms=norms, rise=5.0)
    scorer, plain = Scorer(postings, backend=backend), Scorer(postings, backend="numpy")
    share = np.asarray(postings.frequencies) / np.asarray(postings.frequencies).sum()
    draw = np.random.default_rng(5)
    for _ in range(100):
        terms = dict.fromkeys(draw.choice(len(share), 4, p=share).tolist(), 1.0)
        wanted = plain._add_all(plain._weighted(terms), 10)
        assert scorer.best_weighted(terms, 10)[0].tolist() == wanted[0].tolist()
