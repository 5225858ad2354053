"""A benchmark as a BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.files.lines import write_lines
from whichone.records import Query


def export_beir(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Passages, questions, and as relevant the gold passages, or every passage of a gold page."""
    if not benchmark.passages.num_rows:
        raise UsageError(
            f"{benchmark.name} has no passages",
            hint="import it with --knowledge or --passages: a BEIR folder holds its corpus",
        )
    out = Path(out)
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.encode
    corpus = (
        encode({"_id": p.id, "title": p.title, "text": p.text}) for p in benchmark.passage_records()
    )
    queries = (encode({"_id": q.id, "text": q.input}) for q in benchmark.queries)
    return {
        "corpus.jsonl": write_lines(out / "corpus.jsonl", corpus),
        "queries.jsonl": write_lines(out / "queries.jsonl", queries),
        "qrels/test.tsv": write_lines(out / "qrels" / "test.tsv", _qrels(benchmark)) - 1,
    }


def _qrels(benchmark: Benchmark) -> Iterator[bytes]:
    yield b"query-id\tcorpus-id\tscore"
    for query, passage in relevant_passages(benchmark):
        yield f"{query}\t{passage}\t1".encode()


def relevant_passages(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """Query and passage for every gold passage, or for every passage of a gold page."""
    of_page: dict[str, list[str]] = {}
    table = benchmark.passages.select(["page", "id"])
    for page, passage in zip(table["page"].to_pylist(), table["id"].to_pylist(), strict=True):
        of_page.setdefault(page, []).append(passage)
    for query in benchmark.queries:
        for passage in _relevant(query, of_page):
            yield query.id, passage


def _relevant(query: Query, of_page: dict[str, list[str]]) -> list[str]:
    entries = [e for o in query.outputs for group in o.provenance for e in group]
    named = {entry.passage for entry in entries if entry.passage}
    whole = {entry.page for entry in entries if not entry.passage}
    return sorted(named | {passage for page in whole for passage in of_page.get(page, ())})
