"""The pages of a knowledge base as passages, one page at a time, with ids that stay the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.cut.kilt_chunks import (
    Splitter,
    kilt_chunks,
    plain_sentences,
    spacy_sentences,
)
from whichone.corpus.cut.ways import (
    Tokenizer,
    load_tokenizer,
    token_blocks,
    whole_page,
    word_columns,
    word_passages,
)
from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.files.lines import write_lines
from whichone.files.tables import read_batches
from whichone.knowledge.tables import KIND, page_language
from whichone.progress import Advance
from whichone.records import Passage, passage_id

Way = Literal["words", "kilt", "pages", "tokens"]
BATCH = 1024
READ = ["page", "title", "kind", "paragraphs"]
"""What is read of pages, so many at a time."""
_COLUMNS = ["page", "title", "n", "text"]


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How to cut: the way, the length in its unit, and what counts as text.

    `tokenizer` is for tokens, `sentences` (plain, or a spaCy model, or blank for the rules of the `language`)
    for kilt.
    """

    way: Way = "words"
    size: int = 100
    keep_lists: bool = False
    tokenizer: str = "whitespace"
    sentences: str = "plain"
    language: str = ""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UsageError(f"passages of {self.size} words or tokens cannot be cut")


def cut_page(paragraphs: Sequence[str], cut: Cut) -> Iterator[str]:
    """The texts of one page's passages, in order."""
    if cut.way == "words":
        yield from word_passages(paragraphs, size=cut.size, keep_lists=cut.keep_lists)
    elif cut.way == "tokens":
        yield from token_blocks(
            paragraphs,
            size=cut.size,
            tokenizer=_tokenizer(cut.tokenizer),
            keep_lists=cut.keep_lists,
        )
    elif cut.way == "pages":
        yield from whole_page(paragraphs)
    else:
        chunks = kilt_chunks(
            paragraphs, size=cut.size, sentences=_splitter(cut.sentences, cut.language)
        )
        yield from (chunk.text for chunk in chunks)


@cache
def _tokenizer(name: str) -> Tokenizer:
    return load_tokenizer(name)


@cache
def _splitter(name: str, language: str) -> Splitter:
    return plain_sentences if name == "plain" else spacy_sentences(name, language)


def cut_passages(
    base: str | Path | Folder, cut: Cut | None = None, *, only: Container[str] | None = None
) -> Iterator[Passage]:
    """All passages of a knowledge base (or of the pages `only`), in order of page; streaming.

    The n-th of a page is `page#n`, whatever else is in the knowledge base.
    """
    for batch in cut_batches(base, cut, only=only):
        columns = (column.to_pylist() for column in batch.columns)
        for page, title, n, text in zip(*columns, strict=True):
            yield Passage(id=passage_id(page, n), page=page, title=title, text=text)


def cut_batches(
    base: str | Path | Folder,
    cut: Cut | None = None,
    *,
    only: Container[str] | None = None,
    kind: str | None = None,
    advance: Advance | None = None,
) -> Iterator[pa.RecordBatch]:
    """The same as columns: page, title, number on the page, text; of pages of one kind where it is given.

    `advance` is called with the number of pages read.
    """
    folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
    chosen = cut or Cut()
    for batch in read_batches(folder.parts("pages"), BATCH, READ):
        yield cut_rows(batch, chosen, only=only, kind=kind)
        if advance is not None:
            advance(batch.num_rows)


def cut_rows(
    batch: pa.RecordBatch, cut: Cut, *, only: Container[str] | None, kind: str | None
) -> pa.RecordBatch:
    """The passages of some pages, of which the columns `READ` are given."""
    if kind is not None:
        batch = batch.filter(pc.equal(batch["kind"], kind))
    if only is not None:
        batch = batch.filter(pa.array([p in only for p in batch["page"].to_pylist()], pa.bool_()))
    rows, numbers, texts = _cut_column(batch["paragraphs"], cut)
    about = batch.select(["page", "title"]).take(rows)
    return pa.RecordBatch.from_arrays([*about.columns, numbers, texts], _COLUMNS)


def _cut_column(paragraphs: pa.ListArray, cut: Cut) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each passage the row of its page, its number on that page, and its text."""
    if cut.way == "words" and not cut.keep_lists:
        return word_columns(paragraphs, cut.size)
    pieces = [
        (row, n, text)
        for row, page in enumerate(paragraphs.to_pylist())
        for n, text in enumerate(cut_page(page or (), cut))
    ]
    rows, numbers, texts = zip(*pieces, strict=True) if pieces else ((), (), ())
    return pa.array(rows, pa.int64()), pa.array(numbers, pa.int32()), pa.array(texts, pa.string())


def write_passages(base: str | Path, out: str | Path, cut: Cut | None = None) -> int:
    """Passages to a file: `.jsonl` keeps their ids, anything else is `psgs_w100.tsv`'s layout.

    KILT's chunks keep their section, anchors and sources in `.jsonl`.
    """
    cut = cut or Cut()
    if not cut.language:
        cut = msgspec.structs.replace(cut, language=page_language(Folder.open(base, KIND)))
    passages = cut_passages(base, cut)
    if cut.way == "kilt" and _is_json(out):
        from whichone.corpus.cut.chunk_records import chunk_records

        chunks = chunk_records(
            base, size=cut.size, sentences=_splitter(cut.sentences, cut.language)
        )
        return write_lines(out, map(msgspec.json.encode, chunks))
    if _is_json(out):
        return write_lines(out, map(msgspec.json.encode, passages))
    rows = ((str(n), p.text, p.title) for n, p in enumerate(passages, 1))
    return write_lines(out, _tsv_lines(rows)) - 1


def _is_json(out: str | Path) -> bool:
    return Path(str(out).removesuffix(".gz")).suffix == ".jsonl"


def export_psgs(base: str | Path, out: str | Path) -> dict[str, int]:
    """DPR's hundred words as `psgs_w100.tsv` has them."""
    return {Path(out).name: write_passages(base, out)}


def _tsv_lines(rows: Iterator[tuple[str, str, str]]) -> Iterator[bytes]:
    """Rows numbered from 1 below a header; blanks and line ends within a field become one blank."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="")
    yield b"id\ttext\ttitle"
    for row in rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([" ".join(value.split()) for value in row])
        yield buffer.getvalue().encode()
