"""Passages of a file of any length: read by all cores in blocks of lines, sorted on disk, numbered on their pages."""

from __future__ import annotations

import functools
import itertools
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.passage_files import (
    PassageFields,
    PassageLayout,
    is_documents,
    occurs_twice,
    read_records,
)
from whichone.corpus.tables import PASSAGES
from whichone.errors import BadInput
from whichone.files.arrow_records import merged, write_run
from whichone.files.compressed import DAMAGE
from whichone.files.lines import (
    check_names,
    decode_line,
    open_binary,
    read_rows,
    tab_fields,
    table_record,
)
from whichone.files.mapped import run_starts
from whichone.files.pools import available_cores, run_jobs
from whichone.files.tables import TableSchema
from whichone.progress import progress
from whichone.records import PASSAGE_MARK, Passage

BLOCK = 16 << 20
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
            "block": BLOCK,
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
            from whichone.corpus.documents import read_documents

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
                data = file.read(BLOCK)
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
