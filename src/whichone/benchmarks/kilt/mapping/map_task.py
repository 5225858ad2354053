"""A whole task onto a snapshot: pages first, then spans page by page, then what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.benchmarks.kilt.datasets import dataset, dataset_and_split
from whichone.benchmarks.kilt.mapping.assemble import Mapped, assemble, section_of
from whichone.benchmarks.kilt.mapping.evidence import Evidence, TaskRecord, read_task
from whichone.benchmarks.kilt.mapping.find_pages import find_pages
from whichone.benchmarks.kilt.mapping.old_spans import with_texts
from whichone.benchmarks.kilt.mapping.published import match_answer
from whichone.benchmarks.kilt.mapping.spans import THRESHOLD, best_span, page_tokens
from whichone.benchmarks.kilt.mapping.tokens import named_tokenizer, words_and_marks
from whichone.benchmarks.kilt.snapshot import Snapshot, SnapshotPage
from whichone.errors import BadInput, UsageError
from whichone.files.lines import write_atomic, write_json_lines
from whichone.progress import progress

Rules = Literal["paper", "published"]
BINS = 20


class MapPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to map; dataset and split are told by a published file's name when not given."""

    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    rules: Rules = "paper"
    tokenizer: str = "words"
    threshold: float = THRESHOLD
    on_error: str = "fail"
    old: str | None = None
    """The snapshot whose spans a KILT file without texts names."""


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
    histogram: list[int] = []

    @property
    def discarded(self) -> float:
        return 1 - self.kept / self.records if self.records else 0.0

    def document(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "discarded": self.discarded}


def map_task(task: str | Path, base: str | Path, out: str | Path, plan: MapPlan) -> Account:
    """Write the mapped records to `out`, and beside it the account and what was dropped."""
    told = dataset_and_split(task)
    known = dataset(plan.dataset) if plan.dataset else (told[0] if told else None)
    split = plan.split or (told[1] if told else "dev")
    kind = plan.task or (known.task if known else "qa")
    bad: list[BadInput] = []
    records = list(read_task(task, plan.on_error, bad))
    if not records:
        raise BadInput("there are no records", file=task)
    if kind != "el":
        records = with_texts(records, Snapshot(plan.old) if plan.old else None, task)
    mapper = Mapper(Snapshot(base), plan, whole_pages=kind == "el")
    mapped = mapper.map(records)
    account = Account(file=Path(task).name, split=split, histogram=[0] * BINS)
    account.published_crashes, account.bad_lines = mapper.crashes, len(bad)
    dropped: list[dict[str, Any]] = []
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    aliases = known is not None and known.inputs_from_original
    kept = _kept(records, mapped, account, dropped, split == "train", aliases, plan.threshold)
    write_json_lines(out, kept)
    told_bad = [{"line": error.line, "error": error.message} for error in bad]
    write_json_lines(_beside(out, "dropped.jsonl"), [*dropped, *told_bad])
    document = {**account.document(), "rules": plan.rules, "threshold": plan.threshold}
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    write_atomic(_beside(out, "mapping.json"), encoded + b"\n")
    return account


def _kept(
    records: Sequence[TaskRecord],
    mapped: Sequence[Sequence[Sequence[Mapped] | None]],
    account: Account,
    dropped: list[dict[str, Any]],
    train: bool,
    aliases: bool,
    threshold: float,
) -> Iterator[dict[str, Any]]:
    for record, found in zip(records, mapped, strict=True):
        account.records += 1
        account.outputs += len(record.outputs)
        for piece in (piece for pieces in found if pieces for piece in pieces):
            account.evidence += 1
            account.pages_not_found += piece.page is None
            account.histogram[min(BINS - 1, int(piece.score * BINS))] += 1
        made = assemble(record, found, train=train, aliases=aliases, threshold=threshold)
        account.outputs_dropped += made.dropped_outputs
        if made.record is None:
            dropped.append(_dropped(record, found))
        else:
            account.kept += 1
            yield made.record


def _dropped(record: TaskRecord, found: Sequence[Sequence[Mapped] | None]) -> dict[str, Any]:
    pieces = [piece for listed in found if listed for piece in listed]
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


class Mapper:
    """Places evidence in one snapshot, a page at a time."""

    def __init__(self, snapshot: Snapshot, plan: MapPlan, whole_pages: bool = False) -> None:
        if plan.rules not in ("paper", "published"):
            raise UsageError(f"rules are paper or published, not {plan.rules!r}")
        self._snapshot = snapshot
        self._published = plan.rules == "published"
        self._tokenizer = named_tokenizer(plan.tokenizer)
        self._marks = words_and_marks if plan.tokenizer == "words" else self._tokenizer
        self._whole_pages = whole_pages
        self.crashes = 0

    def map(self, records: Sequence[TaskRecord]) -> list[list[list[Mapped] | None]]:
        """For each output of each record its evidence, mapped; None where it has none."""
        pieces = [e for r in records for o in r.outputs for e in o.evidence or ()]
        pages = self._pages(pieces)
        by_page: dict[str, list[Evidence]] = {}
        for piece in pieces:
            if page := pages.get(_reference(piece)):
                by_page.setdefault(page, []).append(piece)
        placed: dict[tuple[str, str | None], Mapped] = {}
        with progress("mapping", len(by_page), "pages") as advance:
            for held in self._snapshot.pages(by_page):
                self._place(held, by_page[held.page], placed)
                advance(1)
        return [
            [
                None
                if output.evidence is None
                else [self._mapped(piece, pages, placed) for piece in output.evidence]
                for output in record.outputs
            ]
            for record in records
        ]

    def _mapped(
        self,
        piece: Evidence,
        pages: dict[str, str],
        placed: dict[tuple[str, str | None], Mapped],
    ) -> Mapped:
        page = pages.get(_reference(piece))
        found = placed.get((page, piece.text)) if page else None
        return msgspec.structs.replace(found, evidence=piece) if found else Mapped(piece)

    def _pages(self, pieces: Sequence[Evidence]) -> dict[str, str]:
        named = {piece.page for piece in pieces if piece.page is not None}
        pages = self._snapshot.resolve(named)
        nameless = [piece.text or "" for piece in pieces if piece.page is None]
        if nameless:
            found = find_pages(nameless, self._snapshot.every_page(), self._tokenizer)
            pages |= {_reference(Evidence(None, text)): page for text, page in found.items()}
        return pages

    def _place(
        self,
        page: SnapshotPage,
        pieces: Sequence[Evidence],
        placed: dict[tuple[str, str | None], Mapped],
    ) -> None:
        tokens = None
        for text in dict.fromkeys(piece.text for piece in pieces):
            whole = Mapped(Evidence(page.page, text), page.page, page.title)
            if self._whole_pages or not text:
                placed[page.page, text] = whole
                continue
            if self._published:
                placed[page.page, text] = self._as_published(page, text, whole)
                continue
            tokens = tokens or page_tokens(page.paragraphs, self._tokenizer)
            span = best_span(text, page.paragraphs, tokens, self._tokenizer)
            placed[page.page, text] = msgspec.structs.replace(
                whole,
                section=section_of(page.paragraphs, span.paragraph) if span else None,
                paragraph=span.paragraph if span else None,
                start=span.start if span else None,
                end=span.end if span else None,
                bleu=span.bleu if span else 0.0,
            )

    def _as_published(self, page: SnapshotPage, text: str, whole: Mapped) -> Mapped:
        found = match_answer(text, page.paragraphs, self._marks)
        self.crashes += found.crashed
        return msgspec.structs.replace(
            whole,
            section=section_of(page.paragraphs, max(found.paragraph, 0)),
            paragraph=found.paragraph,
            start=found.start,
            end=found.end,
            bleu=float(found.bleu),
        )


def _reference(piece: Evidence) -> str:
    """What pages are looked up by; a text without a page is marked as one."""
    return piece.page if piece.page is not None else f"text: {piece.text}"


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
