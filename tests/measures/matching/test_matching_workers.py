"""Tasks in every core: order, threads, and a worker that dies."""

from __future__ import annotations

import os
import threading

import pytest

from whichone.errors import BadInput
from whichone.files.pools import workers_in_order


def double(n: int) -> int:
    return 2 * n


def die(n: int) -> int:
    os._exit(1)


def test_results_come_in_the_order_of_the_tasks() -> None:
    expected = [(n, 2 * n) for n in range(20)]
    assert list(workers_in_order(double, range(20), size=1 << 30, workers=2)) == expected
    assert list(workers_in_order(double, range(20), size=1, workers=2)) == expected


def test_another_thread_does_not_matter() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert list(workers_in_order(double, range(3), size=1 << 30, workers=2)) == [(0, 0), (1, 2), (2, 4)]
    finally:
        end.set()
        thread.join()


def test_a_dead_worker_is_an_error_that_says_so() -> None:
    with pytest.raises(BadInput, match="a worker died"):
        list(workers_in_order(die, range(3), size=1 << 30, workers=2))
