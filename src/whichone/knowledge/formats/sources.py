"""What `ingest` asks of a source, whatever its kind, and what sources share."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.manifest import BlockHashes, content_hash
from whichone.files.parts import (
    ByteRange,
    RecordChunk,
    beginning,
    passed_through,
    path_compression,
    plan_parts,
    read_part,
    stream_parts,
)
from whichone.files.tables import TableSchema, array_of
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.wiki_site import as_utf8
from whichone.progress import talk

if TYPE_CHECKING:
    from whichone.knowledge.merge import Work


class RefusedRecord(msgspec.Struct, frozen=True):
    """A record that could not be read.

    `byte` is the place in the file of the block that contains it (compressed, in a bzip2 file),
    `within` its place in that block. A catalogue's rows have no byte; the problem names the row.
    """

    file: str
    byte: int | None
    within: int
    problem: str

    def error(self) -> BadInput:
        place = f" (at byte {self.byte}" + (f", {self.within} bytes on)" if self.within else ")")
        return BadInput(
            self.problem + (place if self.byte is not None else ""),
            file=self.file,
            hint="--on-error skip counts and lists such records instead; what was finished is kept",
        )


class PartJob(msgspec.Struct, frozen=True):
    """One part of one source; `chunks` are its records where a single reader has to cut them."""

    source: int
    range: ByteRange
    chunks: Iterable[RecordChunk] | None = None
    repack: Path | None = None  # where its records go as zstd
    spool: Path | None = None  # where its chunks are, pickled, for a worker on another machine


class Read(msgspec.Struct):
    tables: dict[str, pa.Table]
    counts: Mapping[str, int]
    refused: list[RefusedRecord] = []


PartFiles: TypeAlias = "Work"  # The finished parts of one source, as SQL can read them


class Source(Protocol):
    """One file (or folder) that is taken in; pickled to the workers."""

    kind: str
    path: Path

    def parameters(self) -> dict[str, Any]:
        """What besides its bytes decides the rows."""

    def check(self) -> None:
        """Raise an error if the file is of another kind."""

    def fingerprint(self, hashes: BlockHashes | None = None) -> dict[str, Any]:
        """Hash and size of the bytes; `hashes` computes those of blocks elsewhere."""

    def jobs(self, number: int) -> Iterator[PartJob]: ...

    def behind(self, finished: Sequence[ByteRange]) -> int:
        """How many bytes of the file are behind the reader."""

    def read(self, job: PartJob) -> Read: ...

    def finish(self, parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
        """For each table, a query whose rows go into it."""


class DumpFile:
    """A source that is one file of records with a delimiter after each."""

    kind = ""
    delimiter = b"\n"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._stream: IO[bytes] | None = None
        self._consumed = 0

    def fingerprint(self, hashes: BlockHashes | None = None) -> dict[str, Any]:
        return {"sha256": content_hash(self.path, hashes), "bytes": self.path.stat().st_size}

    def jobs(self, number: int) -> Iterator[PartJob]:
        if path_compression(self.path) in ("plain", "bz2"):
            for part in plan_parts(self.path):
                yield PartJob(number, part)
            return
        with self.path.open("rb", buffering=0) as self._stream:
            for part, chunks in stream_parts(self.path, self._stream, self.delimiter):
                yield PartJob(number, part, chunks)
                self._consumed = self._stream.tell()

    def behind(self, finished: Sequence[ByteRange]) -> int:
        return max(self._consumed, sum(part.end - part.start for part in finished))

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {**kept, "_stream": None, "_consumed": 0}

    def chunks(self, job: PartJob) -> Iterable[RecordChunk]:
        given = job.chunks
        results = read_part(self.path, job.range, self.delimiter) if given is None else given
        return passed_through(results, job.repack) if job.repack else results

    def refuse(self, chunk: RecordChunk, refused: Iterable[tuple[int, str]]) -> Iterator[RefusedRecord]:
        """A chunk's refused records, with its place in the file."""
        exact = path_compression(self.path) != "bz2"
        for within, problem in refused:
            byte, rest = (chunk.offset + within, 0) if exact else (chunk.offset, within)
            yield RefusedRecord(str(self.path), byte, rest, problem)
        if chunk.problem:
            yield RefusedRecord(str(self.path), chunk.offset, 0, chunk.problem)


def key_of(source: Source, fingerprint: Mapping[str, Any]) -> str:
    """The name of a source's parts: the same bytes read in the same way have the same key."""
    described = {"kind": source.kind, "of": dict(fingerprint), "how": source.parameters()}
    return hashlib.sha256(msgspec.json.encode(described, order="sorted")).hexdigest()[:16]


def joined(tables: Sequence[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    names = tables[0].keys() if tables else ()
    return {name: pa.concat_tables([t[name] for t in tables]) for name in names}


class PartRows:
    """Rows by table, in dump order; the same for a process pool and for Spark."""

    def __init__(self, *schemas: TableSchema) -> None:
        self._schemas = {schema.name: schema for schema in schemas}
        self._rows: dict[str, list[Mapping[str, Any]]] = {schema.name: [] for schema in schemas}
        self._given: dict[str, pa.Table] = {}
        self.counts: Counter[str] = Counter()
        self.refused: list[tuple[int, str]] = []  # byte offset in the stretch, what is wrong

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        self._rows[table].append(row)

    def give(self, table: str, rows: pa.Table) -> None:
        self._given[table] = rows

    def refuse(self, offset: int, reason: str) -> None:
        self.refused.append((offset, reason))

    def tables(self) -> dict[str, pa.Table]:
        return {n: s.from_rows(self._rows[n]) for n, s in self._schemas.items()} | self._given


_PACK = 50_000


class Columns:
    """A table under construction; `add` takes one row in the order of the schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._packed: list[pa.RecordBatch] = []
        self._rows: list[tuple[object, ...]] = []

    def add(self, row: tuple[object, ...]) -> None:
        self.extend((row,))

    def extend(self, rows: Sequence[tuple[object, ...]]) -> None:
        self._rows += rows
        if len(self._rows) >= _PACK:
            self._pack()

    def table(self) -> pa.Table:
        self._pack()
        return pa.Table.from_batches(self._packed, schema=self.schema)

    def _pack(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [array_of(c, f) for c, f in zip(columns, self.schema, strict=True)]
            self._packed.append(pa.RecordBatch.from_arrays(arrays, schema=self.schema))
            self._rows = []


def pages_source(path: str | Path, language: str | None = None) -> Source:
    """The source of a file of pages: a MediaWiki dump or KILT's knowledge source, by its bytes.

    A dump says its own language; one that is given wins over it.
    """
    from whichone.knowledge.formats.kilt_source import KiltSource
    from whichone.knowledge.formats.wikipedia import WikipediaDump

    start = as_utf8(beginning(Path(path))).lstrip()
    if b"<mediawiki" in start[:1000]:
        return WikipediaDump(path, language)
    if start.startswith(b"{"):
        own = language or "en"
        return KiltSource(path, f"{own}wiki", own)
    raise BadInput(
        "this is neither a MediaWiki XML dump nor KILT's knowledge source",
        file=path,
        hint="give …-pages-articles.xml.bz2 or kilt_knowledgesource.json",
    )


def read_chunks(source: DumpFile, job: PartJob, read: Callable[[bytes, int], PartRows]) -> Read:
    """All chunks of a part, read one after another; `read` takes bytes and the first position."""
    tables, position = [], 0
    refused: list[RefusedRecord] = []
    counts: Counter[str] = Counter()
    for chunk in source.chunks(job):
        part = read(chunk.data, position)
        tables.append(part.tables())
        counts.update(part.counts)
        position = counts["positions"]
        refused.extend(source.refuse(chunk, part.refused))
    if not tables:
        tables.append(read(b"", 0).tables())
    counts["positions"] = position
    return Read(joined(tables), counts, refused)


def finish_pages(parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
    """A page that appears in the dump several times is kept once, where it appears first."""
    rows = parts.rows("pages")
    if repeated := queries.fetch(f"select count(*) - count(distinct page) from ({rows})")[0][0]:
        parts.notes["duplicate pages"] = repeated
        talk(f"{repeated:,} pages appear more than once; of each, the first is kept")
        first = f"select page, min(position) as position from ({rows}) group by page"
        rows = f"select p.* from ({rows}) p semi join ({first}) f using (page, position)"
    return {"pages": rows, "links": parts.rows("links")}
