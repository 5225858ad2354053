"""A benchmark as TREC files: `qrels` of pages and passages, `topics.tsv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.trec_ids import to_trec
from whichone.files.lines import write_lines
from whichone.records import Query


def export_trec(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `topics.tsv`, `qrels.pages.txt` and, where gold passages are known, `qrels.passages.txt`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = {
        "topics.tsv": write_lines(out / "topics.tsv", _topics(benchmark.queries)),
        "qrels.pages.txt": write_lines(out / "qrels.pages.txt", _qrels(benchmark.queries)),
    }
    passages = list(_passage_qrels(benchmark.queries))
    if passages:
        name = "qrels.passages.txt"
        written[name] = write_lines(out / name, passages)
    return written


def _topics(queries: Iterable[Query]) -> Iterator[bytes]:
    for query in queries:
        text = " ".join(query.input.split())
        yield f"{to_trec(query.id)}\t{text}".encode()


def _qrels(queries: Iterable[Query]) -> Iterator[bytes]:
    for query in queries:
        for page in sorted(query.gold_pages()):
            yield f"{to_trec(query.id)} 0 {to_trec(page)} 1".encode()


def _passage_qrels(queries: Iterable[Query]) -> Iterator[bytes]:
    for query in queries:
        entries = (e for o in query.outputs for group in o.provenance for e in group)
        for passage in sorted({entry.passage for entry in entries if entry.passage}):
            yield f"{to_trec(query.id)} 0 {to_trec(passage)} 1".encode()
