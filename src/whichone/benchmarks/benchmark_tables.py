"""Queries and name sets as the tables of a benchmark, written as they come: none is kept in memory."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.corpus.corpus import Corpus
from whichone.errors import NAMED, BadInput, sample
from whichone.files import arrow_records
from whichone.files.folder import Folder
from whichone.files.mapped import run_starts
from whichone.files.tables import TableSchema, unreadable, write_batches
from whichone.records import Bearer, NameSet, Query
from whichone.text.language import base_code

KIND = "benchmark"

_text, _texts = pa.string(), pa.list_(pa.string())

QUERIES = TableSchema.of(
    "queries",
    ("place", "id"),
    ("id", _text),
    ("task", _text),
    ("input", _text),
    ("language", _text),
    ("mention", _text),
    ("name", _text),
    ("name_set", _text),
    ("role", _text),
    ("relation", _text),
    ("entity", _text),
    ("gold_pages", _texts),
    ("outputs", _text),  # JSON, a list of records.Output
    ("attributes", _text),  # JSON, every other field of its source
    ("place", pa.int64()),  # order in the source: files go out as they came in
)
SETS = TableSchema.of(
    "sets",
    ("set", "rank", "entity"),
    ("set", _text),
    ("name", _text),
    ("collection", _text),
    ("rank", pa.int32()),  # 0 is the head
    ("entity", _text),
    ("label", _text),
    ("role", _text),
    ("popularity", pa.float64()),
    ("types", _texts),
    ("pages", _texts),
)


BLOCK = 4_096
_FIELDS = arrow_records.RecordColumns(Query)


class QueryChecks:
    """What must be true of all queries of a benchmark, counted block by block."""

    def __init__(self) -> None:
        self.count = self.twice = self.without = 0
        self.languages: Counter[str] = Counter()
        self._seen = arrow_records.Seen()
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
        if self.twice:
            raise BadInput(f"{self.twice} query ids occur twice: {sample(self._twice, count=self.twice)}")
        if not self.count:
            raise BadInput("there are no queries")
        if self.without and not allow_no_gold:
            raise BadInput(
                f"{self.without} queries have no gold: {sample(self._without, count=self.without)}",
                hint="give each an answer or a gold page, or leave them out",
            )


def main_language_of(counted: Counter[str]) -> str:
    """What most questions are asked in, which their passages are taken to be in; empty for English."""
    most = counted.most_common(1)
    language = most[0][0] if most else "en"
    return "" if base_code(language) == "en" else language


def write_queries(folder: Folder, queries: Iterable[Query], watch: Callable[[Sequence[Query]], None]) -> None:
    """Write the table of queries; `watch` is given every block."""

    def batches() -> Iterator[pa.RecordBatch]:
        place = 0
        for block in arrow_records.blocks(queries, BLOCK):
            watch(block)
            yield from query_rows(block, place).combine_chunks().to_batches()
            place += len(block)

    folder.adopt(QUERIES.file, rows=write_batches(folder.partial / QUERIES.file, batches(), QUERIES))


def query_rows(queries: Sequence[Query], first: int = 0) -> pa.Table:
    columns = _FIELDS.columns(queries)
    columns["gold_pages"] = [sorted(query.gold_pages()) for query in queries]
    columns["place"] = range(first, first + len(queries))
    return QUERIES.from_columns(columns)


def queries_of_table(table: pa.Table | pa.RecordBatch) -> Iterator[Query]:
    return _FIELDS.records(table)


def write_sets(folder: Folder, sets: Iterable[NameSet]) -> None:
    """Write the table of name sets, which may come in any order."""
    folder.write_in_any_order(SETS, map(set_rows, arrow_records.blocks(sets, BLOCK)))


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


def sets_of_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[NameSet]:
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
        yield NameSet(id=key, name=first["name"], collection=first["collection"], bearers=bearers)


# Which pages are about an entity, where a corpus says whom its passages are about; looked up on disk.


class EntityPages:
    """Pages by entity, in the order of the corpus; false where no passage is about anybody."""

    def __init__(self, corpus: Corpus, near: str | Path | None = None) -> None:
        self._corpus = corpus
        self._index = arrow_records.mapped_index(corpus.batches(["entity"]), "entity", near)

    def __bool__(self) -> bool:
        return len(self._index) > 0

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and next(self._rows(entity), None) is not None

    def __getitem__(self, entity: str) -> list[str]:
        pages = dict.fromkeys(str(self._corpus.value(r, "page")) for r in self._rows(entity))
        if not pages:
            raise KeyError(entity)
        return list(pages)

    def _rows(self, entity: str) -> Iterator[int]:
        rows = self._index.rows(entity).tolist()
        return (row for row in rows if self._corpus.value(row, "entity") == entity)

    def titled(self, entity: str, title: str) -> list[str]:
        """The pages about an entity that have a document of this title."""
        rows = [row for row in self._rows(entity) if self._corpus.value(row, "title") == title]
        return list(dict.fromkeys(str(self._corpus.value(row, "page")) for row in rows))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Entities and pages in the order of the corpus; a pair of several passages in a row comes once."""
        before = None
        for batch in self._corpus.batches(["entity", "page"]) if self else ():
            for pair in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if pair[0] is not None and pair != before:
                    yield pair
                before = pair


# Queries and name sets of a benchmark, decoded when they are asked for by their place or id.
T = TypeVar("T")


def stored_queries(path: Path) -> arrow_records.Stored[Query]:
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error
    counts = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]

    def decode(group: int) -> Iterator[Query]:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BLOCK, row_groups=[group]):
                yield from queries_of_table(batch)

    return arrow_records.Stored(Query, counts, decode)


def stored_sets(path: Path) -> arrow_records.Stored[NameSet]:
    """The name sets of a table, those that begin in one row group at a time."""
    counts, firsts, last = list[int](), list[int](), None
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                ids = file.read_row_group(group, ["set"])["set"].combine_chunks()
                starts = run_starts(ids)[int(ids[0].as_py() == last) :]
                counts.append(len(starts))
                firsts.append(int(starts[0]) if len(starts) else len(ids))
                last = ids[-1].as_py()
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error

    def decode(group: int) -> Iterator[NameSet]:
        with pq.ParquetFile(path) as file:
            rows = (
                row
                for later in range(group, len(firsts))  # the last set may go on there
                for batch in file.iter_batches(BLOCK, row_groups=[later])
                for row in batch.to_pylist()
            )
            yield from islice(sets_of_rows(islice(rows, firsts[group], None)), counts[group])

    return arrow_records.Stored(NameSet, counts, decode)


def once(queries: Sequence[Query], name: str, compute: Callable[[], T]) -> T:
    """What is computed over queries; over those of a benchmark a single time."""
    return queries.once(name, compute) if isinstance(queries, arrow_records.Stored) else compute()


# The queries of each name set, read together with the set: of a large benchmark some sets at a time.
_BLOCK = 4_096

_Numbers = npt.NDArray[np.integer[Any]]


class WithSets(Protocol):
    """A benchmark, as far as it is needed here."""

    @property
    def queries(self) -> Sequence[Query]: ...
    @property
    def sets(self) -> Sequence[NameSet]: ...


def first_places(
    queries: Sequence[Query], key: Callable[[Query], str | None], seen: arrow_records.Seen
) -> _Numbers:
    """For each query the place of the first one with its key, -1 where it has none; `seen` knows the keys afterwards."""
    firsts, start = np.full(len(queries), -1, np.int32), 0
    for block in arrow_records.blocks(queries, _BLOCK):
        keys = {start + n: text for n, query in enumerate(block) if (text := key(query)) is not None}
        for row, first in zip(keys, seen.add([*keys.values()], [*keys]), strict=True):
            firsts[row] = row if first is None else first
        start += len(block)
    return firsts


class AskedSets:
    """The name sets of queries as numbers, -1 for a query without one, and the number of a set by its id."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._places = arrow_records.Seen()
        self.numbers = first_places(queries, lambda query: query.name_set, self._places)

    def of(self, sets: Sequence[str]) -> list[int | None]:
        """The number of each set, which is the place of its first query; None where no query has it."""
        return self._places.numbers_of(sets)


def asked_sets(queries: Sequence[Query]) -> AskedSets:
    """The name sets of queries; of stored ones they are found once."""
    return once(queries, "sets", lambda: AskedSets(queries))


def set_numbers(queries: Sequence[Query]) -> _Numbers:
    """The name set of each query as the place of the set's first query; -1 for those without one."""
    if isinstance(queries, arrow_records.Selection) and isinstance(queries.records, arrow_records.Stored):
        return asked_sets(queries.records).numbers[queries.places]
    return asked_sets(queries).numbers


def asked_together(queries: Sequence[Query]) -> Iterator[list[Query]]:
    asked = set_numbers(queries)
    with_set = np.argsort(asked, kind="stable")[int((asked < 0).sum()) :]
    chosen = zip(map(int, asked[with_set]), arrow_records.Selection(queries, with_set), strict=True)
    for _, group in groupby(chosen, key=operator.itemgetter(0)):
        yield [query for _, query in group]


def rows_of_sets(asked: _Numbers, wanted: Iterable[int]) -> npt.NDArray[np.int64]:
    """The places of the queries of some sets, by the sets' numbers."""
    return np.flatnonzero(np.isin(asked, np.array(sorted(wanted), np.int64)))


def members(benchmark: WithSets) -> Iterator[list[tuple[NameSet, list[Query]]]]:
    """Blocks of name sets in their order, each with its queries in theirs; sets that nobody asks about are left out."""
    return ([(s, queries) for s, _, queries in block] for block in members_with_rows(benchmark))


def members_with_rows(
    benchmark: WithSets,
) -> Iterator[list[tuple[NameSet, npt.NDArray[np.int64], list[Query]]]]:
    """The same with the places of the queries among all."""
    queries = benchmark.queries
    asked = asked_sets(queries)
    order = np.argsort(asked.numbers, kind="stable")
    in_order = asked.numbers[order]
    for block in arrow_records.blocks(benchmark.sets, _BLOCK):
        known = [(s, n) for s, n in zip(block, asked.of([s.id for s in block]), strict=True)]
        sets = [(s, n) for s, n in known if n is not None]
        places = np.array([n for _, n in sets], np.int64)
        starts = np.searchsorted(in_order, places, "left")
        ends = np.searchsorted(in_order, places, "right")
        rows = [order[start:end] for start, end in zip(starts, ends, strict=True)]
        every = list(arrow_records.Selection(queries, np.concatenate([np.empty(0, np.int64), *rows])))
        bounds = pairwise(np.cumsum([0, *map(len, rows)]).tolist())
        yield [
            (s, places_of, every[a:b]) for (s, _), places_of, (a, b) in zip(sets, rows, bounds, strict=True)
        ]


# Name sets that questions need, each once, on disk: read in order or looked up.


class UsedSets:
    def __init__(self, near: str | Path | None = None) -> None:
        self._sets = arrow_records.MappedRecords(NameSet, near)
        self._seen = arrow_records.Seen()

    def add(self, sets: Iterable[NameSet]) -> None:
        given = list({s.id: s for s in sets}.values())
        numbers = self._seen.numbers_of([s.id for s in given])
        new = [s for s, known in zip(given, numbers, strict=True) if known is None]
        first = len(self._sets)
        self._seen.add([s.id for s in new], range(first, first + len(new)))
        self._sets.extend(new)

    def get(self, ids: Iterable[str]) -> dict[str, NameSet]:
        wanted = list(dict.fromkeys(ids))
        numbers = zip(wanted, self._seen.numbers_of(wanted), strict=True)
        return {identity: self._sets[n] for identity, n in numbers if n is not None}

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[NameSet]:
        return iter(self._sets)


# A corpus' pages as a set and their titles as a mapping, looked up in the corpus and never loaded.


class PageIds(Set[str]):
    """The ids of all pages; what it gives with `&` and `-` is a frozenset."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def _from_iterable(cls, ids: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(ids)

    def __contains__(self, page: object) -> bool:
        return isinstance(page, str) and self._corpus.page_row(page) is not None

    def __iter__(self) -> Iterator[str]:
        for batch in self._corpus.page_table.batches(["page"]):
            yield from batch["page"].to_pylist()

    def __len__(self) -> int:
        return self._corpus.page_count


class PageTitles(Mapping[str, str]):
    """The title of each page by its id."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __getitem__(self, page: str) -> str:
        if (row := self._corpus.page_row(page)) is None:
            raise KeyError(page)
        return str(self._corpus.page_table.value(row, "title") or "")

    def __iter__(self) -> Iterator[str]:
        return (page for page, _ in self.pairs())

    def __len__(self) -> int:
        return self._corpus.page_count

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pages and titles in the order of the corpus, read in batches."""
        for batch in self._corpus.page_table.batches(["page", "title"]):
            titles = (title or "" for title in batch["title"].to_pylist())
            yield from zip(batch["page"].to_pylist(), titles, strict=True)
