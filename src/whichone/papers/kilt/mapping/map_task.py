"""A whole task onto a snapshot: pages first, then spans page by page, then what is kept."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.arrow_records import Spool, blocks
from whichone.files.lines import write_atomic, write_json_lines
from whichone.papers.kilt.convert.converters import CONVERTERS
from whichone.papers.kilt.convert.original import Original
from whichone.papers.kilt.datasets import (
    OTHER_NAMES,
    dataset,
    dataset_and_split,
    datasets,
)
from whichone.papers.kilt.mapping.assemble import Mapped, assemble
from whichone.papers.kilt.mapping.evidence import TaskRecord, read_task
from whichone.papers.kilt.mapping.mapper import Mapper
from whichone.papers.kilt.mapping.old_spans import with_texts
from whichone.papers.kilt.mapping.plan import MapPlan as MapPlan
from whichone.papers.kilt.snapshot import Snapshot

BINS = 20
BLOCK = 20_000
"""So many records are mapped together: each time the pages of the snapshot are read."""


class Account(msgspec.Struct, kw_only=True):
    """What became of a task: shares discarded, and BLEU by twentieths (the paper's Figure 5)."""

    file: str
    split: str
    records: int = 0
    kept: int = 0
    outputs: int = 0
    outputs_dropped: int = 0
    evidence: int = 0
    pages_not_found: int = 0
    published_crashes: int = 0
    bad_lines: int = 0
    left_out: dict[str, int] = {}
    """What never became a record, by reason: bad lines, and what a converter does not use."""
    histogram: list[int] = []

    @property
    def discarded(self) -> float:
        return 1 - self.kept / self.records if self.records else 0.0

    def document(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "discarded": self.discarded}


def map_task(task: str | Path, base: str | Path, out: str | Path, plan: MapPlan) -> Account:
    """Map one task; write the records to `out`, and beside it the account and what was dropped."""
    dataset_split = dataset_and_split(task)
    known = dataset(plan.dataset) if plan.dataset else (dataset_split[0] if dataset_split else None)
    split = plan.split or (dataset_split[1] if dataset_split else "dev")
    bad: list[BadInput] = []
    records = Spool(TaskRecord, out).extend(read_task(task, plan.on_error, bad))
    account = Account(file=Path(task).name, split=split, bad_lines=len(bad))
    account.left_out = dict(Counter(error.message for error in bad))
    kind = plan.task or (known.task if known else "qa")
    aliases = known is not None and known.inputs_from_original
    return map_records(
        records, base, Path(out), plan, account, kind=kind, aliases=aliases, bad=bad, file=task
    )


def map_original(
    name: str, original: Original, base: str | Path, out: str | Path, plan: MapPlan
) -> Account:
    """Convert the original files of a dataset and map them."""
    key = OTHER_NAMES.get(name.lower(), name.lower())
    if key not in CONVERTERS:
        raise UsageError(
            f"no original format is called {name!r}", hint=did_you_mean(name, CONVERTERS)
        )
    original.names = Snapshot(base).names
    original.near = Path(out)
    records = Spool(TaskRecord, out).extend(CONVERTERS[key](original))
    account = Account(file=", ".join(f.name for f in original.files), split=original.split)
    account.left_out = {reason: n for reason, n in original.left_out.items() if n}
    known = datasets().get(key)
    kind = plan.task or (known.task if known else "el")
    aliases = known is not None and known.inputs_from_original
    return map_records(records, base, Path(out), plan, account, kind=kind, aliases=aliases)


def map_records(
    records: Sequence[TaskRecord],
    base: str | Path,
    out: Path,
    plan: MapPlan,
    account: Account,
    *,
    kind: str,
    aliases: bool,
    bad: Sequence[BadInput] = (),
    file: str | Path | None = None,
) -> Account:
    """Map, keep, write, a block of records at a time; the account filled in.

    `file` is a task whose spans may be places in an older snapshot.
    """
    if not records:
        raise BadInput("there are no records", file=account.file)
    account.histogram = [0] * BINS
    mapper = Mapper(Snapshot(base), plan, whole_pages=kind == "el")
    old = Snapshot(plan.old) if plan.old else None
    dropped: Spool[dict[str, Any]] = Spool(dict[str, Any], out)
    train = account.split == "train"

    def kept() -> Iterator[dict[str, Any]]:
        for block in blocks(records, BLOCK):
            texts = block if kind == "el" or file is None else with_texts(block, old, file)
            mapped = mapper.map(texts)
            shape = {"train": train, "aliases": aliases, "linking": kind == "el"}
            yield from _kept(texts, mapped, account, dropped, shape, plan.threshold)

    out.parent.mkdir(parents=True, exist_ok=True)
    write_json_lines(out, kept())
    account.published_crashes = mapper.crashes
    dropped_lines = ({"line": e.line, "ids": e.ids, "error": e.message} for e in bad)
    write_json_lines(_beside(out, "dropped.jsonl"), itertools.chain(dropped, dropped_lines))
    document = {**account.document(), "rules": plan.rules, "threshold": plan.threshold}
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    write_atomic(_beside(out, "mapping.json"), encoded + b"\n")
    return account


def _kept(
    records: Sequence[TaskRecord],
    mapped: Sequence[Sequence[Sequence[Mapped] | None]],
    account: Account,
    dropped: Spool[dict[str, Any]],
    shape: Mapping[str, bool],
    threshold: float,
) -> Iterator[dict[str, Any]]:
    for record, mapped_record in zip(records, mapped, strict=True):
        account.records += 1
        account.outputs += len(record.outputs)
        for piece in (piece for pieces in mapped_record if pieces for piece in pieces):
            account.evidence += 1
            account.pages_not_found += piece.page is None
            account.histogram[min(BINS - 1, int(piece.score * BINS))] += 1
        assembled = assemble(record, mapped_record, **shape, threshold=threshold)
        account.outputs_dropped += assembled.dropped_outputs
        if assembled.record is None:
            dropped.append(_dropped(record, mapped_record))
        else:
            account.kept += 1
            yield assembled.record


def _dropped(record: TaskRecord, values: Sequence[Sequence[Mapped] | None]) -> dict[str, Any]:
    pieces = [piece for listed in values if listed for piece in listed]
    why = [
        {
            "page": piece.evidence.page,
            "text": piece.evidence.text,
            "found": piece.page,
            "bleu": piece.score,
        }
        for piece in pieces
    ]
    return {"id": record.id, "line": record.line, "evidence": why}


def _beside(out: Path, ending: str) -> Path:
    stem = out.name.removesuffix(".gz").removesuffix(".jsonl")
    return out.with_name(f"{stem}.{ending}")


def discarded_by_split(accounts: Sequence[Account]) -> list[dict[str, Any]]:
    """Figure 5's captions: how much of each split was discarded."""
    records: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for account in accounts:
        records[account.split] += account.records
        kept[account.split] += account.kept
    return [
        {
            "split": split,
            "records": records[split],
            "discarded": records[split] - kept[split],
            "share": 1 - kept[split] / records[split],
        }
        for split in sorted(records)
    ]
