"""The pages of a knowledge base as passages, by words, tokens, chunks or whole, with ids that stay the same."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import regex
from msgspec import Meta

from whichone.corpus.corpus import PASSAGES
from whichone.errors import Missing, UsageError, needs
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder
from whichone.files.lines import write_json_lines, write_lines
from whichone.files.manifest import Blocks
from whichone.files.tables import column_ranges, read_batches
from whichone.knowledge.knowledge_tables import BULLET, KIND, SECTION, catalogues, page_language
from whichone.options import Option
from whichone.progress import Advance, progress
from whichone.records import PASSAGE_MARK, Passage, grouped, passage_id
from whichone.text.language import base_code

if TYPE_CHECKING:
    from whichone.knowledge.engines import Engine


# KILT's sentence-aware chunks: whole sentences up to a number of tokens, within one section.
# The rules are those of the published chunker, its oddities kept: a chunk's text reaches one character
# beyond its last token before it is stripped, a blank token counts when a sentence is measured and not
# when a chunk is, and a merged chunk counts one token more than it has.


CHUNK_TOKENS = 100
_TOKEN = re.compile(r"\w+|[^\w\s]|\s{2,}|\n")


class Token(msgspec.Struct, frozen=True):
    start: int
    end: int
    blank: bool = False


Splitter = Callable[[str], Iterable[Sequence[Token]]]  # A paragraph to its sentences, each a list of tokens


class Chunk(msgspec.Struct, kw_only=True):
    """Sentences of one section, with the anchors in them and where they come from."""

    text: str
    section: str
    anchors: list[dict[str, Any]]
    sources: list[dict[str, int]]
    tokens: int


def plain_sentences(text: str) -> Iterator[list[Token]]:
    """Words, signs and runs of blanks; a sentence ends at a full stop, `!` or `?`. Needs nothing."""
    sentence: list[Token] = []
    for match in _TOKEN.finditer(text):
        sentence.append(Token(match.start(), match.end(), match.group().isspace()))
        if match.group() in (".", "!", "?"):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def spacy_sentences(model: str = "en_core_web_sm", language: str = "") -> Splitter:
    """spaCy's sentences, as KILT cut its own; `model` may be "blank" for the rules of a language alone."""
    with needs("spacy", "adapters"):
        import spacy
    if model == "blank":
        try:
            pipeline = spacy.blank(base_code(language))
        except ImportError:  # a language that spaCy does not know
            pipeline = spacy.blank("xx")
        pipeline.add_pipe("sentencizer")
    else:
        try:
            pipeline = spacy.load(model)
        except OSError as error:
            raise Missing(
                f"there is no spaCy model {model!r}: {error}",
                hint=f"python -m spacy download {model}, or --sentences blank or plain",
            ) from error

    def split(text: str) -> Iterator[list[Token]]:
        for sentence in pipeline(text).sents:
            yield [Token(t.idx, t.idx + len(t.text), t.is_space) for t in sentence]

    return split


def kilt_chunks(
    paragraphs: Sequence[str],
    anchors: Iterable[Mapping[str, Any]] = (),
    *,
    size: int = CHUNK_TOKENS,
    sentences: Splitter = plain_sentences,
) -> list[Chunk]:
    """The chunks of one page; its title is not text, a heading names the section that follows."""
    by_paragraph = grouped((anchor["paragraph_id"], anchor) for anchor in anchors)
    chunks: list[Chunk] = []
    section = "Section::::Abstract"
    for number, paragraph in enumerate(paragraphs[1:], 1):
        if "Section::::" in paragraph:
            section = paragraph.strip()
            continue
        own = by_paragraph.get(number, [])
        held: list[Token] = []
        for sentence in sentences(paragraph):
            if held and len(held) + len(sentence) >= size:
                chunks.append(_chunk(paragraph, number, held, own, section))
                held = []
            held += [token for token in sentence if not token.blank]
        if held:
            _add_or_merge(chunks, _chunk(paragraph, number, held, own, section), size)
    return chunks


def _chunk(
    paragraph: str, number: int, tokens: Sequence[Token], anchors: Iterable[Mapping[str, Any]], section: str
) -> Chunk:
    start, end = tokens[0].start, tokens[-1].end
    inside = [
        {
            "text": a["text"],
            "href": a["href"],
            **({"wikipedia_id": a["wikipedia_id"]} if a.get("wikipedia_id") else {}),
            "source": {"paragraph_id": number, "start": a["start"], "end": a["end"]},
            "start": a["start"] - start,
            "end": a["end"] - start,
        }
        for a in anchors
        if a["start"] >= start and a["end"] <= end
    ]
    return Chunk(
        text=paragraph[start : end + 1].strip(),
        section=section,
        anchors=inside,
        sources=[{"paragraph_id": number, "start": start, "end": end}],
        tokens=len(tokens),
    )


def _add_or_merge(chunks: list[Chunk], chunk: Chunk, size: int) -> None:
    last = chunks[-1] if chunks else None
    if last is None or last.section != chunk.section or last.tokens + chunk.tokens >= size:
        chunks.append(chunk)
        return
    shift = len(last.text) + 1
    for anchor in chunk.anchors:
        anchor["start"] += shift
        anchor["end"] += shift
    last.text = f"{last.text} {chunk.text}"
    last.anchors += chunk.anchors
    last.sources += chunk.sources
    last.tokens += chunk.tokens + 1


def chunk_records(
    base: str | Path | Folder, *, size: int = CHUNK_TOKENS, sentences: Splitter = plain_sentences
) -> Iterator[dict[str, Any]]:
    """The chunks of a knowledge base, in order of page, with `id`, `page`, `title` and `text` as passages have them."""
    from whichone.knowledge.formats.kilt_source import kilt_records

    for page, record in kilt_records(base):
        chunks = kilt_chunks(record["text"], record["anchors"], size=size, sentences=sentences)
        for number, chunk in enumerate(chunks):
            yield {
                "id": passage_id(page, number),
                "page": page,
                "title": record["wikipedia_title"],
                "text": chunk.text,
                "section": chunk.section,
                "anchors": chunk.anchors,
                "sources": chunk.sources,
                "categories": record.get("categories", ""),
                "history": record.get("history", {}),
            }


def export_chunks(base: str | Path, out: str | Path) -> dict[str, int]:
    """KILT's own layout: a number from 1, a tab, and the chunk as JSON, a line each."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_chunks.tsv"
    # a tab within the JSON is written as \t: KILT's reader drops lines with more than one tab
    rows = (msgspec.json.encode(_published(**record)) for record in chunk_records(base))
    return {path.name: write_lines(path, (b"%d\t%s" % row for row in enumerate(rows, 1)))}


def _published(*, id: str, page: str, title: str, **others: Any) -> dict[str, Any]:
    identity = page.partition(":")[2]
    return {"_id": identity, "wikipedia_id": identity, "wikipedia_title": title, **others}


# All ways to cut, and the passages of a knowledge base.


_MARK = re.compile(r"(?:-|\d+\.)[ ]?")


def text_paragraphs(
    paragraphs: Sequence[str], *, keep_lists: bool = False, keep_headings: bool = False
) -> Iterator[str]:
    """The paragraphs that are text; the title is not, list items and headings on demand."""
    for paragraph in paragraphs[1:]:
        line = paragraph.strip()
        if line.startswith(BULLET):
            line = _MARK.sub("", line.removeprefix(BULLET), count=1) if keep_lists else ""
        elif line.startswith(SECTION):
            line = line.removeprefix(SECTION).replace(".:", ": ") if keep_headings else ""
        if line:
            yield line


_SEPARATORS = (b"\x1c", b"\x1d", b"\x1e", b"\x1f")  # blanks to Python, not to Arrow's ASCII


def word_columns(paragraphs: pa.ListArray, size: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each passage the row of its page, its number on that page, and its text."""
    ends = paragraphs.offsets.to_numpy().astype(np.int64)
    lines = paragraphs.values.slice(ends[0], ends[-1] - ends[0])
    ends -= ends[0]
    trim, split = _blanks(lines)
    lines = trim(lines)
    kept = np.asarray(pc.binary_length(lines)) > 0
    for mark in (BULLET, SECTION):
        kept &= ~np.asarray(pc.starts_with(lines, mark))
    kept[ends[:-1][np.diff(ends) > 0]] = False  # the first paragraph is the title
    words = split(lines.filter(pa.array(kept)))
    line_ends = words.offsets.to_numpy().astype(np.int64)
    page_ends = line_ends[np.concatenate(([0], np.cumsum(kept)))[ends]]
    passages = -(-np.diff(page_ends) // size)
    rows = np.repeat(np.arange(len(passages)), passages)
    numbers = np.arange(len(rows)) - (np.cumsum(passages) - passages)[rows]
    cuts = np.append(page_ends[rows] + numbers * size, page_ends[-1])
    stretches = pa.ListArray.from_arrays(pa.array(cuts, pa.int32()), words.values)
    return pa.array(rows), pa.array(numbers, pa.int32()), pc.binary_join(stretches, " ")


def _blanks(lines: pa.StringArray):  # type: ignore[no-untyped-def]
    """How to trim and to split: by bytes where that comes to the same."""
    data = lines.buffers()[2]
    raw = data.to_pybytes() if data is not None else b""
    if raw.isascii() and not any(mark in raw for mark in _SEPARATORS):
        return pc.ascii_trim_whitespace, pc.ascii_split_whitespace
    return pc.utf8_trim_whitespace, pc.utf8_split_whitespace


WORDS = 100


def word_passages(paragraphs: Sequence[str], *, size: int = WORDS, keep_lists: bool = False) -> Iterator[str]:
    """Words are what blanks separate; the last stretch is as short as it is."""
    words = [word for line in text_paragraphs(paragraphs, keep_lists=keep_lists) for word in line.split()]
    for start in range(0, len(words), size):
        yield " ".join(words[start : start + size])


SIZE = 288
_Tokenizer = Callable[[str], Sequence[tuple[int, int]]]  # A text to the places (start, end) of its tokens

_BLANKS = regex.compile(r"\S+")


def whitespace(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _BLANKS.finditer(text)]


@cache
def load_tokenizer(name: str) -> _Tokenizer:
    """`whitespace`, or the path of a Hugging Face `tokenizer.json`."""
    if name == "whitespace":
        return whitespace
    with needs("tokenizers", "dense"):
        from tokenizers import Tokenizer as Loaded
    if not Path(name).is_file():
        raise Missing("no such tokeniser file", where=name, hint="whitespace, or a tokenizer.json")
    loaded = Loaded.from_file(name)
    loaded.no_truncation()

    def tokens(text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = loaded.encode(text, add_special_tokens=False).offsets
        return [(start, end) for start, end in offsets if end > start]

    return tokens


def token_blocks(
    paragraphs: Sequence[str],
    *,
    size: int = SIZE,
    tokenizer: _Tokenizer = whitespace,
    keep_lists: bool = False,
) -> Iterator[str]:
    """Disjoint blocks of `size` tokens, as written in the text; paragraphs meet at a blank."""
    text = " ".join(text_paragraphs(paragraphs, keep_lists=keep_lists))
    places = tokenizer(text)
    for first in range(0, len(places), size):
        yield text[places[first][0] : places[min(first + size, len(places)) - 1][1]]


Way = Literal["kilt", "pages", "tokens", "words"]
BATCH = 1024
READ = ["page", "title", "entity", "kind", "paragraphs"]  # What is read of pages, so many at a time
_COLUMNS = ["page", "title", "entity", "n", "text"]


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How to cut: the way, the length in its unit, and what counts as text.

    `tokenizer` is for tokens, `sentences` (plain, or a spaCy model, or blank for the rules of the `language`)
    for kilt.
    """

    way: Annotated[
        Way,
        Option(
            "How pages of a knowledge base are cut: DPR's words, KILT's chunks, tokens, whole pages.",
            flags=("--cut",),
        ),
    ] = "words"
    size: Annotated[int | None, Option("[default: 100 words, 288 tokens]"), Meta(ge=1)] = None
    keep_lists: Annotated[bool, Option("Also the items of lists.")] = False
    tokenizer: Annotated[str, Option("For --cut tokens.")] = "whitespace"
    sentences: Annotated[str, Option("For --cut kilt.")] = "plain"
    language: Annotated[
        str,
        Option(
            "Of the texts, which decides stemming and stop words; that of the dumps, or en, when not given."
        ),
    ] = ""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UsageError(f"passages of {self.size} words or tokens cannot be cut")

    @property
    def length(self) -> int:
        return (288 if self.way == "tokens" else 100) if self.size is None else self.size


def cut_page(paragraphs: Sequence[str], cut: Cut) -> Iterator[str]:
    if cut.way == "words":
        yield from word_passages(paragraphs, size=cut.length, keep_lists=cut.keep_lists)
    elif cut.way == "tokens":
        yield from token_blocks(
            paragraphs, size=cut.length, tokenizer=load_tokenizer(cut.tokenizer), keep_lists=cut.keep_lists
        )
    elif cut.way == "pages":
        if text := "\n".join(text_paragraphs(paragraphs, keep_lists=True, keep_headings=True)):
            yield text
    else:
        chunks = kilt_chunks(paragraphs, size=cut.length, sentences=_splitter(cut.sentences, cut.language))
        yield from (chunk.text for chunk in chunks)


@cache
def _splitter(name: str, language: str) -> Splitter:
    return plain_sentences if name == "plain" else spacy_sentences(name, language)


def cut_passages(
    base: str | Path | Folder, cut: Cut | None = None, *, only: Container[str] | None = None
) -> Iterator[Passage]:
    """All passages of a knowledge base (or of the pages `only`), in order of page; streaming.

    The n-th of a page is `page#n`, whatever else is in the knowledge base.
    """
    folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
    for batch in cut_batches(folder, cut, only=only):
        batch = batch.set_column(2, "entity", owners(batch["entity"], folder))
        columns = (column.to_pylist() for column in batch.columns)
        for page, title, entity, n, text in zip(*columns, strict=True):
            yield Passage(id=passage_id(page, n), page=page, title=title, text=text, entity=entity)


def cut_batches(
    base: str | Path | Folder,
    cut: Cut | None = None,
    *,
    only: Container[str] | None = None,
    kind: str | None = None,
    advance: Advance | None = None,
) -> Iterator[pa.RecordBatch]:
    """The same as columns: page, title, entity, number on the page, text; of pages of one kind where it is given.

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
    if kind is not None:
        batch = batch.filter(pc.equal(batch["kind"], kind))
    if only is not None:
        batch = batch.filter(pa.array([p in only for p in batch["page"].to_pylist()], pa.bool_()))
    rows, numbers, texts = _cut_column(batch["paragraphs"], cut)
    about = batch.select(["page", "title", "entity"]).take(rows)
    return pa.RecordBatch.from_arrays([*about.columns, numbers, texts], _COLUMNS)


def owners(entities: pa.StringArray, kb: Folder) -> pa.StringArray:
    """Whom passages are about, as far as a catalogue says it, whose documents are somebody's.

    An article of an encyclopedia is known by its title, and its passages name no entity.
    """
    owned = [pc.starts_with(entities, f"{name}:") for name in catalogues(kb)]
    nobody = pa.nulls(len(entities), pa.string())
    return pc.if_else(reduce(pc.or_kleene, owned), entities, nobody) if owned else nobody


def _cut_column(paragraphs: pa.ListArray, cut: Cut) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each passage the row of its page, its number on that page, and its text."""
    if cut.way == "words" and not cut.keep_lists:
        return word_columns(paragraphs, cut.length)
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
    if Path(str(out).removesuffix(".gz")).suffix != ".jsonl":
        rows = ((str(n), p.text, p.title) for n, p in enumerate(cut_passages(base, cut), 1))
        return write_lines(out, _tsv_lines(rows)) - 1
    if cut.way != "kilt":
        return write_json_lines(out, cut_passages(base, cut))
    sentences = _splitter(cut.sentences, cut.language)
    return write_json_lines(out, chunk_records(base, size=cut.length, sentences=sentences))


def export_psgs(base: str | Path, out: str | Path) -> dict[str, int]:
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


_WAVE = 64  # Row groups whose passages are on disk at a time


class PageGroup(msgspec.Struct, frozen=True):
    """A row group of the pages, the checksums of its file, and where its passages go."""

    file: Path
    sums: str
    group: int
    target: Path


def cut_group(cut: Cut, only: frozenset[str] | None, kind: str | None, task: PageGroup) -> int:
    """What a worker does with one row group; how many pages were read."""
    read, writer = 0, None
    Blocks(task.file, task.sums)(column_ranges(task.file, READ, [task.group]))
    with pq.ParquetFile(task.file) as file:
        for batch in file.iter_batches(BATCH, row_groups=[task.group], columns=READ):
            passages = cut_rows(batch, cut, only=only, kind=kind)
            writer = writer or pa.ipc.new_file(str(task.target), passages.schema)
            writer.write_batch(passages)
            read += batch.num_rows
    if writer is not None:
        writer.close()
    return read


def cut_on_workers(
    engine: Engine, kb: Folder, work: Callable[[PageGroup], int], advance: Advance
) -> Iterator[pa.RecordBatch]:
    """Passages in the order of their pages; this process only hands them on."""
    for tasks in blocks(_groups(engine, kb), _WAVE):
        for task, read in zip(tasks, engine.spread(work, tasks), strict=True):
            with pa.ipc.open_file(pa.memory_map(str(task.target))) as passages:
                for number in range(passages.num_record_batches):
                    yield passages.get_batch(number)
            task.target.unlink()
            advance(read)


def _groups(engine: Engine, kb: Folder) -> Iterator[PageGroup]:
    for part, file in enumerate(kb.parts("pages", whole=False)):
        for group in range(pq.read_metadata(file).num_row_groups):
            target = engine.scratch / f"cut-{part:05}-{group:05}.arrow"
            yield PageGroup(file.resolve(), kb.manifest.files[file.name].crc32, group, target)


def cut_corpus(
    kb: Folder,
    cut: Cut,
    *,
    only: Collection[str] | None = None,
    kind: str | None = None,
    engine: Engine | None = None,
) -> pa.RecordBatchReader:
    """The passages of all pages, of those in `only`, or of one kind, as a benchmark keeps them and in its order.

    They are cut as they are read, by an engine's workers where it has such: a corpus may be larger than memory.
    """
    return pa.RecordBatchReader.from_batches(PASSAGES.schema, _batches(kb, cut, only, kind, engine))


def origin_of(kb: Folder, cut: Cut, kind: str | None = None) -> dict[str, object] | None:
    """What a corpus of all pages, or of one kind, is made of; None where a file or model beside it has a part in it."""
    if cut.tokenizer != "whitespace" or cut.sentences != "plain":
        return None
    return {"knowledge base": kb.content_hash, "cut": msgspec.to_builtins(cut), "kind": kind}


ARTICLE = "article"  # The kind of pages that are about something


def article_pages(kb: Folder) -> set[str]:
    """The pages that are about something: all but those that only list namesakes."""
    pages = kb.table("pages", ["page", "kind"])
    return set(pages.filter(pc.equal(pages["kind"], ARTICLE))["page"].to_pylist())


def _batches(
    kb: Folder, cut: Cut, only: Collection[str] | None, kind: str | None, engine: Engine | None
) -> Iterator[pa.RecordBatch]:
    pages = kb.rows("pages")
    with progress("cutting", pages, "pages") as advance:
        batches = cut_batches(kb, cut, only=only, kind=kind, advance=advance)
        if engine is not None and engine.shared:
            work = partial(cut_group, cut, None if only is None else frozenset(only), kind)
            batches = cut_on_workers(engine, kb, work, advance)
        for batch in batches:
            number = batch["n"].cast(pa.string())
            columns = {
                **{name: batch[name] for name in batch.schema.names},
                "entity": owners(batch["entity"], kb),
                "id": pc.binary_join_element_wise(batch["page"], number, PASSAGE_MARK),
                **{name: pa.nulls(batch.num_rows, pa.string()) for name in ("source_id", "fields")},
            }
            yield pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema)
