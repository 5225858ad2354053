"""A task's evidence onto a snapshot: pages first, then spans page by page, then what is kept."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.arrow_records import MappedRecords, blocks
from whichone.files.lines import write_atomic, write_json_lines
from whichone.options import OnError, Option, Seed
from whichone.papers.kilt import spans
from whichone.papers.kilt.convert import CONVERTERS
from whichone.papers.kilt.evidence_text import Original, OriginalEvidence, TaskOutput, TaskRecord, read_task
from whichone.papers.kilt.kilt_record import OTHER_NAMES, Dataset, Split, Task, datasets, file_kind
from whichone.papers.kilt.snapshot_pages import Snapshot, SnapshotPage
from whichone.progress import progress
from whichone.records import grouped


class Mapped(msgspec.Struct, frozen=True):
    """Where a piece of evidence came to lie; `page` None where the snapshot has no such page."""

    evidence: OriginalEvidence
    page: str | None = None
    title: str | None = None
    section: str | None = None
    paragraph: int | None = None
    start: int | None = None
    end: int | None = None
    bleu: float | None = None  # None for a page that is evidence as a whole

    @property
    def score(self) -> float:
        """What counts against the threshold: a page found as a whole is a perfect match."""
        if self.page is None:
            return 0.0
        return 1.0 if self.bleu is None else self.bleu


def assemble(
    task: TaskRecord,
    mapped: Sequence[Sequence[Mapped] | None],
    *,
    train: bool,
    aliases: bool = False,
    linking: bool = False,
    threshold: float = spans.THRESHOLD,
) -> tuple[dict[str, Any] | None, int]:
    """The KILT record of a task record, None when it is dropped, and how many outputs were dropped.

    `mapped` goes with its outputs. Train keeps every pair. Dev and test drop an output when any of its spans is below the threshold,
    and a record when no output with provenance is left. With `aliases` an output that does not map
    stays as an answer, as in TriviaQA. In entity `linking` the answer is the title of the page, whatever the
    original calls it: a Wikidata id, a redirect, an older title.
    """
    outputs: list[dict[str, Any]] = []
    supported = dropped = 0
    for output, mapped_output in zip(task.outputs, mapped, strict=True):
        good = mapped_output is not None and all(piece.score >= threshold for piece in mapped_output)
        if mapped_output is None or good or train:
            outputs.append(_output(output, mapped_output, linking=linking))
            supported += mapped_output is not None
        else:
            dropped += 1
            if aliases and output.answer is not None:
                outputs.append(_output(output, None))
    if not train and not supported:
        return None, dropped
    asked = {} if task.input is None else {"input": task.input}
    return {"id": task.id, **asked, "output": outputs, **task.rest}, dropped


def _output(output: TaskOutput, values: Sequence[Mapped] | None, *, linking: bool = False) -> dict[str, Any]:
    title = next((piece.title for piece in values or () if piece.title), None) if linking else None
    answer = title or output.answer
    entries = [_entry(piece) for piece in values or () if piece.page is not None]
    return {
        **({} if answer is None else {"answer": answer}),
        **({"provenance": entries} if entries else {}),
        **output.rest,
    }


def _entry(piece: Mapped) -> dict[str, Any]:
    entry: dict[str, Any] = {"wikipedia_id": (piece.page or "").partition(":")[2]}
    if piece.title is not None:
        entry["title"] = piece.title
    if piece.bleu is not None:
        span = {
            "section": piece.section,
            "start_paragraph_id": piece.paragraph,
            "start_character": piece.start,
            "end_paragraph_id": piece.paragraph,
            "end_character": piece.end,
            "bleu_score": piece.bleu,
        }
        entry |= {key: value for key, value in span.items() if value is not None}
    return {**entry, **piece.evidence.rest}


def section_of(paragraphs: Sequence[str], number: int) -> str:
    """The heading above a paragraph; text before the first one is the abstract."""
    above = (p for p in reversed(paragraphs[: number + 1]) if p.startswith("Section::::"))
    return next(above, "Section::::Abstract.").strip()


class MapPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to map; dataset and split are recognised by a published file's name when not given."""

    dataset: Annotated[str | None, Option("One of KILT's eleven; else recognised by the file's name.")] = None
    task: Annotated[Task | None, Option("Entity linking (el) maps by page, the others by span.")] = None
    split: Annotated[Split | None, Option("Where the file's name does not say it.")] = None
    original: Annotated[
        str | None, Option("The tasks are the original files of this dataset: fever, nq, hotpotqa, ...")
    ] = None
    extra: Annotated[
        tuple[str, ...], Option("With --original: FEVER's wiki-pages, WNED's RawText.", kind="exists")
    ] = ()
    seed: Seed = 0
    old: Annotated[
        str | None,
        Option(
            "A KILT file without texts: the knowledge base that its places are of.",
            flags=("--from",),
            kind="exists",
        ),
    ] = None
    rules: Annotated[
        Literal["paper", "published"], Option("What the paper says, or what the released program does.")
    ] = "paper"
    tokenizer: Annotated[Literal["words", "spacy"], Option("What BLEU counts; spacy is as published.")] = (
        "words"
    )
    threshold: Annotated[float, Option("Least BLEU in dev and test.")] = spans.THRESHOLD
    on_error: OnError = "fail"


ORDER = 4


def find_pages(
    texts: Sequence[str], pages: Iterable[SnapshotPage], tokenizer: spans.Tokenizer
) -> dict[str, str]:
    """For each text the page of its best span; of equal ones the page read first."""
    wanted = {text: [t.text for t in spans.tokenize(text, tokenizer)] for text in dict.fromkeys(texts)}
    index: dict[tuple[str, ...], list[str]] = {}
    for text, tokens in wanted.items():
        order = min(ORDER, len(tokens))
        for gram in set(zip(*(tokens[n:] for n in range(order)), strict=False)):
            index.setdefault(gram, []).append(text)
    orders = sorted({len(gram) for gram in index})
    best: dict[str, tuple[float, int, str]] = {}
    for page in pages:
        paragraphs = [spans.tokenize(text, tokenizer) for text in page.paragraphs]
        hits: Counter[str] = Counter()
        for paragraph in paragraphs:
            words = [token.text for token in paragraph]
            for order in orders:
                for gram in set(zip(*(words[n:] for n in range(order)), strict=False)):
                    hits.update(index.get(gram, ()))
        for text in hits:
            known = best.get(text)
            result = spans.search(wanted[text], paragraphs)
            if result and (known is None or (-result.bleu, result.tokens) < known[:2]):
                best[text] = (-result.bleu, result.tokens, page.page)
    return {text: page for text, (_, _, page) in best.items()}


class Mapper:
    """Places evidence in one snapshot, a page at a time."""

    def __init__(self, snapshot: Snapshot, plan: MapPlan, whole_pages: bool = False) -> None:
        self._snapshot = snapshot
        self._published = plan.rules == "published"
        self._tokenizer = spans.named_tokenizer(plan.tokenizer)
        self._marks = spans.words_and_marks if plan.tokenizer == "words" else self._tokenizer
        self._whole_pages, self.crashes = whole_pages, 0

    def map(self, records: Sequence[TaskRecord]) -> list[list[list[Mapped] | None]]:
        """For each output of each record its evidence, mapped; None where it has none."""
        pieces = [e for r in records for o in r.outputs for e in o.evidence or ()]
        pages = self._pages(pieces)
        by_page = grouped((page, piece) for piece in pieces if (page := pages.get(_reference(piece))))
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
        self, piece: OriginalEvidence, pages: dict[str, str], placed: dict[tuple[str, str | None], Mapped]
    ) -> Mapped:
        page = pages.get(_reference(piece))
        span = placed.get((page, piece.text)) if page else None
        return msgspec.structs.replace(span, evidence=piece) if span else Mapped(piece)

    def _pages(self, pieces: Sequence[OriginalEvidence]) -> dict[str, str]:
        pages = self._snapshot.resolve({piece.page for piece in pieces if piece.page is not None})
        if nameless := [piece.text or "" for piece in pieces if piece.page is None]:
            all_pages = find_pages(nameless, self._snapshot.pages(), self._tokenizer)
            pages |= {_reference(OriginalEvidence(None, text)): page for text, page in all_pages.items()}
        return pages

    def _place(
        self,
        page: SnapshotPage,
        pieces: Sequence[OriginalEvidence],
        placed: dict[tuple[str, str | None], Mapped],
    ) -> None:
        tokens = None
        for text in dict.fromkeys(piece.text for piece in pieces):
            whole = Mapped(OriginalEvidence(page.page, text), page.page, page.title)
            if self._whole_pages or not text:
                placed[page.page, text] = whole
                continue
            span: spans.EvidenceSpan | spans.PublishedMatch | None
            if self._published:
                span = spans.match_answer(text, page.paragraphs, self._marks)
                self.crashes += span.crashed
            else:
                tokens = tokens or spans.page_tokens(page.paragraphs, self._tokenizer)
                span = spans.best_span(text, page.paragraphs, tokens, self._tokenizer)
            if span is None:
                placed[page.page, text] = msgspec.structs.replace(whole, bleu=0.0)
                continue
            placed[page.page, text] = msgspec.structs.replace(
                whole,
                section=section_of(page.paragraphs, max(span.paragraph, 0)),
                paragraph=span.paragraph,
                start=span.start,
                end=span.end,
                bleu=float(span.bleu),
            )


def _reference(piece: OriginalEvidence) -> str:
    """What pages are looked up by; a text without a page is marked as one."""
    return piece.page if piece.page is not None else f"text: {piece.text}"


Places = tuple[int, int, int, int]  # Paragraph and character of start and end, as a KILT file names a span


def with_texts(records: Sequence[TaskRecord], old: Snapshot | None, file: str | Path) -> list[TaskRecord]:
    """The records with the text of each span that has none of its own.

    A span that the old snapshot does not hold keeps an empty text: its page alone is evidence.
    """
    lost = {piece for record in records for piece in map(_key, _pieces(record)) if piece}
    if not lost:
        return list(records)
    if old is None:
        first = next(r for r in records if any(map(_key, _pieces(r))))
        raise BadInput(
            "evidence is named by paragraph and character, without its text",
            file=file,
            line=first.line,
            ids=[first.id],
            hint="name the knowledge base of the snapshot that these places are of with --from",
        )
    pages = old.resolve(page for page, _ in lost)
    held = {page.page: page for page in old.pages(pages.values())}
    texts = {(page, span): text_at(held[pages[page]], span) for page, span in lost if page in pages}
    return [_filled(record, texts) for record in records]


def _pieces(record: TaskRecord) -> list[OriginalEvidence]:
    return [piece for output in record.outputs for piece in output.evidence or ()]


def _key(piece: OriginalEvidence) -> tuple[str, Places] | None:
    if piece.text or piece.page is None or piece.span is None:
        return None
    return piece.page, piece.span


def text_at(page: SnapshotPage, span: Places) -> str:
    """What is between two places of a page; paragraphs in between come whole."""
    first, start, last, end = span
    paragraphs = page.paragraphs
    if first > last or last >= len(paragraphs):
        return ""
    if first == last:
        return paragraphs[first][start:end]
    return " ".join((paragraphs[first][start:], *paragraphs[first + 1 : last], paragraphs[last][:end]))


def _filled(record: TaskRecord, texts: dict[tuple[str, Places], str]) -> TaskRecord:
    outputs = tuple(
        msgspec.structs.replace(
            output,
            evidence=tuple(
                msgspec.structs.replace(piece, text=texts.get(key)) if (key := _key(piece)) else piece
                for piece in output.evidence
            ),
        )
        if output.evidence is not None
        else output
        for output in record.outputs
    )
    return msgspec.structs.replace(record, outputs=outputs)


BINS = 20
BLOCK = 20_000  # So many records are mapped together: each time the pages of the snapshot are read


class _Dropped(msgspec.Struct):
    id: str
    line: int
    evidence: list[dict[str, Any]]


class MappingAccount(msgspec.Struct, kw_only=True):
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
    # What never became a record, by reason: bad lines, and what a converter does not use.
    left_out: dict[str, int] = {}
    histogram: list[int] = []

    @property
    def discarded(self) -> float:
        return 1 - self.kept / self.records if self.records else 0.0

    def document(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "discarded": self.discarded}


def map_task(task: str | Path, base: str | Path, out: str | Path, plan: MapPlan) -> MappingAccount:
    """Map one task; write the records to `out`, and beside it the account and what was dropped."""
    known, kind, split = file_kind(task, plan.dataset, plan.task, plan.split)
    bad: list[BadInput] = []
    records = MappedRecords(TaskRecord, out).extend(read_task(task, plan.on_error, bad))
    account = MappingAccount(file=Path(task).name, split=split, bad_lines=len(bad))
    account.left_out = dict(Counter(error.message for error in bad))
    return map_records(records, base, Path(out), plan, account, known, kind, bad=bad, file=task)


def map_original(
    name: str, original: Original, base: str | Path, out: str | Path, plan: MapPlan
) -> MappingAccount:
    if (key := OTHER_NAMES.get(name.lower(), name.lower())) not in CONVERTERS:
        raise UsageError(f"no original format is called {name!r}", hint=did_you_mean(name, CONVERTERS))
    original.names = Snapshot(base).names
    original.near = Path(out)
    records = MappedRecords(TaskRecord, out).extend(CONVERTERS[key](original))
    account = MappingAccount(file=", ".join(f.name for f in original.files), split=original.split)
    account.left_out = {reason: n for reason, n in original.left_out.items() if n}
    known = datasets().get(key)
    kind = plan.task or (known.task if known else "el")
    return map_records(records, base, Path(out), plan, account, known, kind)


def map_records(
    records: Sequence[TaskRecord],
    base: str | Path,
    out: Path,
    plan: MapPlan,
    account: MappingAccount,
    known: Dataset | None,
    kind: str,
    *,
    bad: Sequence[BadInput] = (),
    file: str | Path | None = None,
) -> MappingAccount:
    """Map, keep, write, a block of records at a time; the account filled in.

    `file` is a task whose spans may be places in an older snapshot.
    """
    if not records:
        raise BadInput("there are no records", file=account.file)
    account.histogram = [0] * BINS
    mapper = Mapper(Snapshot(base), plan, whole_pages=kind == "el")
    old = Snapshot(plan.old) if plan.old else None
    dropped = MappedRecords(_Dropped, out)

    def kept() -> Iterator[dict[str, Any]]:
        for block in blocks(records, BLOCK):
            texts = block if kind == "el" or file is None else with_texts(block, old, file)
            for record, mapped_record in zip(texts, mapper.map(texts), strict=True):
                account.records += 1
                account.outputs += len(record.outputs)
                pieces = [piece for listed in mapped_record if listed for piece in listed]
                for piece in pieces:
                    account.evidence += 1
                    account.pages_not_found += piece.page is None
                    account.histogram[min(BINS - 1, int(piece.score * BINS))] += 1
                result, lost = assemble(
                    record,
                    mapped_record,
                    train=account.split == "train",
                    aliases=known is not None and known.inputs_from_original,
                    linking=kind == "el",
                    threshold=plan.threshold,
                )
                account.outputs_dropped += lost
                if result is not None:
                    account.kept += 1
                    yield result
                    continue
                why = [
                    {"page": p.evidence.page, "text": p.evidence.text, "found": p.page, "bleu": p.score}
                    for p in pieces
                ]
                dropped.append(_Dropped(record.id, record.line, why))

    out.parent.mkdir(parents=True, exist_ok=True)
    write_json_lines(out, kept())
    account.published_crashes = mapper.crashes
    dropped_lines = ({"line": e.line, "ids": e.ids, "error": e.message} for e in bad)
    write_json_lines(_beside(out, "dropped.jsonl"), itertools.chain(dropped, dropped_lines))
    document = {**account.document(), "rules": plan.rules, "threshold": plan.threshold}
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    write_atomic(_beside(out, "mapping.json"), encoded + b"\n")
    return account


def _beside(out: Path, ending: str) -> Path:
    stem = out.name.removesuffix(".gz").removesuffix(".jsonl")
    return out.with_name(f"{stem}.{ending}")


def discarded_by_split(accounts: Sequence[MappingAccount]) -> list[dict[str, Any]]:
    """Figure 5's captions: how much of each split was discarded."""
    splits = []
    for split in sorted({account.split for account in accounts}):
        records = sum(a.records for a in accounts if a.split == split)
        discarded = records - sum(a.kept for a in accounts if a.split == split)
        share = discarded / records
        splits.append({"split": split, "records": records, "discarded": discarded, "share": share})
    return splits
