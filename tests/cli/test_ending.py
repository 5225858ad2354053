"""A command ends with its code, after everything it had to say and do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    assert done.stderr.splitlines() == ["whichone: No space left on device"]
