"""The pool gives every result once, raises what a worker raised, and names a dead worker's job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files.pools import run_in_order, run_jobs


def square(n: int) -> int:
    return n * n


def fail_at_three(n: int) -> int:
    if n == 3:
        raise BadInput("not a three", file="here", line=3)
    return n


def die_at_three(n: int) -> int:
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


@pytest.mark.parametrize("workers", [1, 3])
def test_every_job_once(workers: int) -> None:
    found = dict(run_jobs(square, range(1, 12), workers))
    assert found == {n: n * n for n in range(1, 12)}


@pytest.mark.parametrize("workers", [1, 2])
def test_results_in_the_order_of_the_jobs_beside_another_thread(workers: int) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert list(run_in_order(square, range(20), workers)) == [n * n for n in range(20)]
    finally:
        end.set()
        thread.join()
    with pytest.raises(BadInput, match=r"a worker died \(signal 9\) at part 4"):
        list(run_in_order(die_at_three, range(5), 2))


def test_fewer_jobs_than_workers() -> None:
    assert list(run_jobs(square, [5], 4)) == [(5, 25)]
    assert list(run_jobs(square, [], 4)) == []


def test_jobs_are_drawn_only_as_workers_fall_free() -> None:
    drawn = []

    def jobs() -> Iterator[int]:
        for n in range(1, 20):
            drawn.append(n)
            yield n

    results = run_jobs(square, jobs(), 2)
    next(results)
    assert len(drawn) <= 3
    results.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_is_raised_here(workers: int) -> None:
    with pytest.raises(BadInput, match="here:3: not a three"):
        list(run_jobs(fail_at_three, range(1, 6), workers))


def test_a_dead_worker_is_an_error_with_its_job() -> None:
    with pytest.raises(BadInput, match=r"a worker died \(signal 9\) at job 3"):
        list(run_jobs(die_at_three, range(1, 6), 2, describe=lambda n: f"job {n}"))


def test_what_was_imported_for_workers_they_have(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from whichone.files.pools import import_for_workers, run_jobs\n"
        "import_for_workers('whichone.corpus.save')\n"
        "asked = [f'\"whichone.corpus.{m}\" in __import__(\"sys\").modules' for m in ('given', 'save')]\n"
        "print(sorted(known for _, known in run_jobs(eval, asked, 2)), eval(asked[1]))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    known = "[False, True] False\n"
    assert (done.returncode, done.stdout) == (0, known), done.stderr


def test_a_script_without_a_guard_is_not_run_again_in_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from whichone.files.pools import run_jobs\n"
        "print('begun')\n"
        "print(sorted(result for _, result in run_jobs(abs, [-3, -1, -2], 2)))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "begun\n[1, 2, 3]\n"), done.stderr


COPIES = """
import os, signal
from whichone.errors import BadInput
from whichone.files.pools import run_in_order, run_jobs

def task(n):
    if n == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return known[n] + 1

known = {n: n * n for n in range(20)}
assert list(run_in_order(task, range(20), 3, copies=True)) == [n * n + 1 for n in range(20)]
for jobs, error in ((range(15, 25), KeyError), ([1, 30], BadInput)):
    try:
        list(run_jobs(task, jobs, 2, copies=True))
    except error:
        continue
    raise SystemExit(error.__name__)
"""


def test_copies_of_this_process_have_what_a_task_refers_to() -> None:
    """In a process of its own, because one with threads is not copied."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", COPIES], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
