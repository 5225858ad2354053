"""The corpus of AmbER sets is made by a copy of the process while it makes their queries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whichone.benchmarks.by_name import builtin_benchmark
from whichone.files.manifest import read_manifest

BUILD = """
import sys
from whichone.benchmarks import benchmark
from whichone.corpus import save
from whichone.files.pools import Worker
from whichone.papers.amber.build_amber import build_amber
from whichone.papers.amber.collection import load_collection

def refused(*given, **options):
    raise AssertionError

def killed(worker, job):
    worker.process.kill()

kb, out, collection, change = sys.argv[1:]
save._FEW, save.available_cores = 0, lambda: 2
exec(change)
build_amber(kb, out, load_collection(collection))
"""
ALONE = "save.available_cores = lambda: 1"
MEANWHILE = "benchmark.save_corpus = refused"
LINKED = f"{MEANWHILE}; save.Worker = refused"
KILLED = "Worker.give = killed"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path, "alone", ALONE, cache="other")
    return tmp_path


def build(place: Path, name: str, change: str, *, cache: str = "cache", collection: str = "human") -> str:
    kb = builtin_benchmark("builtin/amber").parent / "kb"
    words = [sys.executable, "-c", BUILD, str(kb), str(place / name), collection, change]
    environment = {**os.environ, "WHICHONE_CACHE": str(place / cache)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert not [path.name for path in place.iterdir() if path.name.startswith(".")]
    if not done.returncode:
        made, alone = (read_manifest(place / n / "corpus", ["corpus"]) for n in (name, "alone"))
        assert made == alone
    return done.stderr


def test_a_copy_makes_the_same_once(place: Path) -> None:
    assert "Error" not in build(place, "bench", MEANWHILE) + build(place, "again", LINKED)
    assert (place / "again/corpus/names.arrow").samefile(place / "bench/corpus/names.arrow")


def test_of_two_builds_the_first_has_it_made(place: Path) -> None:
    origin = next((place / "other/corpora").glob("*/hash")).parent.name
    (place / "cache/corpora" / origin).mkdir(parents=True)
    assert "AssertionError" in build(place, "bench", MEANWHILE)
    assert "Error" not in build(place, "again", "save.Worker = refused")


def test_a_copy_that_dies_is_not_needed(place: Path) -> None:
    assert "Error" not in build(place, "bench", KILLED)


def test_nothing_is_left_after_an_error(place: Path) -> None:
    file = place / "none.toml"
    file.write_text('name = "none"\n[types.none]\nid = "Q0"\nproperties = ["P1"]\n')
    assert "BadInput" in build(place, "bench", MEANWHILE, collection=str(file))
    assert not (place / "bench").exists()
