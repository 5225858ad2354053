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

from whichone.errors import BadInput, did_you_mean
from whichone.files.folder import file_hash
from whichone.files.lines import open_binary, read_json, read_json_lines
from whichone.files.parts import ByteRange, Chunk
from whichone.files.separated import read_rows, read_table_rows
from whichone.files.tables import connect
from whichone.knowledge.readers.catalogue import Catalogue, CatalogueReader, read_catalogue
from whichone.knowledge.sources.source import Job, PartFiles, Read, Refused
from whichone.progress import talk

_BATCH = 20_000


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
        texts = self._reader.texts
        if texts is not None and not texts.is_dir():
            raise BadInput("there is no such folder of documents", file=texts)
        first = next(self._rows(), None)
        if first is None:
            raise BadInput("the catalogue has no rows", file=self.data)
        if self.data.name.endswith((".jsonl", ".json", ".ndjson", ".jsonl.gz", ".jsonl.zst")):
            return  # a record may leave out what it does not know
        for column in self.catalogue.wanted():
            if column not in first:
                raise BadInput(
                    f"there is no column {column!r}, which {self.path.name} names",
                    file=self.data,
                    hint=did_you_mean(column, first),
                )

    def fingerprint(self) -> dict[str, Any]:
        found = {"sha256": file_hash(self.data), "bytes": self.data.stat().st_size}
        if self._reader.texts is not None:
            digest = hashlib.sha256()
            for file in sorted(self._reader.texts.iterdir()):
                if file.suffix in (".txt", ".md"):
                    digest.update(f"{file.name}\0{file_hash(file)}\n".encode())
            found["documents"] = digest.hexdigest()
        return found

    def jobs(self, number: int) -> Iterator[Job]:
        rows, first = self._rows(), 0
        for part in itertools.count():
            batch = list(itertools.islice(rows, _BATCH))
            if not batch and part:
                return
            chunk = Chunk(first, msgspec.json.encode(batch))
            yield Job(number, ByteRange(part, first, first), [chunk])
            first += len(batch)

    def behind(self, finished: Sequence[ByteRange]) -> int:
        return 0

    def read(self, job: Job) -> Read:
        chunk = next(iter(job.chunks or ()))
        rows = msgspec.json.decode(chunk.data)
        tables, counts, refused = self._reader.read(rows, chunk.offset)
        listed = [Refused(str(self.data), None, 0, problem) for _, problem in refused]
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
        return {table: parts.rows(table) for table in tables}

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

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        name = self.data.name
        if name.endswith(".parquet"):
            return _parquet_rows(self.data)
        if ".csv" in name or ".tsv" in name:
            usual = "\t" if ".tsv" in name else ","
            return _csv_rows(self.data, self.catalogue.delimiter or usual)
        return _json_rows(self.data)


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
