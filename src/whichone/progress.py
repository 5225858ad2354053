"""Progress on long work: a bar with rate and time left on a terminal, a line every half minute elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]

EVERY = 30.0  # seconds between the lines


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Gives a function to call with the amount of work just finished; draws on stderr only."""
    if process_number() or not sys.stderr.isatty():
        done, last = 0, time.monotonic()

        def count(amount: int) -> None:
            nonlocal done, last
            done += amount
            if time.monotonic() - last >= EVERY:
                last = time.monotonic()
                talk(f"{what}: {done:,}" + (f" of {total:,}" if total else "") + f" {unit}".rstrip())

        yield count
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}" + (f" of {total:,}" if total else "") + f" {unit}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="")

        def advance(amount: int) -> None:
            bar.advance(task, amount)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f} {unit}/s" if speed else "")

        yield advance


def talk(message: str) -> None:
    """A line for the person at the terminal; data goes to stdout, talk to stderr."""
    if not process_number():
        print(message, file=sys.stderr, flush=True)


def process_number() -> int:
    """Of this process among those that torchrun or accelerate started together; the first, 0, talks and writes."""
    return int(os.environ.get("RANK", "0"))
