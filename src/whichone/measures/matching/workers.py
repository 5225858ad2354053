"""Applying a function to tasks with every core, results in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import TypeVar

from whichone.errors import BadInput

Task = TypeVar("Task")
Result = TypeVar("Result")

SMALL = 8 << 20
"""Bytes of input below which starting processes costs more than it gains."""


def in_order(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    size: int,
    workers: int | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Each task with its result; no more than a few tasks a worker are held at a time."""
    workers = workers or cores()
    if workers == 1 or size < SMALL:
        for task in tasks:
            yield task, function(task)
        return
    try:
        yield from _in_pool(function, tasks, workers)
    except BrokenProcessPool:
        raise BadInput(
            "a worker died", hint="mostly for lack of memory: give fewer --workers"
        ) from None


def _in_pool(
    function: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Iterator[tuple[Task, Result]]:
    waiting: deque[tuple[Task, Future[Result]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=_context()) as pool:
        for task in tasks:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # idle threads of libraries
                waiting.append((task, pool.submit(function, task)))
            if len(waiting) >= 3 * workers:
                done, future = waiting.popleft()
                yield done, future.result()
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()


def cores() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _context() -> BaseContext:
    """Forking is quickest, and safe while no other Python thread is at work."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")
