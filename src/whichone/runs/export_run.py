"""Runs as the files that others read: TREC runs, KILT and AmbER predictions, DPR results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.benchmarks.exports import exported_ids
from whichone.corpus.corpus import to_trec, trec_order
from whichone.files.lines import write_lines
from whichone.records import Query
from whichone.runs.dpr_results import results_of_run, write_dpr_results
from whichone.runs.run import Run

Ranked = dict[str, list[dict[str, Any]]]


def export_trec_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """`query Q0 passage rank score tag` a line, passages by the ids of their own corpus.

    trec_eval orders by score and not by rank, ties by id: where that would change the order, scores are lowered by
    the least that single precision can tell apart.
    """
    tag = to_trec(run.name or "whichone")
    ids = exported_ids(run.benchmark(where))
    path = _file(out, "run.txt")
    return {path.name: write_lines(path, _trec_lines(run, ids, tag))}


def _trec_lines(run: Run, ids: Mapping[str, str], tag: str) -> Iterator[bytes]:
    asked: str = ""
    before: tuple[float, str] | None = None
    for row in run.rankings.to_pylist():
        own = ids.get(row["passage"]) or to_trec(row["passage"])
        if row["question"] != asked:
            asked, before = row["question"], None
        score = row["score"]
        if before is not None and trec_order(score, own) <= trec_order(*before):
            score = float(np.nextafter(np.float32(before[0]), np.float32(-np.inf)))
        before = (score, own)
        yield f"{to_trec(asked)} Q0 {own} {row['rank']} {score!r} {tag}".encode()


def export_kilt_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """KILT predictions: one output with the ranked pages, each entry with its score and title."""
    path = _file(out, "predictions.jsonl")
    return {path.name: write_lines(path, _predictions(run, where, listed=True))}


def export_amber_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """AmbER predictions: `output` is one object, not a list."""
    path = _file(out, "predictions.jsonl")
    return {path.name: write_lines(path, _predictions(run, where, listed=False))}


def export_dpr_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """DPR results: every question with its answers and its passages with their text."""
    path = _file(out, "results.json")
    return {path.name: write_dpr_results(path, results_of_run(run, run.benchmark(where)))}


def _predictions(run: Run, where: str | None, *, listed: bool) -> Iterator[bytes]:
    benchmark = run.benchmark(where)
    titles = benchmark.page_titles
    ranked: Ranked = {}
    for row in run.rankings.to_pylist():
        ranked.setdefault(row["question"], []).append(row)
    for query in benchmark.queries:
        pages = [_entry(row, titles) for row in ranked.get(query.id, ())]
        output: Any = {"provenance": pages}
        record = {"id": _own_id(query), "output": [output] if listed else output}
        yield msgspec.json.encode(record)


def _own_id(query: Query) -> Any:
    """What its published file calls the query."""
    kept = query.attributes.get("kilt")
    return kept.get("id", query.id) if isinstance(kept, dict) else query.id


def _entry(row: dict[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    entry = {"wikipedia_id": row["page"].partition(":")[2] or row["page"], "score": row["score"]}
    title = titles.get(row["page"])
    return {**entry, "wikipedia_title": title} if title is not None else entry


def _file(out: str | Path, name: str) -> Path:
    """The file itself, or the usual name in a folder."""
    path = Path(out)
    if path.suffix:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
    path.mkdir(parents=True, exist_ok=True)
    return path / name
