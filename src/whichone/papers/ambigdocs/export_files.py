"""A benchmark of questions about several bearers as AmbigDocs files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.papers.ambigdocs.files import question_object, write_objects
from whichone.papers.ambigdocs.queries import gold_passage_ids, question_of
from whichone.records import Passage, Query


def export_ambigdocs(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `out`: one .json file, or a folder with one file a split; how many questions in each.

    Every output becomes a document, so a benchmark whose outputs name no bearer cannot go out.
    """
    unnamed = [q.id for q in benchmark.queries if q.name is None]
    if unnamed:
        raise BadInput(
            f"{len(unnamed)} queries ask about no shared name",
            ids=unnamed,
            hint="AmbigDocs files hold questions about a name and its bearers",
        )
    out = Path(out)
    passages = gold_passages(benchmark)
    splits: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        splits.setdefault(str(query.attributes.get("split", "test")), []).append(query)
    if out.suffix == ".json":
        return {out.name: _write(out, (q for listed in splits.values() for q in listed), passages)}
    out.mkdir(parents=True, exist_ok=True)
    return {
        f"{split}.json": _write(out / f"{split}.json", listed, passages)
        for split, listed in splits.items()
    }


def _write(path: Path, queries: Iterable[Query], passages: Mapping[str, Passage]) -> int:
    return write_objects(path, (question_object(question_of(q, passages.get)) for q in queries))


def gold_passages(benchmark: Benchmark) -> dict[str, Passage]:
    """The passages that some output names; the rest of the corpus stays on disk."""
    return passages_by_id(benchmark, gold_passage_ids(benchmark.queries))


def passages_by_id(benchmark: Benchmark, ids: Iterable[str]) -> dict[str, Passage]:
    table = benchmark.passages
    wanted = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(ids), pa.string())))
    rows = wanted.select(["id", "page", "title", "text", "source_id"]).to_pylist()
    return {row["id"]: Passage(**row) for row in rows}
