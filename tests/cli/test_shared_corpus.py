"""Two benchmarks over one corpus: `--corpus` in builders and importers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput


def typed(*words: object) -> str:
    done = CliRunner().invoke(whichone, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def kb() -> Path:
    return Benchmark.open("builtin/amber").folder.root.parent / "kb"


def test_builders_name_one_corpus(kb: Path, tmp_path: Path) -> None:
    typed("corpus", kb, tmp_path / "corpus")
    given = ["--corpus", tmp_path / "corpus"]
    typed("build", "amber", kb, tmp_path / "amber", "--collection", "human", *given)
    typed("build", "ambigdocs", kb, tmp_path / "ambigdocs", *given)
    opened = [Benchmark.open(tmp_path / name) for name in ("amber", "ambigdocs")]
    assert len({benchmark.corpus.hash for benchmark in opened}) == 1
    for benchmark in opened:
        assert not (benchmark.folder.root / "corpus").exists()
        assert benchmark.folder.manifest.parents["corpus"] == benchmark.corpus.hash
    (tmp_path / "corpus").rename(tmp_path / "moved")
    typed("show", tmp_path / "moved")  # seen once at its new place, it is found there
    assert len(Benchmark.open(tmp_path / "amber").corpus) == len(opened[0].corpus)


def test_another_corpus_is_refused(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"id": "1", "title": "A", "text": "b"}\n')
    typed("corpus", tmp_path / "one.jsonl", tmp_path / "corpus")
    words = ["build", "amber", kb, tmp_path / "out", "--collection", "human"]
    done = CliRunner().invoke(whichone, list(map(str, [*words, "--corpus", tmp_path / "corpus"])))
    assert isinstance(done.exception, BadInput)
    assert "gold pages are not in the corpus" in str(done.exception)
    assert not (tmp_path / "out").exists()
