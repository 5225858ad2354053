"""A knowledge base's tables as Ibis relations, on DuckDB embedded or on Spark."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY

if TYPE_CHECKING:
    from ibis.expr.types import Table

BATCH = 20_000


class Tables(NamedTuple):
    """The tables of a knowledge base as Ibis expressions, whatever engine they live on."""

    entities: Table
    names: Table
    facts: Table
    properties: Table
    pages: Table
    views: Table
    links: Table


class Engine(Protocol):
    """Reads tables, computes relations and keeps them, gives rows back."""

    def read(self, path: Path, name: str) -> Table: ...

    def keep(self, name: str, relation: Table) -> Table: ...

    def batches(self, relation: Table) -> Iterator[Any]: ...

    def value(self, expression: Any) -> Any: ...


class DuckdbEngine:
    """DuckDB with bounded memory; relations are kept as temporary tables."""

    def __init__(self, memory: str, spill: Path) -> None:
        import ibis

        self.backend = ibis.duckdb.connect(
            memory_limit=memory, temp_directory=str(spill), preserve_insertion_order=False
        )
        self.backend.raw_sql("set enable_progress_bar = false")

    def read(self, path: Path, name: str) -> Table:
        return self.backend.read_parquet(path, table_name=name)

    def keep(self, name: str, relation: Table) -> Table:
        """Created as a query: Ibis creates an empty table and fills it, with five statements."""
        self.backend.raw_sql(f'create temp table "{name}" as {self.backend.compile(relation)}')
        return self.backend.table(name, database=("temp", "main"))

    def batches(self, relation: Table) -> Iterator[Any]:
        """The compiled query is read directly: Ibis 12 calls a method that DuckDB 2 has dropped."""
        query = self.backend.compile(relation)
        yield from self.backend.con.sql(query).to_arrow_reader(BATCH)

    def value(self, expression: Any) -> Any:
        rows = self.backend.con.execute(self.backend.compile(expression)).fetchall()
        return rows[0][0]

    def close(self) -> None:
        self.backend.disconnect()


class SparkEngine:
    """Spark; relations are kept as Parquet files, which also keeps its plans short.

    `scratch` must be seen by the driver and by all workers.
    """

    def __init__(self, master: str, memory: str, scratch: Path) -> None:
        import ibis

        from whichone.knowledge.engine.spark import start_spark

        self.session = start_spark(master, memory)
        with _quiet():
            self.backend = ibis.pyspark.connect(self.session)
        self.scratch = scratch

    def read(self, path: Path, name: str) -> Table:
        with _quiet():
            return self.backend.read_parquet(str(path), table_name=name)

    def keep(self, name: str, relation: Table) -> Table:
        folder = self.scratch / name
        with _quiet():
            self.session.sql(self.backend.compile(relation)).write.parquet(str(folder))
        return self.read(folder, f"kept_{name}")

    def batches(self, relation: Table) -> Iterator[Any]:
        with _quiet():
            table = self.session.sql(self.backend.compile(relation)).toArrow()
        yield from table.to_batches(max_chunksize=BATCH)

    def value(self, expression: Any) -> Any:
        batch = next(self.batches(expression.as_table()))
        return batch.column(0)[0].as_py()

    def close(self) -> None:
        self.session.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """Spark warns of pandas 3 at every turn; nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


@contextmanager
def opened_engine(
    name: str, kb: Folder, *, memory: str, master: str | None = None
) -> Iterator[Engine]:
    """An engine by its name, closed in the end; what it spilled or kept goes with it.

    Spark keeps its relations beside the knowledge base, where all machines of a cluster see them.
    """
    if name not in ("duckdb", "spark"):
        raise UsageError(f"there is no engine {name!r}", hint="duckdb or spark")
    beside = None if name == "duckdb" else kb.root.resolve().parent
    with tempfile.TemporaryDirectory(prefix=".whichone-", dir=beside) as folder:
        engine: DuckdbEngine | SparkEngine
        if name == "duckdb":
            engine = DuckdbEngine(memory, Path(folder))
        else:
            engine = SparkEngine(master or "local[*]", memory, Path(folder))
        try:
            yield engine
        finally:
            engine.close()


def knowledge_tables(engine: Engine, kb: Folder) -> Tables:
    """The tables of a knowledge base on an engine."""
    return Tables(
        **{
            name: engine.read(kb.path(f"{name}.parquet").resolve(), f"kb_{name}")
            for name in Tables._fields
        }
    )


@contextmanager
def open_tables(kb: Folder, memory: str = DEFAULT_MEMORY) -> Iterator[Tables]:
    """The tables of a knowledge base on DuckDB, with bounded memory."""
    with opened_engine("duckdb", kb, memory=memory) as engine:
        yield knowledge_tables(engine, kb)
