"""A reading killed by the system goes on where it was, and asks for nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from fake_server import Reply, completion

from whichone.runs.run import Answers

pytestmark = pytest.mark.slow


def test_killed_and_started_again(toy, tmp_path, serve):
    killed = threading.Event()

    def script(body: dict[str, Any], n: int) -> Reply:
        if n >= 8:
            killed.wait(60)
        return completion('{"answer": "Eskby", "passages": [1]}')

    server = serve(script)
    place = tmp_path / "answers"
    words = [sys.executable, "-m", "whichone", "read", str(toy.folder.root), str(place)]
    words += ["--endpoint", server.url, "--model", "fake", "--concurrency", "1", "--cache", "none"]
    process = subprocess.Popen(words, env=os.environ, stderr=subprocess.DEVNULL)
    while len(server.requests) < 9:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.set()
    asked = len(server.requests) - 1  # without the probe
    done = subprocess.run(words, env=os.environ, capture_output=True, text=True, check=True)
    assert "going on with" in done.stderr
    again = len(server.requests) - 1 - asked - 1
    assert again <= len(toy.queries) - asked + 1  # at most the one under way is asked again
    assert len(Answers.open(place).answers) == len(toy.queries)


def test_stopped_by_the_user_it_does_not_hang(toy, tmp_path, serve):
    ended = threading.Event()

    def script(body: dict[str, Any], n: int) -> Reply:
        if n > 2:
            ended.wait(300)  # a process that waits for its calls would not end before
        return completion('{"answer": "Eskby", "passages": [1]}')

    server = serve(script)
    words = [sys.executable, "-m", "whichone", "read", str(toy.folder.root), str(tmp_path / "a")]
    words += ["--endpoint", server.url, "--model", "fake", "--concurrency", "4"]
    process = subprocess.Popen(
        words,
        env=os.environ,
        stderr=subprocess.PIPE,
        text=True,
        # a shell starts what it puts into the background deaf to interrupts, and children inherit it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while len(server.requests) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, told = process.communicate(timeout=120)
    finally:
        process.kill()
        ended.set()
    assert process.returncode == 130
    assert "start it again and it goes on" in told
