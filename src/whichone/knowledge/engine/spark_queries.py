"""The queries of a merge on Spark: rows stay with the workers, who also write the tables, each its own parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot  # Ibis brings it
from sqlglot import exp

from whichone.errors import BadInput
from whichone.files import tables
from whichone.files.folder import file_entry
from whichone.files.manifest import FileEntry
from whichone.files.tables import TableSchema, write_batches
from whichone.knowledge.engine.queries import remove
from whichone.knowledge.engine.spark import on_workers, quiet

if TYPE_CHECKING:
    from whichone.knowledge.engine.engines import BatchWork

_BATCH = 65_536


class SparkQueries:
    """A Spark session that reads DuckDB's SQL; all files are on a file system that all machines share."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._numbers = itertools.count()

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        with quiet():
            return [tuple(row) for row in self.frame(query).collect()]

    def keep(self, query: str, file: Path) -> None:
        with quiet():
            self._keep(self.frame(query), file)

    def keep_mapped(self, query: str, work: BatchWork, schema: pa.Schema, file: Path) -> None:
        from pyspark.sql.pandas.types import from_arrow_schema

        with quiet():
            self._keep(self.frame(query).mapInArrow(work, from_arrow_schema(schema)), file)

    def keep_closure(self, name: str, base: str, step: str, file: Path) -> None:
        """Step by step: what is new is kept as files, so that no plan grows."""
        with quiet():
            levels: list[str] = []
            found = self.frame(base).distinct()
            while True:
                level = file.with_name(f"{file.name}-{len(levels)}")
                self._keep(found, level)
                newest = self._session.read.parquet(str(level))
                if newest.isEmpty():
                    break
                levels.append(str(level))
                newest.createOrReplaceTempView(name)
                known = self._session.read.parquet(*levels)
                following = self.frame(step).toDF(*known.columns).distinct()
                found = following.join(known, known.columns, "left_anti")
            self._keep(self._session.read.parquet(*(levels or [str(level)])), file)
            for place in (*map(Path, levels), level):
                remove(place)

    def write(self, query: str, schema: TableSchema, folder: Path) -> dict[str, FileEntry]:
        """Sorted by all workers, then cut into parts by the numbers of rows before each file."""
        columns = ", ".join(f'"{column}"' for column in schema.schema.names)
        order = ", ".join(f'"{column}" asc nulls last' for column in schema.key)
        place = folder / f"{schema.name}.sorted"
        with quiet():
            self._keep(self.frame(f"select {columns} from ({query}) order by {order}"), place)
        files = sorted(place.glob("*.parquet"))
        if not files:
            raise not_visible(place)
        tasks = list(part_tasks(files, schema, folder))
        entries = on_workers(self._session, write_part, tasks)
        remove(place)
        for task, entry in zip(tasks, entries, strict=True):
            if not task.target.exists() or task.target.stat().st_size != entry.bytes:
                raise not_visible(task.target)
        return {task.target.name: entry for task, entry in zip(tasks, entries, strict=True)}

    def _keep(self, frame: Any, file: Path) -> None:
        remove(file)
        frame.write.parquet(str(file))

    def frame(self, query: str) -> Any:
        return self._session.sql(self._translated(sqlglot.parse_one(query, read="duckdb")))

    def _translated(self, tree: exp.Expr) -> str:
        """A query with all that the two dialects do not share replaced."""
        for union in reversed(list(tree.find_all(exp.Union, bfs=True))):
            if union.args.get("by_name"):
                both = [self._session.sql(self._translated(side.copy())) for side in _sides(union)]
                joined = both[0].unionByName(both[1], allowMissingColumns=True)
                every = exp.select("*").from_(self._view(joined))
                if union is tree:
                    tree = every
                else:
                    union.replace(every)
        for reading in list(tree.find_all(exp.ReadParquet)):
            files = [str(text.this) for text in reading.find_all(exp.Literal)]
            view = exp.to_table(self._view(self._session.read.parquet(*files)))
            table = reading.parent if isinstance(reading.parent, exp.Table) else reading
            if alias := table.args.get("alias"):
                view.set("alias", alias.copy())
            table.replace(view)
        for least in list(tree.find_all(exp.ArgMin, exp.ArgMax)):  # DuckDB passes over nulls
            given = exp.Where(
                this=exp.Not(this=exp.Is(this=least.this.copy(), expression=exp.Null()))
            )
            least.replace(exp.Filter(this=least.copy(), expression=given))
        for trim in list(tree.find_all(exp.Trim)):  # DuckDB removes all blanks of Unicode
            pattern = exp.Literal.string(r"^\p{Zs}+|\p{Zs}+$")
            empty = exp.Literal.string("")
            replaced = [trim.this.copy(), pattern, empty]
            trim.replace(exp.Anonymous(this="regexp_replace", expressions=replaced))
        for overlap in list(tree.find_all(exp.ArrayOverlaps)):
            sides = [overlap.this.copy(), overlap.expression.copy()]
            overlap.replace(exp.Anonymous(this="arrays_overlap", expressions=sides))
        return tree.sql(dialect="spark")

    def _view(self, frame: Any) -> str:
        name = f"merged_{next(self._numbers)}"
        frame.createOrReplaceTempView(name)
        return name


def _sides(union: exp.Union) -> tuple[exp.Expr, exp.Expr]:
    return union.this, union.expression


class PartTask(msgspec.Struct, frozen=True):
    """A part of a table: rows of sorted files, each with the number of its first row."""

    target: Path
    schema: TableSchema
    rows: range
    files: list[tuple[Path, int]]


def part_tasks(files: Sequence[Path], schema: TableSchema, folder: Path) -> Iterator[PartTask]:
    """A table's parts, each with the files that have its rows."""
    counts = [pq.read_metadata(file).num_rows for file in files]
    ends = list(itertools.accumulate(counts))
    for number, start in enumerate(range(0, max(ends[-1], 1), tables.PART)):
        rows = range(start, min(start + tables.PART, ends[-1]))
        own = [
            (file, end - count)
            for file, count, end in zip(files, counts, ends, strict=True)
            if end > rows.start and end - count < rows.stop
        ]
        target = folder / tables.part_name(schema.name, number)
        yield PartTask(target, schema, rows, own)


def write_part(task: PartTask) -> FileEntry:
    """Done by a worker."""
    rows = write_batches(task.target, _rows(task), task.schema)
    return file_entry(task.target, rows)


def _rows(task: PartTask) -> Iterator[pa.RecordBatch]:
    for path, first in task.files:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                end = first + file.metadata.row_group(group).num_rows
                if first < task.rows.stop and end > task.rows.start:
                    for batch in file.iter_batches(_BATCH, row_groups=[group]):
                        yield from _within(batch, first, task)
                        first += batch.num_rows
                first = end


def _within(batch: pa.RecordBatch, first: int, task: PartTask) -> Iterator[pa.RecordBatch]:
    """The rows of a batch that belong to a part, with the table's own types."""
    start = max(task.rows.start - first, 0)
    length = min(task.rows.stop - first, batch.num_rows) - start
    if length > 0:
        table = pa.Table.from_batches([batch.slice(start, length)])
        yield from table.cast(task.schema.schema).to_batches()


def not_visible(place: Path) -> BadInput:
    return BadInput(
        "files written by the workers are not visible from the driver",
        file=place,
        hint="the knowledge base must be on a file system that all machines share",
    )
