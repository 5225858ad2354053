"""Fixtures of the tests that let something answer: a scripted server, a small world, a cache of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_server import FakeServer, Script
from reading_world import ambigdocs, namesakes

from whichone.benchmarks.benchmark import Benchmark


@pytest.fixture
def serve() -> Iterator[Callable[[Script], FakeServer]]:
    """Starts a scripted server; all of them end with the test."""
    started: list[FakeServer] = []

    def start(script: Script) -> FakeServer:
        started.append(FakeServer(script))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's own cache of calls, or sends the user's key.

    The built-in world is not built anew for each: it is that of the other tests.
    """
    shared = Path(os.environ["WHICHONE_CACHE"]) / "builtin"
    shared.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "builtin").symlink_to(shared)
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    for name in ("WHICHONE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def toy(tmp_path: Path) -> Benchmark:
    return namesakes(tmp_path / "toy")


@pytest.fixture
def toy_ambigdocs(tmp_path: Path) -> Benchmark:
    return ambigdocs(tmp_path / "toy-ambigdocs")
