"""Encoded lists of postings come back as they were, whatever their shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.retrieval.bm25 import postings
from whichone.retrieval.bm25.postings import BYTES, SHORTS, WIDE, decode, decode_blocks, encode

Rows = list[tuple[int, int]]


def encoded(many: list[Rows]) -> tuple[postings.Words, postings.Ints, postings.Ints]:
    passages = np.array([p for rows in many for p, _ in rows], np.int64)
    counts = np.array([c for rows in many for _, c in rows], np.int64)
    frequency = np.array([len(rows) for rows in many], np.int64)
    words, places = encode(passages, counts, frequency, counts.astype(np.float32))
    return words, places, frequency


def rows_of(found: tuple[postings.Ints, np.ndarray]) -> Rows:  # type: ignore[type-arg]
    return list(zip(found[0].tolist(), found[1].astype(int).tolist(), strict=True))


gaps = st.one_of(st.integers(1, 5), st.integers(250, 260), st.integers(65_530, 70_000))
counts = st.one_of(st.integers(1, 4), st.integers(250, 300), st.just(65_535))


@st.composite
def a_list(draw: st.DrawFn) -> Rows:
    steps = draw(st.lists(st.tuples(gaps, counts), min_size=1, max_size=40))
    passages = np.cumsum([gap for gap, _ in steps]).tolist()
    return list(zip(passages, [count for _, count in steps], strict=True))


@settings(max_examples=200)
@given(st.lists(a_list(), min_size=1, max_size=6))
def test_lists_come_back(many: list[Rows]) -> None:
    words, places, frequency = encoded(many)
    for rows, place, n in zip(many, places.tolist(), frequency.tolist(), strict=True):
        assert rows_of(decode(words, place, n)) == rows


@pytest.mark.parametrize(
    ("gap", "shape"), [(3, BYTES), (300, SHORTS), (1_000_000, WIDE)], ids=["bytes", "shorts", "wide"]
)
def test_the_shortest_shape_is_chosen(gap: int, shape: int) -> None:
    words, places, _ = encoded([[(gap * n, 1) for n in range(100)]])
    assert places[0] & 3 == shape
    assert len(words) * 4 <= {BYTES: 1.4, SHORTS: 2.4, WIDE: 4.3}[shape] * 100 + 16


def test_a_large_gap_among_small_ones_is_an_entry_without_occurrence() -> None:
    rows = [(n, 1) for n in range(50)] + [(1_000 + n, 5) for n in range(50)]
    words, places, _ = encoded([rows])
    assert places[0] & 3 == BYTES
    assert int(words[places[0] >> 2]) == 100 + (1_000 - 49 - 1) // 255
    assert rows_of(decode(words, int(places[0]), 100)) == rows


def test_blocks_are_read_by_themselves() -> None:
    generator = np.random.default_rng(7)
    passages = np.cumsum(generator.integers(1, 400, 20_000))
    rows = list(zip(passages.tolist(), generator.integers(1, 9, 20_000).tolist(), strict=True))
    words, places, _ = encoded([[(5, 1)], rows])
    place, known = int(places[1]), dict(rows)
    for wanted in ([0], passages[[0, 1, 255, 256, 257, 19_999]], [10**9], passages[5_000:5_600]):
        sought = np.unique(np.asarray(wanted, np.int64))
        found = dict(rows_of(decode_blocks(words, place, 20_000, sought)))
        assert {p: known[p] for p in sought.tolist() if p in known}.items() <= found.items()
        assert found.items() <= known.items()
        assert len(found) <= 256 * len(sought)
