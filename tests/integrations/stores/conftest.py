"""A small benchmark, an encoder whose closeness can be computed by hand, and Anserini's jar."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Output, Passage, Provenance, Query

PYSERINI = "pyserini==1.6.0"
JAR = "anserini-1.7.1-fatjar.jar"


class Words:
    """One axis a word: the inner product is the share of common words."""

    size = 64

    def questions(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self.size] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        return self.questions(texts)

    def describe(self) -> dict[str, Any]:
        return {"encoder": "words", "size": self.size}


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
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            str(place),
            PYSERINI,
        ]
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
