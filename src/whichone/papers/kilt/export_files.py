"""A benchmark as KILT's files: one a dataset and split, or one file of that name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.files.lines import write_lines
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.record import record_of
from whichone.records import Query


def export_kilt(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `out`: one .jsonl (or .jsonl.gz) file, or a folder with the published names."""
    out = Path(out)
    files: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        files.setdefault(_file(query, benchmark.name), []).append(query)
    if out.name.endswith((".jsonl", ".jsonl.gz")):
        if len(files) > 1:
            raise UsageError(
                f"the benchmark contains {len(files)} files ({', '.join(sorted(files))})",
                hint="name a folder for them",
            )
        return {out.name: _write(out, benchmark.queries)}
    out.mkdir(parents=True, exist_ok=True)
    return {name: _write(out / name, queries) for name, queries in files.items()}


def _file(query: Query, otherwise: str) -> str:
    name = str(query.attributes.get("dataset") or otherwise)
    split = str(query.attributes.get("split") or "dev")
    known = datasets().get(name)
    return known.file(split) if known else f"{name}-{split}-kilt.jsonl"


def _write(path: Path, queries: Sequence[Query]) -> int:
    return write_lines(path, (msgspec.json.encode(record_of(query)) for query in queries))
