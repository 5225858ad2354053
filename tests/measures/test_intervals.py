"""Intervals against hand-computed cases, scipy, and how often they contain the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.measures.intervals import cluster_sums, degrees_of_freedom, interval, t_quantile


def test_few_clusters_have_no_interval() -> None:
    found = interval([1, 0, 1], ["a", "a", "a"])
    assert (found.value, found.low, found.high, found.n, found.clusters) == (2 / 3, None, None, 3, 1)
    assert found.kind == "none, fewer than 8 clusters"
    assert interval([0, 1, 0, 1, 0, 1, 0]).low is None
    assert interval([0, 1, 0, 1, 0, 1, 0, 1]).low is not None


def test_nothing_to_average() -> None:
    found = interval([np.nan, np.nan])
    assert (found.value, found.low, found.high, found.n, found.clusters) == (None, None, None, 0, 0)


def test_all_right_is_not_certainty() -> None:
    """Eight of eight: the exact binomial lower end is 0.025 ** (1/8) = 0.6306."""
    found = interval([1] * 8)
    assert found.low == pytest.approx(0.6306, abs=1e-4)
    assert (found.high, found.kind) == (1, "exact, all clusters the same")
    assert interval([0] * 8).high == pytest.approx(1 - 0.6306, abs=1e-4)


def test_a_difference_that_is_the_same_everywhere_is_not_certain() -> None:
    """0.3694 of all names may still differ: by up to 1 - 0.25 upwards, by up to 1.25 downwards."""
    none = interval([0.0] * 8, bounds=(-1, 1))
    assert (none.low, none.high) == pytest.approx((-0.3694, 0.3694), abs=1e-4)
    quarter = interval([0.25] * 16, np.repeat(np.arange(8), 2), bounds=(-1, 1))
    assert (quarter.low, quarter.high) == pytest.approx(
        (0.25 - 0.3694 * 1.25, 0.25 + 0.3694 * 0.75), abs=1e-4
    )


def test_seven_of_eight_by_hand() -> None:
    """Standard error sqrt(.875 * .125 / 7) = .125, t of 7 degrees 2.3646: log-odds 1.9459 -+ 2.7024."""
    found = interval([1, 1, 1, 1, 1, 1, 1, 0])
    assert found.low == pytest.approx(1 / (1 + np.exp(-1.9459 + 2.7024)), abs=1e-4)
    assert found.high == pytest.approx(1 / (1 + np.exp(-1.9459 - 2.7024)), abs=1e-4)
    assert found.kind == "jackknife t on the log-odds scale"


def test_degrees_of_freedom() -> None:
    """Clusters less one where sizes are equal; by the full matrix of Bell and McCaffrey otherwise."""
    assert degrees_of_freedom(np.full(9, 3.0)) == pytest.approx(8)
    assert degrees_of_freedom(np.array([1000.0] + [1] * 9)) < 1.1
    counts = np.array([1.0, 2, 3, 5, 8, 13, 21, 34])
    total = counts.sum()
    items = np.repeat(np.arange(8), counts.astype(int))
    rows = np.array([np.where(items == g, 0, 1 / (total - counts[g])) - 1 / total for g in range(8)])
    matrix = rows @ rows.T
    expected = np.trace(matrix) ** 2 / np.trace(matrix @ matrix)
    assert degrees_of_freedom(counts) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.7062047364), (2, 4.3026527297), (7, 2.3646242510), (30, 2.0422724563)]
)
def test_t_as_in_the_tables(freedom: float, expected: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(expected, abs=1e-8)


def test_t_between_whole_degrees_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1.0001, 1.5, 3.7, 12.2, 99.5, 1e5):
        assert t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-8)


def test_clusters_widen_the_interval() -> None:
    values = np.repeat([0.0, 1.0] * 20, 10)
    alone = interval(values)
    clustered = interval(values, np.repeat(np.arange(40), 10))
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)


def test_agrees_with_the_normal_interval_on_many_values() -> None:
    values = np.random.default_rng(1).random(4000)
    found = interval(values)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert found.low == pytest.approx(values.mean() - half, abs=0.003)
    assert found.high == pytest.approx(values.mean() + half, abs=0.003)


def test_what_has_no_bounds_gets_a_plain_t_interval() -> None:
    values = [3.0, 5, 7, 9, 11, 13, 15, 17]
    found = interval(values, bounds=(-np.inf, np.inf))
    half = t_quantile(0.975, 7) * np.std(values, ddof=1) / np.sqrt(8)
    assert (found.low, found.high) == pytest.approx((10 - half, 10 + half))
    assert found.kind == "jackknife t"


def test_eight_unequal_clusters_contain_the_truth() -> None:
    """600 worlds whose larger clusters are easier; `bench/intervals.py` has the rest of the simulation."""
    generator = np.random.default_rng(5)

    def world(size: int) -> tuple[np.ndarray, np.ndarray]:
        normal = generator.normal(size=size)
        counts = np.clip(np.round(np.exp(1.2 + 0.9 * normal)), 1, 60).astype(int)
        chance = 1 / (1 + np.exp(-(generator.normal(size=size) + normal)))
        return generator.binomial(counts, chance), counts

    sums, counts = world(1_000_000)
    truth = sums.sum() / counts.sum()
    held = 0
    for _ in range(600):
        sums, counts = world(8)
        values = np.concatenate([[1.0] * s + [0.0] * (c - s) for s, c in zip(sums, counts, strict=True)])
        found = interval(values, np.repeat(np.arange(8), counts))
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 600 < 1


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=8, max_size=40))
def test_the_interval_contains_the_value_and_stays_within_bounds(values: list[float]) -> None:
    found = interval(values)
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1


def test_cluster_sums_keep_the_order_of_appearance() -> None:
    sums, counts = cluster_sums(np.array([1.0, 2.0, 4.0]), np.array(["z", "a", "z"]))
    assert sums.tolist() == [5, 2]
    assert counts.tolist() == [2, 1]


def test_a_count_has_no_upper_bound() -> None:
    """Two calls for everything: no interval; one and three: mean 2 and a plain t-interval around it."""
    same = interval([2.0] * 20, range(20), bounds=(0.0, math.inf))
    assert (same.value, same.low, same.high) == (2.0, None, None)
    spread = interval([1.0, 3.0] * 10, range(20), bounds=(0.0, math.inf))
    assert spread.low is not None and spread.high is not None
    assert spread.low == pytest.approx(2 - 2.228 * math.sqrt(1 / 19), abs=0.001)  # 10 degrees of freedom
    assert spread.high - 2 == pytest.approx(2 - spread.low)
