"""A benchmark as TREC files: `qrels` of pages and passages, `topics.tsv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.exported_ids import exported_ids, judgements, page_grades
from whichone.corpus.trec_ids import to_trec
from whichone.files.lines import write_lines
from whichone.records import Query


def export_trec(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `topics.tsv`, `qrels.pages.txt` and `qrels.passages.txt`, which fits exported runs.

    Relevant passages are the gold ones, or all of a gold page; where neither is known there is no file.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = {
        "topics.tsv": write_lines(out / "topics.tsv", _topics(benchmark.queries)),
        "qrels.pages.txt": write_lines(out / "qrels.pages.txt", _qrels(benchmark.queries)),
    }
    ids = exported_ids(benchmark)
    passages = [
        f"{to_trec(query.id)} 0 {ids.get(passage) or to_trec(passage)} {relevance}".encode()
        for query, passage, relevance in judgements(benchmark)
    ]
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
        for page, relevance in sorted(page_grades(query).items()):
            yield f"{to_trec(query.id)} 0 {to_trec(page)} {relevance}".encode()
