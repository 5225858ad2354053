"""A pool of processes that says which job a dead worker was at.

Jobs come from an iterator and are handed out as workers fall free, so that the reader of a stream
never runs ahead of them; results come back in any order.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Generic, TypeVar

from whichone.errors import BadInput

_MANY = 200_000
_THREADS = "OPENBLAS_NUM_THREADS"
_IMPORTED = ("pyarrow.compute", "pyarrow.parquet", "whichone.files.tables")
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores_for(rows: int) -> int:
    """All processors where there are many rows to go through; one where starting others would take longer."""
    return available_cores() if rows > _MANY else 1


def import_for_workers(*modules: str) -> None:
    """For a later `run_jobs`: the process that workers are forked from imports modules while this one does other things."""
    with _no_interrupt(), own_main():
        _context(modules)


def run_jobs(
    task: Callable[[_Job], _Result],
    jobs: Iterable[_Job],
    workers: int,
    describe: Callable[[_Job], str] = str,
    *,
    copies: bool = False,
) -> Iterator[tuple[_Job, _Result]]:
    """Each job with its result, as they finish; with one worker in this process.

    An exception in a worker is raised here; so is the death of a worker, with its job. With `copies` workers are copies
    of this process, which `may_be_copied`: they have what the task refers to, and import nothing.
    """
    if workers <= 1:
        for job in jobs:
            yield job, task(job)
        return
    pool: list[Worker[_Job, _Result]] = []
    try:
        for job in jobs:
            if len(pool) < workers:
                pool.append(Worker(task if copies else None, pool))
                if not copies:
                    pool[-1].learn(task)
                pool[-1].give(job)
                continue
            worker = _next_ready(pool)
            yield worker.take(describe)
            worker.give(job)
        while any(worker.job is not None for worker in pool):
            yield _next_ready(pool).take(describe)
    finally:
        for worker in pool:
            worker.end()


def run_in_order(
    task: Callable[[_Job], _Result], jobs: Iterable[_Job], workers: int, *, copies: bool = False
) -> Iterator[_Result]:
    """The results of jobs that take about as long as each other, in the order of the jobs."""
    early: dict[int, _Result] = {}
    wanted = 0
    numbered = functools.partial(_numbered, task)
    name: Callable[[tuple[int, _Job]], str] = lambda job: f"part {job[0] + 1}"  # noqa: E731
    for (number, _), result in run_jobs(numbered, enumerate(jobs), workers, name, copies=copies):
        early[number] = result
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1


def _numbered(task: Callable[[_Job], _Result], job: tuple[int, _Job]) -> _Result:
    return task(job[1])


class Worker(Generic[_Job, _Result]):
    """One process and the job it is at."""

    def __init__(
        self, copied: Callable[[_Job], _Result] | None = None, beside: Sequence[Worker[_Job, _Result]] = ()
    ) -> None:
        """With a task to be `copied` it is a copy of this process, which has the workers `beside` it."""
        self.connection: Connection
        with _no_interrupt(), own_main():
            context = _context() if copied is None else multiprocessing.get_context("fork")
            self.connection, theirs = context.Pipe()
            ours = [] if copied is None else [self.connection, *(w.connection for w in beside)]
            self.process: BaseProcess = context.Process(
                target=_serve, args=(theirs, dict(os.environ), copied, ours), daemon=True
            )
            self.process.start()
        theirs.close()
        self.job: _Job | None = None

    def learn(self, task: Callable[[_Job], _Result]) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.connection.send(task)

    def give(self, job: _Job) -> None:
        self.job = job
        with contextlib.suppress(BrokenPipeError):  # it died: `take` says so, with its job
            self.connection.send(job)

    def take(self, describe: Callable[[_Job], str]) -> tuple[_Job, _Result]:
        job, self.job = self.job, None
        assert job is not None
        try:
            result = self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._died(describe(job)) from None
        if isinstance(result, BaseException):
            raise result
        return job, result

    def _died(self, at: str) -> BadInput:
        self.process.join(5)
        code = self.process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return BadInput(
            f"a worker died ({how}) at {at}",
            hint="signal 9 is mostly a lack of memory: use fewer --workers; what was finished is kept,"
            " start the command again and it goes on",
        )

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def may_be_copied() -> bool:
    """Only on Linux, and where no other thread of Python runs; idle ones of numpy and Arrow do copies no harm."""
    return sys.platform.startswith("linux") and threading.active_count() == 1


def forked_context(imported: Sequence[str]) -> ForkServerContext | SpawnContext:
    """Processes forked from one that has imported these modules and has no thread; new ones where systems have none.

    A process with threads, of DuckDB, of Arrow or of a server, may not fork itself. There is one to fork from in
    each process: what it imports is said before it starts.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(imported))
    return context


def _context(modules: Sequence[str] = ()) -> ForkServerContext | SpawnContext:
    context = forked_context((*_IMPORTED, *modules))
    if isinstance(context, SpawnContext):
        return context
    before = os.environ.get(_THREADS)
    os.environ.setdefault(_THREADS, "1")  # the workers are the threads
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ[_THREADS]
    return context


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """An interrupt waits until the worker is started, which inherits that it is deaf to it.

    Without this one that comes while the worker still imports has it print a traceback of its own.
    """
    resource_tracker.ensure_running()  # starting the tracker would end the waiting
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def own_main() -> Iterator[None]:
    """Workers do this package's tasks alone, so that a user's script is not run again in each of them.

    A spawned process imports the main module, which in a script without `if __name__ == "__main__"` does
    everything once more.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _next_ready(pool: list[Worker[_Job, _Result]]) -> Worker[_Job, _Result]:
    busy = {worker.connection: worker for worker in pool if worker.job is not None}
    return busy[wait(list(busy))[0]]  # type: ignore[index]


def _serve(
    connection: Connection,
    environment: dict[str, str],
    task: Callable[[Any], object] | None,
    copied: Sequence[Connection],
) -> None:
    """Do jobs until the other side closes, of which a copy has ends too; it alone reacts to an interrupt from the keyboard."""
    for end in copied:
        end.close()
    gc.freeze()  # What was copied stays shared: the collector would write to all of it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update({_THREADS: "1", **environment})
    _keep_freed_memory()
    while True:
        try:
            task = connection.recv() if task is None else task
            job = connection.recv()
        except (EOFError, OSError):  # the other side is gone
            return
        try:
            result: object = task(job)
        except Exception as error:
            result = error
        try:
            connection.send(result)
        except OSError:
            return


def _keep_freed_memory() -> None:
    """Let the blocks of one job serve the next.

    By default glibc returns large ones at once, and the system maps new ones page by page: a third
    of all pages that reading a dump touches.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_TRIM_THRESHOLD, 256 << 20)


# Several calls at once with results in order, by threads that never keep a stopped program alive.


_Item = TypeVar("_Item")
_Found = TypeVar("_Found")
THREAD = "whichone in order"


def in_order(function: Callable[[_Item], _Found], items: Sequence[_Item], workers: int) -> Iterator[_Found]:
    """`function` of every item, `workers` at once; what it raises is raised here.

    A pool of `concurrent.futures` is waited for when the program ends: after Ctrl-C a slow endpoint
    would hold it for minutes. These threads are daemons, and begin nothing new once this is closed.
    """
    jobs: queue.SimpleQueue[tuple[_Item, Future[_Found]]] = queue.SimpleQueue()
    futures: list[Future[_Found]] = [Future() for _ in items]
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

    try:
        for _ in range(min(workers, len(items))):
            threading.Thread(target=work, name=THREAD, daemon=True).start()
        for future in futures:
            yield future.result()
    finally:
        stopped.set()
