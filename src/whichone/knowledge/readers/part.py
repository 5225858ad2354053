"""What a reader makes of one stretch of a dump: rows of tables, counts, and records it refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from whichone.files.tables import TableSchema


class Part:
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
        """Hand over a whole table."""
        self._given[table] = rows

    def refuse(self, offset: int, reason: str) -> None:
        self.refused.append((offset, reason))

    def tables(self) -> dict[str, pa.Table]:
        made = {}
        for name, rows in self._rows.items():
            schema = self._schemas[name].schema
            columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
            made[name] = pa.Table.from_arrays(columns, schema=schema)
        return made | self._given
