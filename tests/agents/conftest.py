"""What the tests of agents share with those of readers: a scripted server and a small world."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reading"))

from fake_server import FakeServer, Script
from reading_world import namesakes


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
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    for name in ("WHICHONE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def toy(tmp_path: Path) -> Benchmark:
    return namesakes(tmp_path / "toy")
