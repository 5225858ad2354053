"""A benchmark on disk: queries, the name sets they belong to, and the passages they are asked of."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.licence import with_licence
from whichone.benchmarks.tables import KIND, PASSAGES, QUERIES, SETS
from whichone.collector import without_collector
from whichone.errors import BadInput, sample
from whichone.files.folder import Folder
from whichone.records import Bearer, NameSet, Output, Passage, Query, Question, page_of

_DECODED = {
    "outputs": msgspec.json.Decoder(tuple[Output, ...]).decode,
    "attributes": msgspec.json.Decoder(dict[str, Any]).decode,
}
"""Fields of a query that its table keeps as JSON."""


class Benchmark:
    """Queries, the corpus they are asked of, and a card that says how both were made."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, where: str | Path) -> Benchmark:
        """Open a benchmark folder, or a built-in one by its name, such as "builtin/amber"."""
        if isinstance(where, str) and where.startswith("builtin/") and not Path(where).exists():
            from whichone.benchmarks.builtin import builtin_benchmark

            return cls(Folder.open(builtin_benchmark(where), KIND))
        return cls(Folder.open(where, KIND))

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def id(self) -> str:
        """Its name and the first 12 hex digits of its content's hash."""
        return f"{self.name}-{self.folder.content_hash[:12]}"

    @property
    def card(self) -> str:
        return self.folder.path("card.md").read_text("utf-8")

    @functools.cached_property
    def query_table(self) -> pa.Table:
        return self.folder.table("queries")

    @functools.cached_property
    def queries(self) -> tuple[Query, ...]:
        with without_collector():
            return tuple(_queries(self.query_table))

    def queries_of(self, task: str) -> list[Query]:
        """The queries of one task, read anew: a part of all takes that part of the memory."""
        table = self.query_table
        tasks = table["task"].to_pylist()
        found: list[Query] = []
        with without_collector():
            for one, places in groupby(range(len(tasks)), key=tasks.__getitem__):
                if one == task:
                    run = list(places)
                    found += _queries(table.slice(run[0], len(run)))
        return found

    def questions(self) -> list[Question]:
        return [query.question() for query in self.queries]

    @functools.cached_property
    def sets(self) -> tuple[NameSet, ...]:
        return tuple(_name_sets(self.folder.table("sets").to_pylist()))

    @functools.cached_property
    def passages(self) -> pa.Table:
        """Columns id, page, n, title, text; a passage's row is its ordinal."""
        return self.folder.table("passages")

    def passage_records(self) -> Iterator[Passage]:
        for batch in self.passages.to_batches(max_chunksize=4096):
            for row in batch.select(["id", "page", "title", "text"]).to_pylist():
                yield Passage(**row)

    @functools.cached_property
    def pages(self) -> frozenset[str]:
        return frozenset(self.passages.column("page").unique().to_pylist())

    @functools.cached_property
    def page_titles(self) -> dict[str, str]:
        table = self.passages.select(["page", "title"])
        return dict(zip(table["page"].to_pylist(), table["title"].to_pylist(), strict=True))

    def other_pages(self, query: Query) -> frozenset[str]:
        """Pages of the other bearers of the query's name; a page that is gold is no other."""
        name_set = self._sets_by_id.get(query.name_set or "")
        if name_set is None:
            return frozenset()
        others = (b.pages for b in name_set.bearers if b.entity != query.entity)
        return frozenset(page for pages in others for page in pages) - query.gold_pages()

    @functools.cached_property
    def _sets_by_id(self) -> dict[str, NameSet]:
        return {s.id: s for s in self.sets}


@without_collector()
def save_benchmark(
    path: str | Path,
    *,
    name: str,
    queries: Iterable[Query],
    passages: pa.Table | pa.RecordBatchReader | Iterable[Passage],
    sets: Iterable[NameSet] = (),
    card: str = "",
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    parents: Mapping[str, str] | None = None,
    counts: Mapping[str, Any] | None = None,
    allow_no_gold: bool = False,
    files: Mapping[str, bytes] | None = None,
) -> Benchmark:
    """Check and write a benchmark; nothing half-written is left behind by an error.

    `passages` that come as a reader come in the order of their table. `files` are further files by
    name that a kind of benchmark keeps for its own format.
    """
    rows = list(queries)
    check_queries(rows, allow_no_gold=allow_no_gold)
    with Folder.create(path, KIND) as folder:
        folder.write(QUERIES, query_rows(rows))
        folder.write(SETS, set_rows(sets))
        columns = isinstance(passages, pa.Table | pa.RecordBatchReader)
        folder.write(PASSAGES, passages if columns else passage_rows(passages))
        folder.write_bytes("card.md", with_licence(card, sources).encode())
        for file, content in (files or {}).items():
            folder.write_bytes(file, content)
        folder.commit(
            name=name,
            parameters=parameters,
            sources=sources,
            parents=parents,
            counts={"queries": len(rows), **(counts or {})},
        )
        return Benchmark(folder)


def check_queries(queries: Sequence[Query], *, allow_no_gold: bool = False) -> None:
    seen: set[str] = set()
    twice = [q.id for q in queries if q.id in seen or seen.add(q.id)]  # type: ignore[func-returns-value]
    if twice:
        raise BadInput(f"{len(twice)} query ids occur twice: {sample(twice)}")
    if not queries:
        raise BadInput("there are no queries")
    without = [q.id for q in queries if not q.outputs]
    if without and not allow_no_gold:
        raise BadInput(
            f"{len(without)} queries have no gold: {sample(without)}",
            hint="give each an answer or a gold page, or leave them out",
        )


def query_rows(queries: Sequence[Query]) -> pa.Table:
    fields = zip(*map(msgspec.structs.astuple, queries), strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(Query.__struct_fields__, fields, strict=True))
    for name in _DECODED:
        columns[name] = [msgspec.json.encode(value).decode() for value in columns[name]]
    columns["gold_pages"] = [sorted(query.gold_pages()) for query in queries]
    columns["place"] = range(len(queries))
    return QUERIES.from_columns(columns)


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


def passage_rows(passages: Iterable[Passage]) -> pa.Table:
    return PASSAGES.from_rows(
        [
            {
                "id": p.id,
                "page": p.page,
                "n": int(p.id.rpartition("#")[2]) if page_of(p.id) != p.id else 0,
                "title": p.title,
                "text": p.text,
                "source_id": p.source_id,
            }
            for p in passages
        ]
    )


def _queries(table: pa.Table) -> Iterator[Query]:
    columns = (table.column(name).to_pylist() for name in Query.__struct_fields__)
    decoders = (_DECODED.get(name) for name in Query.__struct_fields__)
    return map(Query, *(map(d, c) if d else c for d, c in zip(decoders, columns, strict=True)))


def _name_sets(rows: list[dict[str, Any]]) -> Iterator[NameSet]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row["set"], []).append(row)
    for key, members in grouped.items():
        bearers = tuple(
            Bearer(
                entity=m["entity"],
                label=m["label"] or "",
                role=m["role"],
                popularity=m["popularity"],
                types=tuple(m["types"] or ()),
                pages=tuple(m["pages"] or ()),
            )
            for m in members
        )
        first = members[0]
        yield NameSet(id=key, name=first["name"], collection=first["collection"], bearers=bearers)
