"""Queries and name sets as the tables of a benchmark, written as they come: none is kept in memory."""

from __future__ import annotations

import operator
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.tables import QUERIES, SETS
from whichone.errors import NAMED, BadInput, sample
from whichone.files.arrow_records import Seen, blocks, merged, write_run
from whichone.files.folder import Folder
from whichone.files.lines import encode_text
from whichone.files.tables import TableSchema, group_batches, sort_rows, write_batches
from whichone.records import Bearer, NameSet, Output, Query
from whichone.text.language import base_code

BLOCK = 4_096
SETS_AT_ONCE = 16_384
_SET_RUNS = TableSchema(
    "sets", pa.schema([("set", pa.string()), ("record", pa.string())]), ("set",)
)
_DECODED = {
    "outputs": msgspec.json.Decoder(tuple[Output, ...]).decode,
    "attributes": msgspec.json.Decoder(dict[str, Any]).decode,
}
"""Fields of a query that its table keeps as JSON."""


class QueryChecks:
    """What must be true of all queries of a benchmark, counted block by block."""

    def __init__(self, near: Path | None = None) -> None:
        self.count = self.twice = self.without = 0
        self.languages: Counter[str] = Counter()
        self._seen = Seen(near)
        self._twice: list[str] = []
        self._without: list[str] = []

    def add(self, queries: Sequence[Query]) -> None:
        ids = [query.id for query in queries]
        before = self._seen.add(ids, range(self.count, self.count + len(ids)))
        twice = [i for i, earlier in zip(ids, before, strict=True) if earlier is not None]
        without = [query.id for query in queries if not query.outputs]
        self.twice += len(twice)
        self.without += len(without)
        self._twice += twice[: NAMED - len(self._twice)]
        self._without += without[: NAMED - len(self._without)]
        self.languages.update(query.language for query in queries)
        self.count += len(ids)

    def end(self, *, allow_no_gold: bool = False) -> None:
        """Raise what is wrong with them."""
        if self.twice:
            raise BadInput(
                f"{self.twice} query ids occur twice: {sample(self._twice, count=self.twice)}"
            )
        if not self.count:
            raise BadInput("there are no queries")
        if self.without and not allow_no_gold:
            raise BadInput(
                f"{self.without} queries have no gold: {sample(self._without, count=self.without)}",
                hint="give each an answer or a gold page, or leave them out",
            )

    def main_language(self) -> str:
        return main_language_of(self.languages)


def main_language_of(counted: Counter[str]) -> str:
    """What most questions are asked in, which their passages are taken to be in; empty for English."""
    most = counted.most_common(1)
    language = most[0][0] if most else "en"
    return "" if base_code(language) == "en" else language


def write_queries(
    folder: Folder, queries: Iterable[Query], watch: Callable[[Sequence[Query]], None]
) -> None:
    """Write the table of queries; `watch` is given every block."""

    def batches() -> Iterator[pa.RecordBatch]:
        place = 0
        for block in blocks(queries, BLOCK):
            watch(block)
            yield from query_rows(block, place).combine_chunks().to_batches()
            place += len(block)

    rows = write_batches(folder.partial / QUERIES.file, batches(), QUERIES)
    folder.adopt(QUERIES.file, rows=rows)


def query_rows(queries: Sequence[Query], first: int = 0) -> pa.Table:
    """Queries as rows; `first` is the place of the first one."""
    fields = zip(*map(msgspec.structs.astuple, queries), strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(Query.__struct_fields__, fields, strict=True))
    for name in _DECODED:
        columns[name] = [encode_text(value) for value in columns[name]]
    columns["gold_pages"] = [sorted(query.gold_pages()) for query in queries]
    columns["place"] = range(first, first + len(queries))
    return QUERIES.from_columns(columns)


def queries_of_table(table: pa.Table | pa.RecordBatch) -> Iterator[Query]:
    columns = (table.column(name).to_pylist() for name in Query.__struct_fields__)
    decoders = (_DECODED.get(name) for name in Query.__struct_fields__)
    return map(Query, *(map(d, c) if d else c for d, c in zip(decoders, columns, strict=True)))


def queries_of_file(path: Path) -> Iterator[Query]:
    """The queries of a table, a block at a time."""
    with pq.ParquetFile(path) as file:
        for batch in group_batches(file, BLOCK):
            yield from queries_of_table(batch)


def write_sets(folder: Folder, sets: Iterable[NameSet]) -> None:
    """Write the table of name sets, sorted on disk where there are many."""
    parts = blocks(sets, SETS_AT_ONCE)
    first = next(parts, [])
    second = next(parts, None)
    if second is None:
        folder.write(SETS, set_rows(first))
        return
    with tempfile.TemporaryDirectory(dir=folder.partial, prefix="sets-") as place:
        runs = []
        for number, part in enumerate([first, second]):
            runs.append(_run(Path(place), number, part))
        del first, second
        runs += [_run(Path(place), n, part) for n, part in enumerate(parts, len(runs))]
        decode = msgspec.json.Decoder(NameSet).decode

        def batches() -> Iterator[pa.RecordBatch]:
            for table in merged(runs, _SET_RUNS):
                rows = set_rows(map(decode, table["record"].to_pylist()))
                yield from sort_rows(rows, SETS).combine_chunks().to_batches()

        rows = write_batches(folder.partial / SETS.file, batches(), SETS)
    folder.adopt(SETS.file, rows=rows)


def _run(place: Path, number: int, sets: Sequence[NameSet]) -> Path:
    path = place / f"{number:05}.arrow"
    table = pa.table({"set": [s.id for s in sets], "record": [encode_text(s) for s in sets]})
    write_run(path, table, _SET_RUNS)
    return path


def set_rows(sets: Iterable[NameSet]) -> pa.Table:
    return SETS.from_rows(
        [
            {
                "set": s.id,
                "name": s.name,
                "collection": s.collection,
                "rank": rank,
                "entity": b.entity,
                "label": b.label,
                "role": b.role,
                "popularity": b.popularity,
                "types": list(b.types),
                "pages": list(b.pages),
            }
            for s in sets
            for rank, b in enumerate(s.bearers)
        ]
    )


def sets_of_file(path: Path) -> Iterator[NameSet]:
    """The name sets of a table, a block of rows at a time; those of one set follow one another."""
    with pq.ParquetFile(path) as file:
        rows = (row for batch in group_batches(file, BLOCK) for row in batch.to_pylist())
        for key, members in groupby(rows, key=operator.itemgetter("set")):
            first, *rest = members
            bearers = tuple(
                Bearer(
                    entity=m["entity"],
                    label=m["label"] or "",
                    role=m["role"],
                    popularity=m["popularity"],
                    types=tuple(m["types"] or ()),
                    pages=tuple(m["pages"] or ()),
                )
                for m in (first, *rest)
            )
            yield NameSet(
                id=key, name=first["name"], collection=first["collection"], bearers=bearers
            )
