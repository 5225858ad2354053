"""A catalogue as a source: its rows are read by one reader and handed out in batches."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput, did_you_mean, sample
from whichone.files.documents import document_files
from whichone.files.folder import file_hash
from whichone.files.lines import open_binary, read_json, read_json_lines
from whichone.files.parts import ByteRange, Chunk
from whichone.files.separated import read_rows, read_table_rows
from whichone.files.tables import connect
from whichone.knowledge.readers.catalogue import Catalogue, CatalogueReader, read_catalogue
from whichone.knowledge.readers.catalogue_documents import (
    DocumentReader,
    nobodys_documents,
    other_documents,
    with_owners,
)
from whichone.knowledge.sources.source import Job, PartFiles, Read, Refused
from whichone.progress import talk

_BATCH = 20_000
_FILES = 200
"""Documents that are read at once."""


class CatalogueSource:
    kind = "catalogue"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return CatalogueSource, (self.path,)

    @cached_property
    def catalogue(self) -> Catalogue:
        return read_catalogue(self.path)

    @cached_property
    def _reader(self) -> CatalogueReader:
        return CatalogueReader(self.catalogue, self.path.parent)

    @property
    def data(self) -> Path:
        return self.path.parent / self.catalogue.file

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.catalogue)
        return found

    def check(self) -> None:
        """The columns that the TOML file names must be there."""
        texts, listed = self._reader.folder, self._listed_documents
        if texts is not None and not texts.is_dir():
            raise BadInput("there is no such folder of documents", file=texts)
        if texts is not None and self.catalogue.documents.owner:
            document_files(texts)
        if listed is not None:
            self._check_columns(listed, msgspec.structs.astuple(self.catalogue.documents.columns))
        first = next(self._rows(), None)
        if first is None:
            raise BadInput("the catalogue has no rows", file=self.data)
        self._check_columns(self.data, self.catalogue.wanted())

    def _check_columns(self, data: Path, wanted: Sequence[str]) -> None:
        if data.name.endswith((".jsonl", ".json", ".ndjson", ".jsonl.gz", ".jsonl.zst")):
            return  # a record may leave out what it does not know
        first = next(self._rows(data), {})
        for column in wanted:
            if column not in first:
                raise BadInput(
                    f"there is no column {column!r}, which {self.path.name} names",
                    file=data,
                    hint=did_you_mean(column, first),
                )

    def fingerprint(self) -> dict[str, Any]:
        found = {"sha256": file_hash(self.data), "bytes": self.data.stat().st_size}
        if self._reader.folder is not None:
            digest = hashlib.sha256()
            for file in self._all_documents():
                digest.update(
                    f"{file.relative_to(self._reader.folder)}\0{file_hash(file)}\n".encode()
                )
            found["documents"] = digest.hexdigest()
        if self._listed_documents is not None:
            found["table of documents"] = file_hash(self._listed_documents)
        return found

    @property
    def _listed_documents(self) -> Path | None:
        file = self.catalogue.documents.file
        return self.path.parent / file if file else None

    def _all_documents(self) -> list[Path]:
        folder = self._reader.folder
        return document_files(folder) if folder is not None and any(folder.iterdir()) else []

    def jobs(self, number: int) -> Iterator[Job]:
        first, ids = 0, set[str]()
        for part, (kind, batch) in enumerate(self._batches(ids)):
            chunk = Chunk(first, msgspec.json.encode({kind: batch}))
            yield Job(number, ByteRange(part, first, first), [chunk])
            first += len(batch)

    def _batches(self, ids: set[str]) -> Iterator[tuple[str, list[Any]]]:
        """Rows of the catalogue first; then documents, which may belong to any row or to none."""
        column, texts = self.catalogue.columns.id, self._reader.texts
        rows, part = self._rows(), 0
        while (batch := list(itertools.islice(rows, _BATCH))) or not part:
            if texts is not None:
                ids.update(str(row.get(column)) for row in batch)
            yield "rows", batch
            part += 1
        if self._listed_documents is not None:
            listed = self._rows(self._listed_documents)
            while batch := list(itertools.islice(listed, _BATCH)):
                yield "documents", batch
        if self._reader.folder is None or not self._all_documents():
            return
        apart = other_documents(self._reader.folder, self.catalogue.documents)
        nobodys = nobodys_documents(texts, ids) if texts is not None else iter(())
        files = itertools.chain(map(str, apart), map(str, nobodys))
        while names := list(itertools.islice(files, _FILES)):
            yield "files", names

    def behind(self, finished: Sequence[ByteRange]) -> int:
        return 0

    def read(self, job: Job) -> Read:
        chunk = next(iter(job.chunks or ()))
        ((kind, batch),) = msgspec.json.decode(chunk.data).items()
        if kind == "rows":
            tables, counts, refused = self._reader.read(batch, chunk.offset)
        else:
            documents = DocumentReader(
                self.catalogue.name, self._reader.folder or Path(), self.catalogue.documents
            )
            read = documents.read_rows if kind == "documents" else documents.read_files
            pages, counts, refused = read(batch, chunk.offset)
            tables = {"documents": pages}
        file = self.data if kind == "rows" else self._listed_documents or self.data
        listed = [Refused(str(file), None, 0, problem) for _, problem in refused]
        return Read(tables, counts, listed)

    def finish(self, parts: PartFiles, memory: str) -> dict[str, str]:
        with connect(memory, parts.folder) as connection:
            twice = connection.sql(
                f"select entity from ({parts.rows('entities')}) group by entity having count(*) > 1 "
                "order by entity limit 20"
            ).fetchall()
        if twice:
            raise BadInput(
                "ids stand in it twice", file=self.data, ids=[entity for (entity,) in twice]
            )
        self._tell_of_unused(parts, memory)
        tables = ("entities", "names", "facts", "properties", "pages", "views")
        found = {table: parts.rows(table) for table in tables}
        if parts.counted("documents"):
            documents = with_owners(parts.rows("documents"), parts.rows("entities"))
            found["pages"] = f"{found['pages']} union all by name {documents}"
            self._count_documents(parts, found["pages"], memory)
        return found

    def _count_documents(self, parts: PartFiles, pages: str, memory: str) -> None:
        """Documents of nobody, rows without any, and ids that stand in it twice."""
        with connect(memory, parts.folder) as connection:
            twice = connection.sql(
                f"select page from ({pages}) group by page having count(*) > 1 order by page limit 20"
            ).fetchall()
            owners = connection.sql(
                f"select count(*) filter (entity is null), count(distinct entity) from ({pages})"
            ).fetchall()[0]
            rows = connection.sql(f"select count(*) from ({parts.rows('entities')})").fetchall()
            unknown = connection.sql(
                f"select distinct entity from ({parts.rows('documents')}) where entity not in "
                f"(select entity from ({parts.rows('entities')})) order by entity limit 6"
            ).fetchall()
        if twice:
            raise BadInput(
                "two documents have the same id", file=self.path, ids=[page for (page,) in twice]
            )
        parts.notes["documents of nobody"] = owners[0]
        parts.notes["without a document"] = rows[0][0] - owners[1]
        if unknown and (self.catalogue.documents.file or self.catalogue.documents.owner):
            named = sample([entity.partition(":")[2] for (entity,) in unknown])
            talk(
                f"{self.path.name}: documents name owners that no row has, and are nobody's: {named}"
            )

    def _tell_of_unused(self, parts: PartFiles, memory: str) -> None:
        with connect(memory, parts.folder) as connection:
            query = f"select distinct property from ({parts.rows('facts')})"
            used = {name for (name,) in connection.sql(query).fetchall()}
        for name, attribute in self.catalogue.attributes.items():
            if name not in used:
                talk(
                    f"{self.path.name}: attribute {name!r} has no value: "
                    f"no row of {self.data.name} has anything in {attribute.column!r}"
                )

    def _rows(self, data: Path | None = None) -> Iterator[Mapping[str, Any]]:
        data = data or self.data
        if data.name.endswith(".parquet"):
            return _parquet_rows(data)
        if ".csv" in data.name or ".tsv" in data.name:
            usual = "\t" if ".tsv" in data.name else ","
            return _csv_rows(data, self.catalogue.delimiter or usual)
        return _json_rows(data)


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with open_binary(path) as file:
        listed = file.read(64).lstrip()[:1] == b"["
    if listed:
        yield from read_json(path, list[dict[str, Any]])
        return
    for line, row in read_json_lines(path):
        if not isinstance(row, dict):
            raise BadInput("the line is no JSON object", file=path, line=line)
        yield row


def _csv_rows(path: Path, delimiter: str) -> Iterator[Mapping[str, Any]]:
    _, names = next(read_rows(path, delimiter), (0, []))
    _check_delimiter(names, path, delimiter)
    yield from (record for _, record in read_table_rows(path, delimiter))


def _check_delimiter(names: Sequence[str], path: Path, delimiter: str) -> None:
    other = next((c for c in ";\t|," if c != delimiter and c in names[0]), None) if names else None
    if other is not None and len(names) == 1:
        raise BadInput(
            f"its columns are not divided by {delimiter!r}: {names[0]}",
            file=path,
            hint=f"write delimiter = {msgspec.json.encode(other).decode()} above [columns]",
        )


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"not a Parquet file: {error}", file=path) from error
