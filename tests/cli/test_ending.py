"""A command ends with its code, after everything it had to say and do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


def test_exit_functions_run_and_their_output_arrives() -> None:
    program = (
        "import atexit, sys\n"
        "from whichone.cli import run\n"
        "atexit.register(print, 'last')\n"
        "sys.argv = ['whichone', 'list', 'measures']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2
    assert done.stdout.splitlines()[-1] == "last"


def test_threads_at_work_are_waited_for() -> None:
    program = (
        "import sys, threading, time\n"
        "from whichone.cli import run\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), print('done'))).start()\n"
        "sys.argv = ['whichone', 'nothing']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == "done\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "whichone", "list", "measures"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("whichone: the disk is full ([Errno 28] No space left on device)")


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_says_so_and_ends_the_workers(tmp_path: Path, workers: int) -> None:
    words = ["world", str(tmp_path / "world"), "--entities", "500000", "--workers", str(workers)]
    process = subprocess.Popen(
        [sys.executable, "-m", "whichone", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "world").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 128 + signal.SIGTERM
        assert "ended by SIGTERM" in said
        assert "Traceback" not in said
        while _alive(process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_input_that_ends_too_early_is_no_interruption() -> None:
    program = (
        "import click, sys\n"
        "from whichone import cli\n"
        "@click.command()\n"
        "def ends(): raise EOFError('Compressed file ended')\n"
        "cli.Verbs.get_command = lambda self, context, name: ends\n"
        "sys.argv = ['whichone', 'ends']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 3
    assert "ended too early: Compressed file ended" in done.stderr


def _after(program: str, words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process in which `program` has run before."""
    text = f"{program}\nfrom whichone.cli import run\nrun()\n"
    return subprocess.run(
        [sys.executable, "-c", text, *words], capture_output=True, text=True, check=False, **more
    )


def test_what_nobody_expected_is_one_line_and_a_log(tmp_path: Path) -> None:
    broken = (
        "import whichone.cli.folder_commands as commands\n"
        "def listed(kind): raise ZeroDivisionError('api_key=very-secret-9 was divided\\nby nothing')\n"
        "commands.listed = listed\n"
    )
    done = _after(broken, ["list", "measures"], env={**os.environ, "WHICHONE_CACHE": str(tmp_path)})
    assert done.returncode == 70
    (line,) = done.stderr.splitlines()
    assert line.startswith("whichone: unexpected ZeroDivisionError: api_key=*** was divided by")
    (log,) = (tmp_path / "logs").iterdir()
    assert line.endswith(f"the trace is in {log}")
    text = log.read_text()
    assert text.startswith("whichone list measures\n") and "Traceback" in text
    assert "in listed" in text and "very-secret-9" not in text


def test_a_thread_that_fails_says_one_line(tmp_path: Path) -> None:
    program = (
        "import threading, whichone.cli.folder_commands as commands\n"
        "def listed(kind):\n"
        "    thread = threading.Thread(target=lambda: [][0])\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    return []\n"
        "commands.listed = listed\n"
    )
    done = _after(program, ["list", "measures"], env={**os.environ, "WHICHONE_CACHE": str(tmp_path)})
    (line,) = done.stderr.splitlines()
    assert line.startswith("whichone: unexpected IndexError: list index out of range; the trace")


def test_memory_that_is_used_up_is_said_as_such(tmp_path: Path) -> None:
    program = (
        "import sys, whichone.cli.folder_commands as commands\n"
        "import numpy as np, pyarrow as pa\n"
        "def listed(kind):\n"
        "    if kind == 'measures': np.zeros(1 << 44)\n"
        "    raise OSError(12, 'Cannot allocate memory')\n"
        "commands.listed = listed\n"
    )
    for kind in ("measures", "readers"):
        done = _after(program, ["list", kind])
        assert done.returncode == 3
        assert done.stderr.startswith("whichone: the memory is used up: "), done.stderr
