"""Ranks that systems share where a test cannot tell them apart."""

from __future__ import annotations

from whichone.measures.comparison import Comparison
from whichone.measures.intervals import Estimate
from whichone.measures.ranks import low_is_good, tied_ranks


def against(a: str, b: str, value_a: float, value_b: float, p: float) -> Comparison:
    return Comparison(
        measure="acc@1", a=a, b=b, value_a=value_a, value_b=value_b,
        difference=Estimate(value_b - value_a, None, None, 10), p=p, p_holm=p, effect=None,
        wins=0, ties=0, losses=0,
    )  # fmt: skip


PAIRS = [
    against("x", "y", 0.80, 0.78, 0.60),  # not distinguished
    against("x", "z", 0.80, 0.70, 0.01),
    against("y", "z", 0.78, 0.70, 0.20),  # not distinguished
    against("w", "x", 0.40, 0.80, 0.001),
    against("w", "y", 0.40, 0.78, 0.001),
    against("w", "z", 0.40, 0.70, 0.001),
]


def test_a_rank_counts_those_that_are_better() -> None:
    assert tied_ranks("wxyz", PAIRS) == {"x": 1, "y": 1, "z": 2, "w": 4}


def test_less_confusion_is_better() -> None:
    assert low_is_good("confused@20") and not low_is_good("acc@1")
    assert tied_ranks("wxyz", PAIRS, low_first=True) == {"w": 1, "z": 2, "y": 2, "x": 3}


def test_equal_figures_share_a_rank() -> None:
    assert tied_ranks("ab", [against("a", "b", 0.5, 0.5, 0.0)]) == {"a": 1, "b": 1}
