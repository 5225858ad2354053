"""Relations on Spark: computed by the workers, kept and handed over as files that all machines see."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput
from whichone.knowledge.engine.engines import BATCH, BatchWork
from whichone.knowledge.engine.spark import on_workers, quiet, start_spark

if TYPE_CHECKING:
    from ibis.expr.types import Table


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


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
        """Rows of this process as a relation."""
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

    def mapped(
        self, relation: Table, work: BatchWork, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """What the workers make of the rows."""
        with quiet():
            from pyspark.sql.pandas.types import from_arrow_schema

            frame = self.session.sql(self.backend.compile(relation))
            yield from self._written(frame.mapInArrow(work, from_arrow_schema(schema)))

    def _written(self, frame: Any) -> Iterator[pa.RecordBatch]:
        """Rows through files, in the order of their names, which is that of a sorted frame."""
        folder = self.scratch / f"rows-{next(self._numbers)}"
        frame.write.parquet(str(folder))
        files = sorted(folder.glob("*.parquet"))
        if not files:
            raise BadInput(
                "files written by the workers are not visible from the driver",
                file=folder,
                hint="the knowledge base must be on a file system that all machines share",
            )
        for name in files:
            with pq.ParquetFile(name) as file:
                yield from file.iter_batches(BATCH)
        shutil.rmtree(folder, ignore_errors=True)

    def value(self, expression: Any) -> Any:
        with quiet():
            table = self.session.sql(self.backend.compile(expression.as_table())).toArrow()
        return table.column(0)[0].as_py()

    def query(self, query: str) -> Iterator[pa.RecordBatch]:
        from whichone.knowledge.engine.spark_queries import SparkQueries

        with quiet():
            yield from self._written(SparkQueries(self.session).frame(query))

    def spread(self, work: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
        return on_workers(self.session, work, items)

    def release(self) -> None:
        """Relations are files, which the end removes."""

    def close(self) -> None:
        self.session.stop()
