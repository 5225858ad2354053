"""Rows gathered as Python lists and packed into Arrow before they grow large."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from whichone.files.tables import array_of

_PACK = 50_000


class Columns:
    """A table under construction; `add` takes one row in the order of the schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._packed: list[pa.RecordBatch] = []
        self._rows: list[tuple[object, ...]] = []

    def add(self, row: tuple[object, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _PACK:
            self._pack()

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
