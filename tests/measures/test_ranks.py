"""Ranks that systems share where a test cannot tell them apart."""

from __future__ import annotations

import msgspec

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


def test_a_rank_begins_where_all_above_are_better_than_all_below() -> None:
    """z is told from x but not from y, and y not from x: the three share a rank."""
    assert tied_ranks("wxyz", PAIRS) == {"x": 1, "y": 1, "z": 1, "w": 4}


def test_systems_that_are_all_told_apart_have_ranks_of_their_own() -> None:
    pairs = [msgspec.structs.replace(pair, p_holm=0.01) for pair in PAIRS]
    assert tied_ranks("wxyz", pairs) == {"x": 1, "y": 2, "z": 3, "w": 4}


def test_a_system_between_two_that_share_a_rank_shares_it() -> None:
    """b is told from a and from c, which cannot be told from each other: no order of ranks could separate it."""
    pairs = [
        against("a", "b", 0.8, 0.7, 0.01),
        against("a", "c", 0.8, 0.6, 0.30),
        against("b", "c", 0.7, 0.6, 0.01),
    ]
    assert tied_ranks("abc", pairs) == {"a": 1, "b": 1, "c": 1}


def test_a_pair_that_was_not_compared_shares_a_rank() -> None:
    assert tied_ranks("ab", []) == {"a": 1, "b": 1}


def test_less_confusion_is_better() -> None:
    assert low_is_good("confused@20") and not low_is_good("acc@1")
    assert tied_ranks("wxyz", PAIRS, low_first=True) == {"w": 1, "z": 2, "y": 2, "x": 2}


def test_equal_figures_share_a_rank() -> None:
    assert tied_ranks("ab", [against("a", "b", 0.5, 0.5, 0.0)]) == {"a": 1, "b": 1}
