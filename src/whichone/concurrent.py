"""Several calls at once with results in order, by threads that never keep a stopped program alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")
THREAD = "whichone in order"


def in_order(
    function: Callable[[Item], Found], items: Sequence[Item], workers: int
) -> Iterator[Found]:
    """`function` of every item, `workers` at once; what it raises is raised here.

    A pool of `concurrent.futures` is waited for when the program ends: after Ctrl-C a slow endpoint
    would hold it for minutes. These threads are daemons, and begin nothing new once this is closed.
    """
    jobs: queue.SimpleQueue[tuple[Item, Future[Found]]] = queue.SimpleQueue()
    futures: list[Future[Found]] = [Future() for _ in items]
    for job in zip(items, futures, strict=True):
        jobs.put(job)
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                item, future = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                future.set_result(function(item))
            except BaseException as error:
                future.set_exception(error)

    for _ in range(min(workers, len(items))):
        threading.Thread(target=work, name=THREAD, daemon=True).start()
    try:
        for future in futures:
            yield future.result()
    finally:
        stopped.set()
