"""Intervals against hand-computed cases and their own properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.measures.intervals import bootstrap_mean, cluster_sums


def test_one_cluster_has_no_interval() -> None:
    found = bootstrap_mean([1, 0, 1], ["a", "a", "a"])
    assert (found.value, found.low, found.high, found.n, found.clusters) == (
        2 / 3,
        None,
        None,
        3,
        1,
    )


def test_nothing_to_average() -> None:
    assert bootstrap_mean([np.nan, np.nan]).brief() == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
    }


def test_all_right_is_not_certainty() -> None:
    """Five of five: the exact binomial lower end is 0.025 ** (1/5) = 0.478."""
    found = bootstrap_mean([1, 1, 1, 1, 1])
    assert found.low == pytest.approx(0.4782, abs=1e-4)
    assert found.high == 1
    assert bootstrap_mean([0] * 5).high == pytest.approx(1 - 0.4782, abs=1e-4)


def test_clusters_widen_the_interval() -> None:
    values = np.repeat([0.0, 1.0] * 20, 10)
    alone = bootstrap_mean(values)
    clustered = bootstrap_mean(values, np.repeat(np.arange(40), 10))
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)


def test_agrees_with_the_normal_interval_on_many_values() -> None:
    values = np.random.default_rng(1).random(4000)
    found = bootstrap_mean(values)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert found.low == pytest.approx(values.mean() - half, abs=0.003)
    assert found.high == pytest.approx(values.mean() + half, abs=0.003)


def test_the_seed_decides() -> None:
    values = list(np.random.default_rng(2).random(50))
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=40))
def test_the_interval_holds_the_value(values: list[float]) -> None:
    found = bootstrap_mean(values)
    assert found.low - 1e-12 <= found.value <= found.high + 1e-12


def test_cluster_sums_keep_the_order_of_appearance() -> None:
    sums, counts = cluster_sums(np.array([1.0, 2.0, 4.0]), np.array(["z", "a", "z"]))
    assert sums.tolist() == [5, 2]
    assert counts.tolist() == [2, 1]
