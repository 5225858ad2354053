"""Ranks that systems share where a test cannot tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from whichone.measures.comparison import Comparison, better_systems, holm, permutation_p, tied_ranks
from whichone.measures.intervals import Estimate, cluster_sums
from whichone.measures.measure import parse_measure
from whichone.measures.scores import Scores
from whichone.records import Query


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


def test_a_rank_counts_the_systems_that_are_better() -> None:
    """Nobody is better than x or y; x is better than z; all three are better than w."""
    assert tied_ranks("wxyz", PAIRS) == {"x": 1, "y": 1, "z": 2, "w": 4}


def test_systems_that_are_all_distinguished_have_ranks_of_their_own() -> None:
    pairs = [msgspec.structs.replace(pair, p_holm=0.01) for pair in PAIRS]
    assert tied_ranks("wxyz", pairs) == {"x": 1, "y": 2, "z": 3, "w": 4}


def test_a_chain_of_neighbours_does_not_share_a_rank_from_end_to_end() -> None:
    """Of five systems only neighbours cannot be distinguished: the last has three that are better."""
    values = {"a": 0.57, "b": 0.50, "c": 0.44, "d": 0.38, "e": 0.32}
    pairs = [
        against(one, other, values[one], values[other], 0.30 if ord(other) - ord(one) == 1 else 0.01)
        for one in values
        for other in values
        if one < other
    ]
    assert tied_ranks("abcde", pairs) == {"a": 1, "b": 1, "c": 2, "d": 3, "e": 4}


def test_what_cannot_be_distinguished_from_the_best_is_first_whatever_its_figure() -> None:
    """c varies too much to be distinguished from a; b does not."""
    pairs = [
        against("a", "b", 0.8, 0.7, 0.01),
        against("a", "c", 0.8, 0.6, 0.30),
        against("b", "c", 0.7, 0.6, 0.30),
    ]
    assert tied_ranks("abc", pairs) == {"a": 1, "b": 2, "c": 1}


def test_a_difference_at_the_level_is_none() -> None:
    assert tied_ranks("ab", [against("a", "b", 0.8, 0.7, 0.05)]) == {"a": 1, "b": 1}
    assert tied_ranks("ab", [against("a", "b", 0.8, 0.7, 0.0499)]) == {"a": 1, "b": 2}


def test_a_pair_that_was_not_compared_shares_a_rank() -> None:
    assert tied_ranks("ab", []) == {"a": 1, "b": 1}


def test_less_confusion_is_better() -> None:
    pairs = [msgspec.structs.replace(pair, direction="lower") for pair in PAIRS]
    assert tied_ranks("wxyz", pairs) == {"w": 1, "z": 2, "y": 2, "x": 3}
    pairs = [msgspec.structs.replace(pair, direction="neither") for pair in PAIRS]
    assert set(tied_ranks("wxyz", pairs).values()) == {1}


def test_equal_figures_share_a_rank() -> None:
    assert tied_ranks("ab", [against("a", "b", 0.5, 0.5, 0.0)]) == {"a": 1, "b": 1}


def better_of(values: dict[str, Any], names: Sequence[str], measure: str = "acc@1") -> Any:
    """Who is better than whom, from the values of queries about these names."""
    queries = [Query(id=f"q{n}", task="qa", input="?", name_set=s) for n, s in enumerate(names)]
    one = parse_measure(measure)
    return better_systems(
        [Scores(s, "b-1", queries, [one], {measure: np.asarray(v, float)}) for s, v in values.items()], one
    )


def test_better_systems_by_the_values_of_queries() -> None:
    """Twelve names. a and b differ on all: p = 2 / 4,096; c differs from both on six: p = 2 / 64, corrected 0.0625."""
    clusters = [f"name {n}" for n in range(12)]
    half = np.array([n % 2 for n in range(12)], np.float32)
    values = {"a": np.ones(12, np.float32), "b": np.zeros(12, np.float32), "c": half}
    assert better_of(values, clusters) == {"a": [], "b": ["a"], "c": []}
    nine = np.array([n < 9 for n in range(12)], np.float32)  # a is better on three, it than b on nine
    assert better_of({**values, "c": nine}, clusters) == {"a": [], "b": ["a", "c"], "c": []}


def test_a_query_without_a_value_counts_for_nobody() -> None:
    clusters = [f"name {n}" for n in range(12)]
    some = np.array([1.0] * 4 + [np.nan] * 8)
    assert better_of({"a": some, "b": np.zeros(12)}, clusters) == {"a": [], "b": []}


def test_many_systems_are_still_distinguished() -> None:
    """780 pairs: 10,000 drawn permutations alone could make none of them significant."""
    clusters = [f"name {n}" for n in range(60)]
    values = {f"good {n}": np.ones(60) for n in range(20)} | {f"bad {n}": np.zeros(60) for n in range(20)}
    better = better_of(values, clusters)
    assert {len(better[f"good {n}"]) for n in range(20)} == {0}
    assert {len(better[f"bad {n}"]) for n in range(20)} == {20}


def test_ranks_of_a_board_are_those_of_a_report() -> None:
    draw = np.random.default_rng(0)
    clusters = [f"name {n // 2}" for n in range(120)]
    values = {
        s: (draw.random(120) < share).astype(float)
        for s, share in zip("abcd", (0.9, 0.8, 0.5, 0.2), strict=True)
    }
    sums = {
        (a, b): cluster_sums(values[a] - values[b], np.array(clusters))[0] for a, b in combinations("abcd", 2)
    }
    corrected = holm([permutation_p(s) for s in sums.values()])
    pairs = [
        msgspec.structs.replace(against(a, b, values[a].mean(), values[b].mean(), p), p_holm=p)
        for (a, b), p in zip(sums, corrected, strict=True)
    ]
    ranks = {system: 1 + len(above) for system, above in better_of(values, clusters).items()}
    assert ranks == tied_ranks("abcd", pairs)
    assert len(set(ranks.values())) > 2
