"""The whole way on the built-in world: the same bytes twice, and after a kill at any moment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from finished_demo import demo, finished_demo

FIGURES = {"all", "head", "tail", "all_correct", "confused", "confused_head", "confused_tail"}


def contents(out: Path) -> dict[str, bytes]:
    """Every file but measured times and manifests' `made`."""
    found = {}
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.name != "timing.parquet":
            data = path.read_bytes()
            if path.name == "manifest.json":
                manifest = json.loads(data)
                manifest.pop("made", None)
                manifest.get("files", {}).pop("timing.parquet", None)
                data = json.dumps(manifest, sort_keys=True).encode()
            found[str(path.relative_to(out))] = data.replace(str(out).encode(), b"OUT")
    return found


def assert_equal(one: Path, other: Path) -> None:
    a, b = contents(one), contents(other)
    assert [name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)] == []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_demo(tmp_path_factory) / "out"


def test_the_document(undisturbed: Path) -> None:
    document = json.loads((undisturbed.parent / "printed.json").read_text())
    assert set(document["retrievers"]) == {"bm25", "popular", "namesake", "namesake-with-kb", "function"}
    for collections in document["retrievers"].values():
        assert set(collections) == {"human", "nonhuman"}
        for tasks in collections.values():
            assert set(tasks) == {"qa", "sf", "fc"}
            for figures in tasks.values():
                assert set(figures) == FIGURES
                for figure in figures.values():
                    assert set(figure) - {"shallow"} == {"value", "low", "high", "n", "clusters", "kind"}
                    assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1


def test_popularity_is_a_caricature(undisturbed: Path) -> None:
    document = json.loads((undisturbed.parent / "printed.json").read_text())
    popular = document["retrievers"]["popular"]["human"]["qa"]
    assert popular["head"]["value"] == 1
    assert popular["tail"]["value"] == 0
    assert popular["confused_tail"]["value"] == 1


@pytest.mark.slow
def test_a_demo_killed_again_and_again_gives_the_same_bytes(
    undisturbed: Path, tmp_path: Path, commands: Path
) -> None:
    """Typed as the docs begin; five kills, each a little later into what the one before had left, and then the rest.

    The two longest of the five runs are there already: that they stay as they are belongs to going on.
    """
    for there in ("runs/namesake", "runs/namesake-with-kb"):
        shutil.copytree(undisturbed / there, tmp_path / "whichone-demo" / there)
    whichone = (str(commands / "whichone"),)  # forked: it needs no second for importing
    for seconds in (0.1, 0.5, 1.0, 1.7, 2.5):
        process = demo(folder=tmp_path, command=whichone)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    last = demo(folder=tmp_path, command=whichone)
    printed, talked = last.communicate(timeout=300)
    assert last.returncode == 0, talked
    assert "QA tail" in printed
    assert_equal(tmp_path / "whichone-demo", undisturbed)


def test_a_finished_demo_is_not_made_again(undisturbed: Path, tmp_path: Path) -> None:
    again = shutil.copytree(undisturbed, tmp_path / "out")
    before = (again / "report.html").stat().st_mtime_ns
    process = demo(str(again))
    _, talked = process.communicate(timeout=300)
    assert process.returncode == 0, talked
    assert (again / "report.html").stat().st_mtime_ns == before
    assert_equal(again, undisturbed)
