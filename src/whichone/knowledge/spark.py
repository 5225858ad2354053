"""Reading parts on a Spark cluster: the same readers, the same part files, the same bytes.

Every machine must see the dumps and the knowledge base under the same paths. A part is written whole
or not at all and is the same whoever writes it, so that Spark may repeat it as it likes.
"""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot  # Ibis brings it
from sqlglot import exp

from whichone import registry
from whichone.errors import BadInput, Missing, WhichoneError, needs
from whichone.files import tables
from whichone.files.arrow_records import blocks
from whichone.files.folder import file_entry
from whichone.files.manifest import FileEntry
from whichone.files.output import written_beside
from whichone.files.tables import TableSchema, write_batches
from whichone.knowledge.engines import BATCH, BatchWork, remove
from whichone.knowledge.formats.sources import PartJob
from whichone.knowledge.merge import Finished, PartWork

if TYPE_CHECKING:
    from ibis.expr.types import Table


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_ROWS = 1_024  # handed to Python at a time: they may have the texts of pages
_WAVE = 4  # parts handed out at once for each core of the cluster; each wave is journalled


def start_spark(master: str, memory: str) -> Any:
    with needs("pyspark", "spark"):
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    if not master.startswith("local"):
        registry.refuse_unnamed(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{max(512, _mebibytes(memory) // 4)}m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS),
    }
    try:
        session = SparkSession.builder.master(master).appName("whichone").config(map=settings).getOrCreate()
    except (PySparkException, OSError) as error:
        raise Missing(
            f"Spark could not be started on {master}: {error}",
            hint="it needs Java 17 or newer (apt install default-jre-headless) and a reachable master",
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def _mebibytes(memory: str) -> int:
    number = float("".join(c for c in memory if c.isdigit() or c == "."))
    unit = memory.strip("0123456789. ").upper()[:1]
    return int(number * {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}[unit])


def run_on_spark(session: Any, task: PartWork, jobs: Iterable[PartJob]) -> Iterator[tuple[PartJob, Finished]]:
    """Each job with its result, a wave at a time; records that jobs carry go through files."""
    for owner in task.work:
        owner.source.path = owner.source.path.resolve()  # the machines work in other folders
    spooled = (job if job.chunks is None else _spooled(task, job) for job in jobs)
    for wave in blocks(spooled, _WAVE * session.sparkContext.defaultParallelism):
        yield from zip(wave, _wave(session, task, wave), strict=True)


def _spooled(task: PartWork, job: PartJob) -> PartJob:
    """A part of a file that only one reader can cut, for any worker to read."""
    file = task.work[job.source].file(job.range.number, "chunks")
    with written_beside(file) as beside:
        beside.write_bytes(pickle.dumps(list(job.chunks or ())))
    return msgspec.structs.replace(job, chunks=None, spool=file)


def _wave(session: Any, task: PartWork, jobs: list[PartJob]) -> list[Finished]:
    finished = on_workers(session, task, jobs)
    for job, result in zip(jobs, finished, strict=True):
        owner, number = task.work[job.source], job.range.number
        if any(n and not owner.file(number, f"{name}.parquet").exists() for name, n in result.rows.items()):
            raise not_visible(owner.folder)
        if job.spool is not None:
            job.spool.unlink(missing_ok=True)
    return finished


def on_workers(session: Any, work: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
    """What the machines of the cluster make of each item, in the order of the items."""
    if not (rows := [(number, pickle.dumps(item)) for number, item in enumerate(items)]):
        return []
    with quiet():
        spread = session.sparkContext.parallelize(rows, len(rows))
        frame = session.createDataFrame(spread, "number int, item binary")
        done = frame.mapInArrow(_working(work), "number int, result binary").collect()
    results = [pickle.loads(row["result"]) for row in sorted(done, key=itemgetter("number"))]
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _working(work: Callable[[Any], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            results = [_result(work, pickle.loads(raw)) for raw in batch["item"].to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [batch["number"], pa.array(results, pa.binary())], names=["number", "result"]
            )

    return run


def _result(work: Callable[[Any], Any], item: Any) -> bytes:
    """The outcome for an item; an error of its data is handed back, not tried again."""
    try:
        return pickle.dumps(work(item))
    except (WhichoneError, OSError, msgspec.ValidationError) as error:
        return pickle.dumps(error)


@contextmanager
def quiet() -> Iterator[None]:
    """Spark warns of pandas 3 at every turn; nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


class SparkEngine:
    """Spark; relations are kept as Parquet files, which also keeps its plans short.

    `scratch` must be visible to the driver and to all workers. Rows are read from there a batch at a time, so that the
    driver never has a relation in memory.
    """

    shared = True

    def __init__(self, master: str, memory: str, scratch: Path) -> None:
        import ibis

        self.session = start_spark(master, memory)
        with quiet():
            self.backend = ibis.pyspark.connect(self.session)
        self.scratch = scratch
        self._numbers = itertools.count()

    def read(self, files: Sequence[Path], name: str) -> Table:
        with quiet():
            self.session.read.parquet(*map(str, files)).createOrReplaceTempView(name)
            return self.backend.table(name)

    def table(self, table: pa.Table) -> Table:
        file = self.scratch / f"given-{next(self._numbers)}.parquet"
        pq.write_table(table, file, row_group_size=BATCH)
        return self.read([file], file.stem.replace("-", "_"))

    def keep(self, name: str, relation: Table) -> Table:
        folder = self.scratch / name
        with quiet():
            self.session.sql(self.backend.compile(relation)).write.parquet(str(folder))
        return self.read([folder], f"kept_{name}")

    def batches(self, relation: Table) -> Iterator[pa.RecordBatch]:
        with quiet():
            yield from self._written(self.session.sql(self.backend.compile(relation)))

    def mapped(self, relation: Table, work: BatchWork, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with quiet():
            from pyspark.sql.pandas.types import from_arrow_schema

            frame = self.session.sql(self.backend.compile(relation))
            yield from self._written(frame.mapInArrow(work, from_arrow_schema(schema)))

    def _written(self, frame: Any) -> Iterator[pa.RecordBatch]:
        """Rows through files, in the order of their names, which is that of a sorted frame."""
        folder = self.scratch / f"rows-{next(self._numbers)}"
        frame.write.parquet(str(folder))
        if not (files := sorted(folder.glob("*.parquet"))):
            raise not_visible(folder)
        for name in files:
            with pq.ParquetFile(name) as file:
                yield from file.iter_batches(BATCH)
        shutil.rmtree(folder, ignore_errors=True)

    def value(self, expression: Any) -> Any:
        with quiet():
            table = self.session.sql(self.backend.compile(expression.as_table())).toArrow()
        return table.column(0)[0].as_py()

    def query(self, query: str) -> Iterator[pa.RecordBatch]:
        with quiet():
            yield from self._written(SparkQueries(self.session).frame(query))

    def spread(self, work: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
        return on_workers(self.session, work, items)

    def release(self) -> None:
        """Relations are files, which the end removes."""

    def close(self) -> None:
        self.session.stop()


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
        if not (files := sorted(place.glob("*.parquet"))):
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
                sides = (self._translated(side.copy()) for side in (union.this, union.expression))
                upper, lower = map(self._session.sql, sides)
                joined = upper.unionByName(lower, allowMissingColumns=True)
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
            given = exp.Where(this=exp.Not(this=exp.Is(this=least.this.copy(), expression=exp.Null())))
            least.replace(exp.Filter(this=least.copy(), expression=given))
        for trim in list(tree.find_all(exp.Trim)):  # DuckDB removes all blanks of Unicode
            replaced = map(exp.Literal.string, (r"^\p{Zs}+|\p{Zs}+$", ""))
            trim.replace(exp.Anonymous(this="regexp_replace", expressions=[trim.this.copy(), *replaced]))
        for overlap in list(tree.find_all(exp.ArrayOverlaps)):
            both = [overlap.this.copy(), overlap.expression.copy()]
            overlap.replace(exp.Anonymous(this="arrays_overlap", expressions=both))
        return tree.sql(dialect="spark")

    def _view(self, frame: Any) -> str:
        name = f"merged_{next(self._numbers)}"
        frame.createOrReplaceTempView(name)
        return name


class PartTask(msgspec.Struct, frozen=True):
    """A part of a table: rows of sorted files, each with the number of its first row."""

    target: Path
    schema: TableSchema
    rows: range
    files: list[tuple[Path, int]]


def part_tasks(files: Sequence[Path], schema: TableSchema, folder: Path) -> Iterator[PartTask]:
    counts = [pq.read_metadata(file).num_rows for file in files]
    ends = list(itertools.accumulate(counts))
    for number, start in enumerate(range(0, max(ends[-1], 1), tables.PART)):
        rows = range(start, min(start + tables.PART, ends[-1]))
        own = [
            (file, end - count)
            for file, count, end in zip(files, counts, ends, strict=True)
            if end > rows.start and end - count < rows.stop
        ]
        yield PartTask(folder / tables.part_name(schema.name, number), schema, rows, own)


def write_part(task: PartTask) -> FileEntry:
    return file_entry(task.target, write_batches(task.target, _rows(task), task.schema))


def _rows(task: PartTask) -> Iterator[pa.RecordBatch]:
    for path, first in task.files:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                end = first + file.metadata.row_group(group).num_rows
                if first < task.rows.stop and end > task.rows.start:
                    for batch in file.iter_batches(_BATCH, row_groups=[group]):
                        start = max(task.rows.start - first, 0)
                        if (length := min(task.rows.stop - first, batch.num_rows) - start) > 0:
                            table = pa.Table.from_batches([batch.slice(start, length)])
                            yield from table.cast(task.schema.schema).to_batches()
                        first += batch.num_rows
                first = end


def not_visible(place: Path) -> BadInput:
    return BadInput(
        "files written by the workers are not visible from the driver",
        file=place,
        hint="the knowledge base must be on a file system that all machines share",
    )
