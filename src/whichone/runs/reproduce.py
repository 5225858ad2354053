"""Making a run again from what its manifest says, and comparing the two."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone import registry
from whichone.errors import BadInput, UsageError
from whichone.runs.retrieve import retrieve
from whichone.runs.run import Run

_NOT_OPTIONS = {"k", "retriever", "returns"}


class Reproduced(msgspec.Struct, frozen=True):
    """How a run that was made again differs from the published one."""

    run: str
    same: bool
    """Every file but the measured times has the same bytes."""
    same_order: bool
    """Every question has the same passages in the same order."""
    questions: int
    other_order: list[str]
    """The questions with other passages or another order."""
    largest_difference: float
    """Of scores at the same rank, among questions in the same order."""


def reproduce(
    run: str | Path, out: str | Path | None = None, *, benchmark: str | None = None
) -> Reproduced:
    """Run the same system with the same options over the same benchmark, into `out` or for the comparison alone."""
    if out is not None and Path(out).exists():
        raise UsageError("there is something already", where=str(out), hint="name a new folder")
    published = Run.open(run)
    opened = published.benchmark(benchmark)
    how = recorded_call(published)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(out) if out is not None else Path(temporary) / "run"
        again = retrieve(opened, place, name=published.name, **how)
        return compare_runs(published, again)


def recorded_call(run: Run) -> dict[str, Any]:
    """Retriever, options and depth as they were typed, else as the system described itself."""
    manifest = run.folder.manifest
    request = manifest.made.get("request", {})
    words = str(request.get("command", "")).split()
    typed = request.get("options", {}) if words[-1:] == ["retrieve"] else {}
    if typed.get("retriever"):
        return {
            "retriever": typed["retriever"],
            "options": _typed_options(typed.get("options", ())),
            "k": int(typed.get("k", 100)),
            **({"index": typed["index"]} if typed.get("index") else {}),
        }
    described: Mapping[str, Any] = manifest.parameters
    name = str(described.get("retriever", ""))
    known = registry.names("retrievers")
    if name not in known:
        raise BadInput(
            f"it does not say how it was made: {name or 'an unknown system'} is no retriever of whichone",
            file=run.path,
            hint="imported runs and functions of one's own cannot be made again from their folder",
        )
    fields = getattr(registry.find("retrievers", name), "Parameters", None)
    names = set(fields.__struct_fields__) if fields is not None else set(described) - _NOT_OPTIONS
    options = {key: value for key, value in described.items() if key in names}
    return {"retriever": name, "options": options, "k": int(described.get("k", 100))}


def _typed_options(options: Iterable[str]) -> dict[str, str]:
    pairs = (option.partition("=") for option in options)
    return {key.replace("-", "_"): value for key, _, value in pairs}


def compare_runs(published: Run, again: Run) -> Reproduced:
    """The rankings of two runs, question by question."""
    first, second = _by_question(published.rankings), _by_question(again.rankings)
    other = sorted(
        question
        for question in first.keys() | second.keys()
        if _passages(first.get(question)) != _passages(second.get(question))
    )
    apart = set(other)
    differences = [
        abs(a - b)
        for question, rows in first.items()
        if question not in apart
        for (_, a), (_, b) in zip(rows, second[question], strict=True)
    ]
    return Reproduced(
        run=published.name,
        same=published.folder.content_hash == again.folder.content_hash,
        same_order=not other,
        questions=len(first.keys() | second.keys()),
        other_order=other,
        largest_difference=max(differences, default=0.0),
    )


def _by_question(rankings: pa.Table) -> dict[str, list[tuple[str, float]]]:
    rows: dict[str, list[tuple[str, float]]] = {}
    columns = (rankings[name].to_pylist() for name in ("question", "passage", "score"))
    for question, passage, score in zip(*columns, strict=True):
        rows.setdefault(question, []).append((passage, score))
    return rows


def _passages(rows: list[tuple[str, float]] | None) -> list[str]:
    return [passage for passage, _ in rows or ()]
