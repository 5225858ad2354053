"""An interrupt while a model learns: the step under way is finished and kept before the process ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether the process was asked to end, and how it would have ended at once."""

    def __init__(self) -> None:
        self._end: Callable[[], object] | None = None

    @property
    def asked(self) -> bool:
        return self._end is not None

    def ask(self, end: Callable[[], object]) -> None:
        """A second request does not wait for the step."""
        if self._end is not None:
            end()
        self._end = end

    def end(self) -> None:
        """What the signal would have done."""
        if self._end is not None:
            self._end()
            raise KeyboardInterrupt


@contextmanager
def signals_wait() -> Iterator[Stop]:
    """SIGINT and SIGTERM wait until `end` is called; outside the main thread nothing changes."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def wait(number: int, frame: FrameType | None) -> None:
        handler = before[number]
        stop.ask(lambda: handler(number, frame) if callable(handler) else _end(number))

    for each in SIGNALS:
        signal.signal(each, wait)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int) -> None:
    """A signal without a handler in Python ends the process, as it would have."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
