"""Applying a function to tasks with every core, results in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.context import BaseContext
from typing import TypeVar

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
    waiting: deque[tuple[Task, Future[Result]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=_context()) as pool:
        for task in tasks:
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
    """Forking is quickest and safe only while this process has a single thread."""

    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")
