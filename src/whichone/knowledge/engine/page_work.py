"""Looking for something in the texts of pages, wherever these are: in this process, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa

from whichone.files.arrow_records import blocks

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engine.engines import Engine

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


Looking: TypeAlias = Callable[[PageRow], bytes | None]
"""Must be picklable, with what it needs: it travels to the workers."""


def look_on_pages(
    engine: Engine, pages: Table, on: str, asked: Iterable[tuple[str, bytes]], looking: Looking
) -> Iterator[bytes]:
    """What `looking` says of every page that something is asked of, in any order; `on` is `page` or `entity`.

    Texts are read where the pages are; what comes back is what was seen there.
    """
    questions = engine.table(_table(on, asked))
    columns = [field for field in PageRow._fields if field != "asked"]
    rows = pages.select(*columns).inner_join(questions, on).select(*PageRow._fields)
    for batch in engine.mapped(rows, _Looks(looking), _SEEN):
        yield from batch.column(0).to_pylist()


def _table(on: str, asked: Iterable[tuple[str, bytes]]) -> pa.Table:
    schema = pa.schema([(on, pa.string()), ("asked", pa.binary())])
    batches = []
    for piece in blocks(asked, _ASKED):
        keys, given = zip(*piece, strict=True)
        columns = [pa.array(keys, pa.string()), pa.array(given, pa.binary())]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


class _Looks:
    """The work on batches of pages."""

    def __init__(self, looking: Looking) -> None:
        self._looking = looking

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            columns = (column.to_pylist() for column in batch.columns)
            rows = (PageRow(*values) for values in zip(*columns, strict=True))
            results = [seen for row in rows if (seen := self._looking(row)) is not None]
            yield pa.RecordBatch.from_arrays([pa.array(results, pa.binary())], schema=_SEEN)
