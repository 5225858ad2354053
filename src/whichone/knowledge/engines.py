"""The engines of a knowledge base, DuckDB embedded or Spark: its tables as Ibis relations, and a merge's queries."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import UsageError
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder, file_entry
from whichone.files.manifest import Blocks, FileEntry
from whichone.files.tables import TableSchema, query_batches, sql_text, write_parts
from whichone.options import EngineOptions

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.spark import SparkEngine, SparkQueries


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
BATCH = 20_000
PAGES_AT_ONCE = 1_024  # Rows with texts that are Python objects at a time
# What is done with the rows of a relation, a batch at a time; on a cluster each worker has some of them.
BatchWork: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"


@dataclass(frozen=True)
class Tables:
    engine: Engine
    entities: Table
    names: Table
    facts: Table
    properties: Table
    pages: Table
    views: Table
    links: Table

    def rows(self, relation: Table) -> Iterator[dict[str, Any]]:
        for batch in self.engine.batches(relation):
            yield from batch.to_pylist()

    def listed(self, column: str, values: Iterable[str]) -> Table:
        return self.engine.table(pa.table({column: pa.array(sorted(set(values)), pa.string())}))

    def types_of(self, entities: Table) -> dict[str, frozenset[str]]:
        known = self.entities.semi_join(entities, "entity").select("entity", "types")
        return {row["entity"]: frozenset(row["types"] or ()) for row in self.rows(known)}


KNOWLEDGE = ("entities", "names", "facts", "properties", "pages", "views", "links")


Engine: TypeAlias = "DuckdbEngine | SparkEngine"
# Runs queries whose rows are read from Parquet by `read_parquet`; may be used by several threads.
MergeQueries: TypeAlias = "DuckdbQueries | SparkQueries"


class DuckdbEngine:
    """DuckDB with bounded memory; relations are kept as temporary tables."""

    shared = False  # Whether several machines read the files

    def __init__(self, memory: str, spill: Path) -> None:
        import ibis

        self.backend = ibis.duckdb.connect(
            memory_limit=memory, temp_directory=str(spill), preserve_insertion_order=False
        )
        self.backend.raw_sql("set enable_progress_bar = false")
        # A folder for what is written meanwhile, which all machines see.
        self.scratch = spill
        self._numbers = itertools.count()

    def read(self, files: Sequence[Path], name: str) -> Table:
        return self.backend.read_parquet(list(files), table_name=name)

    def table(self, table: pa.Table) -> Table:
        name = f"given_{next(self._numbers)}"
        self.backend.con.register(name, table)
        return self.backend.table(name)

    def keep(self, name: str, relation: Table) -> Table:
        """Created as a query: Ibis creates an empty table and fills it, with five statements."""
        self.backend.raw_sql(f'create temp table "{name}" as {self.backend.compile(relation)}')
        return self.backend.table(name, database=("temp", "main"))

    def batches(self, relation: Table, size: int = BATCH) -> Iterator[Any]:
        """The compiled query is read directly: Ibis 12 calls a method that DuckDB 2 has dropped."""
        yield from self.backend.con.sql(self.backend.compile(relation)).to_arrow_reader(size)

    def mapped(self, relation: Table, work: BatchWork, schema: pa.Schema) -> Iterator[Any]:
        return work(self.batches(relation, PAGES_AT_ONCE))

    def value(self, expression: Any) -> Any:
        return self.backend.con.execute(self.backend.compile(expression)).fetchall()[0][0]

    def query(self, query: str) -> Iterator[Any]:
        """The rows of a query in DuckDB's SQL, a batch at a time, in any order."""
        yield from self.backend.con.sql(query).to_arrow_reader(BATCH)

    def spread(self, work: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
        """What workers make of each item; `work` travels to them."""
        return [work(item) for item in items]

    def release(self) -> None:
        """Relations are no longer needed: free their memory. What workers do for this process goes on."""
        self.backend.disconnect()

    close = release


@contextmanager
def opened_engine(kb: Folder, plan: EngineOptions | None = None) -> Iterator[Engine]:
    """An engine by its name, closed in the end; what it spilled or kept goes with it.

    Spark keeps its relations beside the knowledge base, where all machines of a cluster see them.
    """
    plan = plan or EngineOptions()
    if plan.engine not in ("duckdb", "spark"):
        raise UsageError(f"there is no engine {plan.engine!r}", hint="duckdb or spark")
    beside = None if plan.engine == "duckdb" else kb.root.resolve().parent
    with tempfile.TemporaryDirectory(prefix=".whichone-", dir=beside) as folder:
        engine: DuckdbEngine | SparkEngine
        if plan.engine == "duckdb":
            engine = DuckdbEngine(plan.memory, Path(folder))
        else:
            from whichone.knowledge.spark import SparkEngine

            engine = SparkEngine(plan.master or "local[*]", plan.memory, Path(folder))
        try:
            yield engine
        finally:
            engine.close()


def knowledge_tables(engine: Engine, kb: Folder) -> Tables:
    """The tables of a knowledge base on an engine; where several machines read the files, they compare them too."""
    if engine.shared:
        files = [
            (p.resolve(), kb.manifest.files[p.name].crc32)
            for name in KNOWLEDGE
            for p in kb.parts(name, whole=False)
        ]
        engine.spread(_compare, files)
    tables = {
        name: engine.read([p.resolve() for p in kb.parts(name, whole=not engine.shared)], f"kb_{name}")
        for name in KNOWLEDGE
    }
    return Tables(engine, **tables)


def _compare(file: tuple[Path, str]) -> None:
    Blocks(*file)([(0, file[0].stat().st_size)])


@contextmanager
def open_tables(kb: Folder, plan: EngineOptions | None = None) -> Iterator[Tables]:
    with opened_engine(kb, plan) as opened:
        yield knowledge_tables(opened, kb)


_SEEN = pa.schema([("seen", pa.binary())])
_ASKED = 4_096


class PageRow(NamedTuple):
    """A page, and what is to be looked for on it, encoded by whoever asks."""

    page: str
    title: str
    entity: str | None
    position: int
    paragraphs: list[str]
    asked: bytes


# Must be picklable, with what it needs: it travels to the workers.
Looking: TypeAlias = Callable[[PageRow], bytes | None]


def look_on_pages(
    engine: Engine, pages: Table, on: str, asked: Iterable[tuple[str, bytes]], looking: Looking
) -> Iterator[bytes]:
    """What `looking` says of every page that something is asked of, in any order; `on` is `page` or `entity`.

    Texts are read where the pages are; what comes back is what was seen there.
    """
    questions = engine.table(_table(on, asked))
    columns = [field for field in PageRow._fields if field != "asked"]
    rows = pages.select(*columns).inner_join(questions, on).select(*PageRow._fields)
    for batch in engine.mapped(rows, partial(_looks, looking), _SEEN):
        yield from batch.column(0).to_pylist()


def _table(on: str, asked: Iterable[tuple[str, bytes]]) -> pa.Table:
    schema = pa.schema([(on, pa.string()), ("asked", pa.binary())])
    columns = (zip(*piece, strict=True) for piece in blocks(asked, _ASKED))
    batches = [pa.record_batch([[*keys], [*given]], schema=schema) for keys, given in columns]
    return pa.Table.from_batches(batches, schema=schema)


def _looks(looking: Looking, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        rows = (PageRow(*values) for values in zip(*columns, strict=True))
        results = [seen for row in rows if (seen := looking(row)) is not None]
        yield pa.RecordBatch.from_arrays([pa.array(results, pa.binary())], schema=_SEEN)


_BATCH = 65_536


class DuckdbQueries:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            return cursor.sql(query).fetchall()

    def keep(self, query: str, file: Path) -> None:
        """Write the rows of a query, for other queries to read, in any order."""
        remove(file)
        with self._connection.cursor() as cursor:
            cursor.execute(f"copy ({query}) to {sql_text(file)} (format parquet)")

    def keep_mapped(self, query: str, work: BatchWork, schema: pa.Schema, file: Path) -> None:
        """The same for what Python makes of the rows."""
        remove(file)
        with self._connection.cursor() as cursor, pq.ParquetWriter(file, schema) as writer:
            for batch in work(cursor.sql(query).to_arrow_reader(_BATCH)):
                writer.write_batch(batch)

    def keep_closure(self, name: str, base: str, step: str, file: Path) -> None:
        """The same for all rows that follow from those of `base` by `step`, which reads `name`."""
        self.keep(f"with recursive {name} as ({base} union {step}) select * from {name}", file)

    def write(self, query: str, schema: TableSchema, folder: Path) -> dict[str, FileEntry]:
        """Write the rows of a query as a table in the order of its key, cut into parts."""
        with self._connection.cursor() as cursor:
            parts = write_parts(folder, query_batches(cursor, query, schema), schema)
            return {name: file_entry(folder / name, rows) for name, rows in parts}


def remove(file: Path) -> None:
    """What a killed run of either engine left: a file, or a folder of files."""
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
