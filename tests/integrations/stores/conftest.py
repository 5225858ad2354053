"""A small benchmark, an encoder whose closeness can be computed by hand, and Anserini's jar."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from word_encoder import Words

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Output, Passage, Provenance, Query

PYSERINI = "pyserini==1.6.0"
JAR = "anserini-1.7.1-fatjar.jar"


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def small(tmp_path: Path) -> Benchmark:
    """Ten pages of two passages; question n is about page n."""
    passages = [
        Passage(
            id=f"w:{n}#{part}", page=f"w:{n}", title=f"Page {n}", text=f"word{n} part{part}",
            source_id=f"own-{n}-{part}",
        )
        for n in range(10)
        for part in range(2)
    ]  # fmt: skip
    queries = [
        Query(
            id=f"q{n}", task="qa", input=f"Where is word{n}?",
            outputs=(Output(provenance=((Provenance(page=f"w:{n}"),),)),),
        )
        for n in range(10)
    ]  # fmt: skip
    return save_benchmark(tmp_path / "small", name="small", passages=passages, queries=queries)


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar inside Pyserini's archive, which alone is taken: the package itself needs a hundred others."""
    given = os.environ.get("ANSERINI_JAR")
    if given:
        return Path(given)
    kept = Path(sys.prefix) / JAR
    if not kept.exists():
        place = tmp_path_factory.mktemp("pyserini")
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), PYSERINI]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{PYSERINI} cannot be fetched: {done.stderr.strip()[-200:]}")
        with tarfile.open(next(place.glob("pyserini-*.tar.gz"))) as archive:
            member = next(m for m in archive if m.name.endswith(JAR))
            file = archive.extractfile(member)
            assert file is not None
            kept.write_bytes(file.read())
    assert (
        hashlib.sha256(kept.read_bytes()).hexdigest()
        == "183bf5b53c82441b249d475f66f73aaa3e7dedd8892dece747e3680a1fda34f3"
    )
    return kept
