"""One thread that writes: what waits at one moment is committed together."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from whichone.web.storage.database import Transaction

T = TypeVar("T")
Work = tuple[Callable[[Transaction], Any], Future[Any]]


class GroupCommit:
    """Work goes to `commit` in the order in which it came, at most so many pieces at once.

    `commit` gives every future its result or its error, the results when all is on disk.
    """

    def __init__(self, commit: Callable[[list[Work]], None], most: int) -> None:
        self._commit, self._most = commit, most
        self._waiting: queue.Queue[Work | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting does not undo it
        self._waiting.put((work, future))
        return future

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            together = [first]
            with contextlib.suppress(queue.Empty):
                while len(together) < self._most:
                    other = self._waiting.get_nowait()
                    if other is None:
                        self._waiting.put(None)
                        break
                    together.append(other)
            self._commit(together)

    def close(self) -> None:
        """When all that was submitted is done."""
        self._waiting.put(None)
        self._thread.join()
