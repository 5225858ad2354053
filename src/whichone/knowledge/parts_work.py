"""Reading parts into files under `.partial/`, and reading those files back as SQL."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput
from whichone.files.output import written_beside
from whichone.files.parts import ByteRange
from whichone.files.tables import sql_text, tables_sql
from whichone.knowledge.formats.source import Job, PartFiles, Refused, Source
from whichone.records import without_collector

_INTERNAL = ("positions", "opening brackets", "closing brackets")
_LISTED = 1000  # refused records that a part lists; all are counted


class Finished(msgspec.Struct, frozen=True):
    """A part that is read: what the journal keeps of it."""

    range: ByteRange
    rows: dict[str, int]
    counts: dict[str, int]
    refused: list[Refused] = []


class Work:
    """One source of a run with its finished parts."""

    def __init__(self, source: Source, key: str, partial: Path, parameters: dict[str, Any]) -> None:
        self.source = source
        self.key = key
        self.folder = partial.resolve() / f"{source.kind}-{key}"
        self.parameters = parameters
        self.finished: list[Finished] = []
        self.notes: dict[str, int] = {}
        self.siblings: Sequence[PartFiles] = (self,)
        self.start = 0  # positions that earlier files of this kind take up
        self.folder.mkdir(exist_ok=True)

    def file(self, number: int, table: str) -> Path:
        return self.folder / f"part-{number:05d}.{table}.parquet"

    def repacked(self, number: int) -> Path:
        return self.folder / f"part-{number:05d}.zst"

    def spool(self, number: int) -> Path:
        return self.folder / f"part-{number:05d}.chunks"

    def counted(self, what: str) -> int:
        return sum(f.counts.get(what, 0) for f in self.finished)

    def counts(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for finished in self.finished:
            total.update(finished.counts)
        total.update(self.notes)
        return {k: n for k, n in sorted(total.items()) if n and k not in _INTERNAL}

    def refused(self) -> Iterator[Refused]:
        for finished in self.finished:
            yield from finished.refused

    def refused_count(self) -> int:
        return self.counted("refused")

    def rows(self, table: str) -> str:
        """A query of all rows of one table; `position` is counted through the whole source."""
        files = [self.file(f.range.number, table) for f in self.finished if f.rows.get(table)]
        if not files:
            return self._no_rows(table)
        everything = f"from {tables_sql(files)}"
        names = pq.read_schema(files[0]).names
        if "position" not in names:
            return f"select * {everything}"
        before, starts = self.start, []
        for finished in self.finished:
            starts.append(f"({finished.range.number}, {before})")
            before += finished.counts.get("positions", 0)
        columns = {n: f'"{n}"' for n in names if n != "part"}
        columns["position"] = "position + start_of_part as position"
        return (
            f"select {', '.join(columns.values())} {everything} "
            f"join (values {', '.join(starts)}) as starts(part, start_of_part) using (part)"
        )

    def _no_rows(self, table: str) -> str:
        empty = self.file(0, table)
        if not empty.exists():
            raise BadInput("the file is empty", file=self.source.path)
        names = [f'"{n}"' for n in pq.read_schema(empty).names if n != "part"]
        return f"select {', '.join(names)} from read_parquet({sql_text(empty)}) where false"


class PartWork:
    """The task of a worker: read one part, write its files, say what it found."""

    def __init__(self, work: tuple[Work, ...], skip_bad: bool, repack: bool) -> None:
        self.work = work
        self.skip_bad = skip_bad
        self.repack = repack

    def describe(self, job: Job) -> str:
        path = self.work[job.source].source.path
        to = f" to {job.range.end}" if job.range.end > job.range.start else ""
        return f"byte {job.range.start}{to} of {path}"

    def __call__(self, job: Job) -> Finished:
        owner, number = self.work[job.source], job.range.number
        if job.spool is not None:
            chunks = pickle.loads(job.spool.read_bytes())
            job = msgspec.structs.replace(job, chunks=chunks, spool=None)
        if self.repack:
            job = msgspec.structs.replace(job, repack=owner.repacked(number))
        with without_collector():
            read = owner.source.read(job)
        if read.refused and not self.skip_bad:
            raise read.refused[0].error()
        for name, table in read.tables.items():
            if table.num_rows or number == 0:  # part 0 shows the columns of every table
                _write_part(owner.file(number, name), table, number)
        counts = {**read.counts, "refused": len(read.refused)}
        rows = {name: table.num_rows for name, table in read.tables.items()}
        return Finished(job.range, rows, counts, read.refused[:_LISTED])


def _write_part(file: Path, table: pa.Table, number: int) -> None:
    """A part file, whole or not at all; rows that know their position also know their part."""
    if "position" in table.column_names:
        parts = pa.repeat(pa.scalar(number, pa.int32()), table.num_rows)
        table = table.append_column("part", parts)
    with written_beside(file) as beside:
        pq.write_table(
            table, beside, compression="lz4", use_dictionary=False, write_statistics=False
        )
