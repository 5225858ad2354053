"""Writes a corpus: passages as they come, then its pages, its names, and where each is found."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import (
    KIND,
    NAMES,
    PAGES,
    PASSAGES,
    Corpus,
    page_rows,
    remember,
    with_all_columns,
    with_passage_counts,
)
from whichone.corpus.page_names import Named, key_hashes, names_of_page
from whichone.corpus.passage_files import (
    PassageFields,
    PassageLayout,
    is_documents,
    occurs_twice,
    read_records,
)
from whichone.errors import BadInput
from whichone.files.arrow_records import blocks, merged, write_run
from whichone.files.compressed import DAMAGE
from whichone.files.folder import Folder
from whichone.files.lines import (
    check_names,
    decode_line,
    open_binary,
    read_rows,
    tab_fields,
    table_record,
)
from whichone.files.manifest import MANIFEST
from whichone.files.mapped import (
    BATCH,
    Hashes,
    HashIndex,
    MappedTable,
    Rows,
    hashes,
    run_starts,
    write_mapped,
)
from whichone.files.pools import available_cores, run_jobs
from whichone.files.tables import TableSchema, sort_rows
from whichone.names import token_key
from whichone.progress import progress
from whichone.records import PASSAGE_MARK, Passage, page_of

# The names of a corpus' pages: found by all cores in blocks of pages, sorted on disk.


PageNames = Iterable[tuple[str, Named]]
"""Names beyond titles and first sentences, each with the page that it points at."""

BLOCK = 2 * BATCH
"""Pages whose names one worker looks for at a time."""

_PART = 50_000
_MERGED = 131_072


@dataclass(frozen=True)
class Pages:
    """Pages by their rows, from the first to before the end."""

    number: int
    first: int
    end: int

    def __str__(self) -> str:
        return f"pages {self.first:,} to {self.end - 1:,}"


class NameRunMaker:
    """Writes the names of some pages, sorted; the tables of the corpus are mapped."""

    def __init__(self, folder: Path, language: str) -> None:
        self._folder = folder
        self._language = language

    @functools.cached_property
    def _tables(self) -> tuple[MappedTable, MappedTable]:
        """Opened where it is used, once a process."""
        names = ("pages.arrow", "passages.arrow")
        return tuple(MappedTable.open(self._folder / name) for name in names)  # type: ignore[return-value]

    def __call__(self, job: Pages) -> None:
        pages, passages = self._tables
        block = pages.slice(job.first, job.end - job.first, ["title", "first"])
        rows = NameRows()
        titles = block["title"].to_pylist()
        firsts = block["first"].to_numpy().tolist()
        for page, (title, first) in enumerate(zip(titles, firsts, strict=True), job.first):
            text = passages.strings([first], "text")[0]
            for named in names_of_page(title or "", text, self._language):
                rows.add(page, named)
        write_run(own_names(self._folder, job.number), rows.table(), NAMES)


class NameRows:
    """Columns of names."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, int, str, int]] = []

    def add(self, page: int, named: Named) -> None:
        self._rows.append((token_key(named.name), named.name, page, named.kind, named.count))

    def __len__(self) -> int:
        return len(self._rows)

    def table(self) -> pa.Table:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(NAMES.schema)
        return NAMES.from_columns(dict(zip(NAMES.schema.names, columns, strict=True)))


def write_names(folder: Path, corpus: Corpus, more: PageNames) -> int:
    """Write `names.arrow` beside the tables of pages and passages; how many names.

    Runs that a killed writer completed are used again.
    """
    target = folder / "names.arrow"
    if target.exists():
        return len(MappedTable.open(target))
    starts = range(0, corpus.page_count, BLOCK)
    jobs = [Pages(n, s, min(s + BLOCK, corpus.page_count)) for n, s in enumerate(starts)]
    missing = [job for job in jobs if not own_names(folder, job.number).exists()]
    with progress("names", corpus.page_count, "pages") as advance:
        advance(sum(job.end - job.first for job in jobs) - sum(j.end - j.first for j in missing))
        maker = NameRunMaker(folder, corpus.language)
        for job, _ in run_jobs(maker, missing, min(available_cores(), len(missing))):
            advance(job.end - job.first)
    runs = [own_names(folder, job.number) for job in jobs]
    runs += _further_names(folder, corpus, more)
    batches = (batch for table in merged(runs, NAMES, _MERGED) for batch in table.to_batches())
    count = write_mapped(target, batches, NAMES.schema)
    for run in runs:
        run.unlink()
    return count


def own_names(folder: Path, number: int) -> Path:
    return folder / f".names-{number:06}.arrow"


def _further_names(folder: Path, corpus: Corpus, more: PageNames) -> Iterator[Path]:
    rows, number = NameRows(), 0
    for part in blocks(more, BATCH):
        known = corpus.page_rows([page for page, _ in part])
        for row, (_, named) in zip(known, part, strict=True):
            if row is not None and named.name.strip():
                rows.add(row, named)
        if len(rows) >= _PART:
            yield _written(folder, number, rows)
            rows, number = NameRows(), number + 1
    if len(rows):
        yield _written(folder, number, rows)


def _written(folder: Path, number: int, rows: NameRows) -> Path:
    path = folder / f".further-names-{number:06}.arrow"
    write_run(path, rows.table(), NAMES)
    return path


# Passages of a file of any length: read by all cores in blocks of lines, sorted on disk, numbered on their pages.


PASSAGE_RUNS_BLOCK = 16 << 20
"""Bytes of lines that one worker reads at a time."""

_RECORDS = 20_000

Header = tuple[int, list[str]]

_text = pa.string()
UNNUMBERED = TableSchema(
    "passages",
    pa.schema(
        [
            ("page", _text),
            ("place", pa.int64()),  # the line, or the number on the page where it is known
            ("title", _text),
            ("text", _text),
            ("source_id", _text),
            ("entity", _text),
        ]
    ),
    ("page", "place"),
)


class Lines(msgspec.Struct, frozen=True):
    """Whole lines of a file, the first of which has this number."""

    number: int
    first: int
    data: bytes

    def __str__(self) -> str:
        return f"the lines from {self.first:,} on"


class Records(msgspec.Struct, frozen=True):
    """Records with their lines, or passages with their numbers, where a file is not cut by lines."""

    number: int
    records: Sequence[tuple[int, Any]]

    def __str__(self) -> str:
        return f"records from {self.records[0][0]:,} on"


class PassageRunMaker:
    """Writes the passages of a block as a sorted run."""

    def __init__(self, layout: PassageLayout, header: Header | None, folder: Path) -> None:
        self._layout, self._header, self._folder = layout, header, folder

    def __call__(self, job: Lines | Records) -> int:
        records = self._records(job) if isinstance(job, Lines) else job.records
        rows = [_row(line, self._passage(record, line)) for line, record in records]
        columns = list(zip(*rows, strict=True)) or [()] * len(UNNUMBERED.schema)
        table = UNNUMBERED.from_columns(dict(zip(UNNUMBERED.schema.names, columns, strict=True)))
        write_run(run_file(self._folder, job.number), table, UNNUMBERED)
        return len(rows)

    def _passage(self, record: Any, line: int) -> Any:
        return record if isinstance(record, Passage) else self._layout.passage(record, line)

    def _records(self, job: Lines) -> Iterator[tuple[int, Any]]:
        decoder, path = msgspec.json.Decoder(), self._layout.file
        for line, raw in enumerate(job.data.split(b"\n"), job.first):
            raw = raw.removesuffix(b"\r")
            if self._header is None:
                if raw.strip():
                    yield line, decode_line(decoder, raw, path, line)
            elif raw and line > self._header[0]:
                row = tab_fields(_decoded(raw, path, line))
                yield line, table_record(self._header[1], row, path, line)


def _row(line: int, passage: Any) -> tuple[str, int, str, str, str | None, str | None]:
    if isinstance(passage, Passage):
        return (
            passage.page, line, passage.title, passage.text, passage.source_id, passage.entity,
        )  # fmt: skip
    return passage.page, line, passage.title, passage.text, passage.own, passage.entity


def _decoded(raw: bytes, path: Path, line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"not UTF-8: {error}", file=path, line=line, hint="save it as UTF-8"
        ) from error


class FilePassages:
    """The passages of a file, a BEIR folder or a folder of documents, for `save_corpus`."""

    def __init__(
        self, path: str | Path, fields: PassageFields | None = None, source: str = "corpus"
    ) -> None:
        self.path = Path(path)
        self._fields, self._source = fields or PassageFields(), source

    def __call__(self, folder: Path) -> Iterator[pa.RecordBatch]:
        """Batches in the order of page and number; whoever has written them removes the runs from the folder.

        Runs that a killed reader completed are not made again.
        """
        rows = 0
        for table in merged(self._runs(folder), UNNUMBERED):
            rows += table.num_rows
            yield from numbered(table).to_batches()
        if not rows:
            raise BadInput("there are no passages", file=self.path)

    def origin(self) -> dict[str, Any]:
        """What decides the passages, without reading them."""
        files = (
            [p for p in sorted(self.path.rglob("*")) if p.is_file()]
            if self.path.is_dir()
            else [self.path]
        )
        states = [(str(file), file.stat()) for file in files]
        return {
            "files": [[name, state.st_size, state.st_mtime_ns] for name, state in states],
            "fields": msgspec.to_builtins(self._fields),
            "source": self._source,
            "block": PASSAGE_RUNS_BLOCK,
        }

    @functools.cached_property
    def _layout(self) -> PassageLayout:
        if is_documents(self.path):
            return PassageLayout(self.path, self._fields, self._source)
        return PassageLayout.of(self.path, self._fields, self._source)

    def _runs(self, folder: Path) -> list[Path]:
        header = _header(self._layout.file) if _is_table(self._layout.file) else None
        maker = PassageRunMaker(self._layout, header, folder)
        jobs = self._jobs()
        few = list(itertools.islice(jobs, 2))
        count = len(few)
        with progress("reading", None, "passages") as advance:

            def missing() -> Iterator[Lines | Records]:
                nonlocal count
                for job in itertools.chain(few, jobs):
                    count = job.number + 1
                    if not run_file(folder, job.number).exists():
                        yield job

            workers = available_cores() if len(few) > 1 else 1
            for _, rows in run_jobs(maker, missing(), workers):
                advance(rows)
        return [run_file(folder, number) for number in range(count)]

    def _jobs(self) -> Iterator[Lines | Records]:
        file = self._layout.file
        if is_documents(self.path):
            from whichone.corpus.passage_files import read_documents

            passages = read_documents(self.path, entity=self._fields.entity, source=self._source)
            return _blocks_of_records((_number(p), p) for p in passages)
        if _kind(file) in (".csv", ".json"):
            return _blocks_of_records(read_records(file))
        return _blocks_of_lines(file)

    def named_twice(self, own: str) -> BadInput:
        """The error for an id that two passages have, with the line of the second."""
        seen = False
        for line, record in read_records(self._layout.file):
            if self._layout.passage(record, line).own == own:
                if seen:
                    return occurs_twice(own, self._layout.file, line)
                seen = True
        return occurs_twice(own, self._layout.file, None)


def _number(passage: Passage) -> int:
    return int(passage.id.rpartition(PASSAGE_MARK)[2])


def _kind(path: Path) -> str:
    suffixes = [s for s in path.suffixes if s not in (".gz", ".bz2", ".zst")]
    return suffixes[-1] if suffixes else ""


def _is_table(path: Path) -> bool:
    return _kind(path) == ".tsv"


def _header(path: Path) -> Header | None:
    """The names of a TSV file's columns, and their line."""
    for line, names in read_rows(path, "\t"):
        check_names(names, path, line)
        return line, names
    return None


def _blocks_of_lines(path: Path) -> Iterator[Lines]:
    line, rest = 1, b""
    with open_binary(path) as file:
        for number in itertools.count():
            try:
                data = file.read(PASSAGE_RUNS_BLOCK)
            except (BadInput, OSError, *DAMAGE) as error:
                raise BadInput(
                    f"damaged after line {line}: {getattr(error, 'message', error)}",
                    file=path,
                    line=line,
                    hint="the file is truncated or not what its first bytes say; fetch it again",
                ) from error
            block = rest + data
            if number == 0:
                block = block.removeprefix(BOM_UTF8)
            if not data:
                if block:
                    yield Lines(number, line, block)
                return
            cut = block.rfind(b"\n") + 1
            rest = block[cut:]
            yield Lines(number, line, block[:cut])
            line += block.count(b"\n")


def _blocks_of_records(records: Iterable[tuple[int, Any]]) -> Iterator[Records]:
    iterator = iter(records)
    for number in itertools.count():
        block = list(itertools.islice(iterator, _RECORDS))
        if not block:
            return
        yield Records(number, block)


def run_file(folder: Path, number: int) -> Path:
    return folder / f".passages-{number:06}.arrow"


def remove_runs(folder: Path) -> None:
    for run in folder.glob(".passages-*.arrow"):
        run.unlink()


def numbered(table: pa.Table) -> pa.Table:
    """Passages of whole pages in their order, with numbers and ids."""
    pages = table["page"].combine_chunks()
    starts = run_starts(pages)
    counts = np.diff(starts, append=len(pages))
    n = np.arange(len(pages)) - np.repeat(starts, counts)
    number = pa.array(n.astype(np.int32))
    columns = {
        "id": pc.binary_join_element_wise(pages, number.cast(_text), PASSAGE_MARK),
        "page": pages,
        "n": number,
        "title": table["title"],
        "text": table["text"],
        "source_id": table["source_id"],
        "entity": table["entity"],
        "fields": pa.nulls(len(pages), _text),
    }
    return pa.Table.from_pydict(columns, schema=PASSAGES.schema)


# Writes a corpus: passages as they come, then its pages, its names, and where each is found.


Passages: TypeAlias = "pa.Table | pa.RecordBatchReader | FilePassages | Iterable[Passage]"


def save_corpus(
    path: str | Path,
    passages: Passages,
    *,
    name: str = "corpus",
    names: PageNames = (),
    language: str = "",
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    parents: Mapping[str, str] | None = None,
    counts: Mapping[str, Any] | None = None,
    origin: Mapping[str, Any] | None = None,
    remembered: bool = True,
) -> Corpus:
    """Write a corpus; passages that come as a reader come in the order of page and number.

    `language` decides how names are read from first sentences and how retrievers read the texts; English
    where it is not given. `origin` describes exactly what the passages and names come from: a call that was killed is continued by the next
    one of the same origin, which does not read what is complete again. Not `remembered`, it is not found by its hash.
    """
    with Folder.create(path, KIND, resume=origin is not None) as folder, _no_rest_of_errors(folder):
        if origin is not None:
            continue_or_start(folder, origin)
        batches = _in_order(passages, folder.partial)
        rows = _stage(folder, "passages.arrow", batches, PASSAGES.schema)
        remove_runs(folder.partial)
        table = MappedTable.open(folder.partial / "passages.arrow")
        with ThreadPoolExecutor(
            1
        ) as beside:  # checksums of the largest file, while others are made
            adopted = beside.submit(folder.adopt, "passages.arrow", rows=rows)
            pages = _write_pages(folder, table)
            _write_sources(folder, table, passages)
            known = _write_names(folder, table, pages, names, language)
            _wait(adopted)
        folder.commit(
            name=name,
            parameters={**(parameters or {}), **({"language": language} if language else {})},
            sources=sources,
            parents=parents,
            counts={"passages": rows, "pages": len(pages), "names": known, **(counts or {})},
        )
    corpus = Corpus.open(path)
    if remembered:
        remember(corpus)
    return corpus


def continue_or_start(folder: Folder, origin: Mapping[str, Any]) -> None:
    """Keep what a killed writer of the very same corpus left; remove what another left."""
    begun = {"origin": dict(origin)}
    if begun not in folder.journal.read():
        shutil.rmtree(folder.partial)
        folder.partial.mkdir()
        folder.journal.append(begun)


@contextlib.contextmanager
def _no_rest_of_errors(folder: Folder) -> Iterator[None]:
    """Of input that is refused nothing is kept: mended, it is another input."""
    try:
        yield
    except BadInput:
        shutil.rmtree(folder.partial, ignore_errors=True)
        raise


def _wait(adopted: Future[None]) -> None:
    adopted.result()


def _stage(folder: Folder, file: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write a table unless a killed writer has completed it; how many rows."""
    path = folder.partial / file
    if path.exists():
        return len(MappedTable.open(path))
    return write_mapped(path, batches, schema)


def _in_order(passages: Passages, folder: Path) -> Iterator[pa.RecordBatch]:
    if isinstance(passages, FilePassages):
        yield from passages(folder)
        return
    if isinstance(passages, pa.RecordBatchReader):
        for batch in passages:
            if batch.schema.equals(PASSAGES.schema):
                yield batch
            else:
                yield from with_all_columns(pa.Table.from_batches([batch])).to_batches()
        return
    table = passages if isinstance(passages, pa.Table) else passage_rows(passages)
    yield from sort_rows(with_all_columns(table), PASSAGES).combine_chunks().to_batches(BATCH)


def passage_rows(passages: Iterable[Passage]) -> pa.Table:
    return PASSAGES.from_rows(
        [
            {
                "id": p.id,
                "page": p.page,
                "n": int(p.id.rpartition("#")[2]) if page_of(p.id) != p.id else 0,
                "title": p.title,
                "text": p.text,
                "source_id": p.source_id,
                "entity": p.entity,
            }
            for p in passages
        ]
    )


def _write_pages(folder: Folder, passages: MappedTable) -> MappedTable:
    blocks = page_rows(passages.batches(["page", "title"]))
    batches = with_passage_counts(_checked(blocks), len(passages))
    rows = _stage(folder, "pages.arrow", batches, PAGES.schema)
    folder.adopt("pages.arrow", rows=rows)
    pages = MappedTable.open(folder.partial / "pages.arrow")
    _adopt_index(folder, "page", column_hashes(pages, "page"))
    return pages


def _checked(blocks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Pages follow one another in order; one that comes twice was interrupted by another."""
    last = None
    for block in blocks:
        pages: list[str] = block["page"].to_pylist()
        for before, page in zip([last, *pages], pages, strict=False):
            if before is not None and page <= before:
                raise BadInput(
                    f"passages are not in the order of their pages: {page} comes after {before}",
                    ids=[page],
                )
        last = pages[-1]
        yield block


def _write_sources(folder: Folder, passages: MappedTable, given: Passages) -> None:
    """Where passages are found by their own ids, in corpora that have such."""
    if all(b["source_id"].null_count == b.num_rows for b in passages.batches(["source_id"])):
        return
    for first, second in _adopt_index(folder, "source", column_hashes(passages, "source_id")):
        own = passages.value(int(first), "source_id")
        # AmbigDocs' files give one pid to two texts; only a file of passages must not
        if isinstance(given, FilePassages) and own == passages.value(int(second), "source_id"):
            raise given.named_twice(own)


def _write_names(
    folder: Folder, passages: MappedTable, pages: MappedTable, more: PageNames, language: str
) -> int:
    corpus = Corpus(passages, hash="", language=language)
    corpus.page_table = pages
    corpus.page_index = HashIndex.open(folder.partial, "page")
    count = write_names(folder.partial, corpus, more)
    folder.adopt("names.arrow", rows=count)
    _adopt_index(folder, "name", key_hashes(MappedTable.open(folder.partial / "names.arrow")))
    return count


def column_hashes(table: MappedTable, column: str) -> Iterator[tuple[Hashes, Rows]]:
    """The hash of every value with its row; missing values have none."""
    start = 0
    for batch in table.batches([column]):
        values = batch[column]
        rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)) + start
        yield hashes(values.drop_null().to_pylist()), rows
        start += batch.num_rows


def _adopt_index(folder: Folder, name: str, values: Iterable[tuple[Hashes, Rows]]) -> list[Rows]:
    files, shared = HashIndex.write(folder.partial, name, values)
    for file in files:
        folder.adopt(file)
    return shared


def put_corpus(corpus: Corpus, place: Path) -> None:
    """The same corpus in another folder: linked where the file system allows it, else copied."""
    if corpus.folder is None:
        save_corpus(place, corpus.passages, name=corpus.name, language=corpus.language)
        return
    place.mkdir(parents=True, exist_ok=True)
    for name in (*corpus.folder.manifest.files, MANIFEST):
        (place / name).unlink(missing_ok=True)
        try:
            os.link(corpus.folder.root / name, place / name)
        except OSError:
            shutil.copyfile(corpus.folder.root / name, place / name)
