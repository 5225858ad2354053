"""Paired tests: hand-computed p values, Holm's example, refusals."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from whichone.errors import BadInput, UsageError
from whichone.measures.budgets import Budgets
from whichone.measures.comparison import compare, holm, permutation_p
from whichone.measures.gate import check_budgets
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores
from whichone.records import Query

MEASURES = parse_measures(["acc@1", "all_correct@1"])


def scores(system: str, values: list[float]) -> Scores:
    queries = [Query(id=f"q{i}", task="qa", input="?", name_set=f"s{i // 2}") for i in range(len(values))]
    array = np.array(values)
    return Scores(system, "b-1", queries, MEASURES, {"acc@1": array, "all_correct@1": array})


def test_exact_permutation_p() -> None:
    """Four clusters all won by 1: 2 of 16 sign patterns are as extreme."""
    assert permutation_p(np.array([1.0, 1, 1, 1])) == 2 / 16
    assert permutation_p(np.array([1.0, -1, 0, 0])) == 1
    assert permutation_p(np.zeros(3)) == 1


def test_drawn_permutation_p_is_never_zero_and_close_to_exact() -> None:
    sums = np.ones(30)
    assert 0 < permutation_p(sums) < 0.001
    noise = np.random.default_rng(0).normal(size=200)
    assert permutation_p(noise) > 0.01


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_wins_ties_losses_and_all_correct() -> None:
    a = scores("a", [1, 0, 0, 0, 1, 1])
    b = scores("b", [1, 1, 1, 0, 1, 0])
    accuracy, together = compare([a, b], MEASURES)
    assert (accuracy.wins, accuracy.ties, accuracy.losses) == (2, 3, 1)
    assert accuracy.difference.value == pytest.approx(1 / 6)
    assert (together.value_a, together.value_b, together.difference.n) == (1 / 3, 1 / 3, 3)


def test_different_benchmarks_are_refused() -> None:
    a = scores("a", [1, 0])
    with pytest.raises(BadInput, match="different benchmarks: a on b-1, b on b-2"):
        compare([a, replace(scores("b", [1, 0]), benchmark="b-2")], MEASURES)
    with pytest.raises(UsageError):
        compare([a], MEASURES)


def test_in_slices_all_corrected_together() -> None:
    a, b = scores("a", [0.0] * 8), scores("b", [1.0] * 4 + [0.0] * 4)
    roles = [replace_role(q, "head" if n < 4 else "tail") for n, q in enumerate(a.queries)]
    a, b = replace(a, queries=roles), replace(b, queries=roles)
    head, tail = compare([a, b], MEASURES[:1], by=["role"])
    assert (head.where, head.difference.value, head.wins) == ({"role": "head"}, 1.0, 4)
    assert (tail.where, tail.difference.value, tail.ties) == ({"role": "tail"}, 0.0, 4)
    assert head.p_holm == min(1, 2 * head.p)
    with pytest.raises(UsageError, match="rôle"):
        compare([a, b], MEASURES, by=["rôle"])


def replace_role(query: Query, role: str) -> Query:
    return msgspec.structs.replace(query, role=role)


def test_what_does_not_apply_is_not_tested() -> None:
    """Two measures were asked for, one applies: one test, and nothing to correct for."""
    queries = [Query(id=f"q{n}", task="qa", input="?") for n in range(8)]
    measures = parse_measures(["acc@1", "confused@20"])
    nowhere = np.full(8, np.nan)
    a = Scores("a", "b-1", queries, measures, {"acc@1": np.zeros(8), "confused@20": nowhere})
    b = Scores("b", "b-1", queries, measures, {"acc@1": np.ones(8), "confused@20": nowhere})
    (found,) = compare([a, b], measures)
    assert (found.measure, found.p_holm) == ("acc@1", found.p)
    report = check_budgets(b, Budgets(), baseline=a)
    assert [c.name for c in report.checks] == ["baseline acc@1"]
    silent = {"acc@1": nowhere, "confused@20": nowhere}
    nothing = [Scores(name, "b-1", queries, measures, silent) for name in "ab"]
    assert check_budgets(nothing[1], Budgets(), baseline=nothing[0]).verdict == "failed"
