from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import save_benchmark
from whichone.errors import UsageError
from whichone.papers.ambigdocs.import_ambigdocs import import_ramdocs
from whichone.records import Output, Passage, Provenance, Query
from whichone.runs.from_runs import Given
from whichone.runs.retrieve import retrieve


def test_the_documents_of_ramdocs_as_a_run(shared: Path, tmp_path: Path) -> None:
    benchmark, _ = import_ramdocs(shared / "data/ramdocs/ramdocs-dev.jsonl.gz", tmp_path / "b")
    assert benchmark is not None
    run = retrieve(tmp_path / "b", tmp_path / "run", retriever="given", k=20)
    assert run.rankings.num_rows == 1442
    first = benchmark.queries[0]
    rows = [r for r in run.rankings.to_pylist() if r["question"] == first.id]
    assert [r["passage"] for r in rows] == list(first.attributes["documents"])


def test_questions_without_documents_of_their_own(tmp_path: Path) -> None:
    gold = Output(answer="x", provenance=((Provenance(page="w:1"),),))
    benchmark = save_benchmark(
        tmp_path / "b",
        name="plain",
        queries=[Query(id="q", task="qa", input="?", outputs=(gold,))],
        passages=[Passage(id="w:1#0", page="w:1", title="t", text="x")],
    )
    with pytest.raises(UsageError, match="without documents"):
        Given.for_run(benchmark, tmp_path)
