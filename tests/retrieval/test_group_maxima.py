"""Exact search by group maxima against sorting all scores."""

from __future__ import annotations

import numpy as np
import pytest

from whichone.errors import BadInput, UsageError

torch = pytest.importorskip("torch")

from whichone.retrieval.dense.exact_search import exact_top_k  # noqa: E402


@pytest.mark.parametrize(
    ("questions", "passages", "k", "group"),
    [(7, 1000, 10, 16), (3, 70, 100, 64), (5, 4097, 50, 8), (1, 1, 1, 64), (4, 20_000, 5, 16)],
)
def test_equal_to_sorting_everything(questions: int, passages: int, k: int, group: int) -> None:
    random = np.random.default_rng(questions)
    q = torch.tensor(random.normal(size=(questions, 24)), dtype=torch.float32)
    p = torch.tensor(random.normal(size=(passages, 24)), dtype=torch.float32)
    scores, ordinals = exact_top_k(q, p, k, group=group, block=3)
    expected = (q @ p.T).sort(dim=1, descending=True)
    most = min(k, passages)
    assert torch.equal(ordinals, expected.indices[:, :most])
    assert torch.allclose(scores, expected.values[:, :most], atol=1e-5)


def test_many_best_in_one_group_and_ties_by_ordinal() -> None:
    passages = torch.zeros((256, 4))
    passages[100:110, 0] = 1
    passages[200, 0] = 1
    scores, ordinals = exact_top_k(torch.tensor([[1.0, 0, 0, 0]]), passages, 11, group=16)
    assert ordinals[0].tolist() == [*range(100, 110), 200]
    assert scores[0].tolist() == [1.0] * 11


def test_bad_vectors() -> None:
    q, p = torch.ones((2, 4)), torch.ones((5, 4))
    with pytest.raises(BadInput, match="wrong size"):
        exact_top_k(q, torch.ones((5, 3)), 1)
    with pytest.raises(BadInput, match="no passages"):
        exact_top_k(q, p[:0], 1)
    with pytest.raises(BadInput, match="NaN"):
        exact_top_k(q * float("nan"), p, 1)
    with pytest.raises(UsageError, match="at least 1"):
        exact_top_k(q, p, 0)
    with pytest.raises(UsageError, match="bfloat16"):
        exact_top_k(q, p, 1, method="triton")
