"""Name sets at the user's word: which entity a question is about, what it is called, which pages are about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.gold import GoldPages
from whichone.benchmarks.used_sets import UsedSets
from whichone.files.arrow_records import Spool, blocks, existing
from whichone.files.tables import connect
from whichone.names import title_key
from whichone.records import Bearer, NameSet, Output, Provenance, Query

BLOCK = 20_000
Pages = dict[str, list[tuple[str, str]]]
"""The pages of each entity with their titles."""

_TABLES = """
create table pages (page varchar, title varchar, key varchar);
create table about (entity varchar, page varchar, n bigint);
create table called (key varchar, entity varchar, name varchar, n bigint);
"""
_OWN = """
create table own as
select entity, page, any_value(title) as title, any_value(key) as key, min(n) as n
from about join pages using (page) group by entity, page
"""
_BEARERS = """
create table bearers as
with keys as (select key from own union select key from called),
free as (select page, key from pages semi join keys using (key) anti join own using (page)),
each as (
    select key, entity, false as free from own
    union all select key, entity, false from called
    union all select key, page, true from free
)
select key, entity, bool_or(free) as free from each where key <> '' group by key, entity
"""
_SETS = """
with shared as (select key from bearers group by key having count(*) > 1),
listed as (
    select entity, list(page order by n) as pages, arg_min(title, n) as label from own group by entity
),
shown as (select key, arg_min(name, n) as name from called group by key)
select b.key, coalesce(s.name, b.key) as name, b.entity, coalesce(l.label, p.title, b.entity) as label,
    coalesce(l.pages, case when p.page is null then [] else [p.page] end) as pages
from bearers b semi join shared using (key)
left join shown s on s.key = b.key
left join listed l on l.entity = b.entity
left join pages p on b.free and p.page = b.entity
order by b.key, b.entity
"""


def by_entity(
    queries: Sequence[Query], corpus: GoldPages, near: str | Path | None = None
) -> tuple[Sequence[Query], UsedSets]:
    """The queries with their gold and name set by entity, and the sets; both on the disk of `near`.

    Every page about the right entity answers a question, whichever it is. An entity has the names that
    questions give it and those of its pages' titles; a page that belongs to nobody and has such a title
    is a bearer of its own.
    """
    placed, sets = Spool(Query, near), UsedSets(near)
    with connect(spill=existing(near)) as connection:
        connection.execute(_TABLES)
        titles = ((page, title, title_key(title)) for page, title in corpus.titles.items())
        _insert(connection, "pages", titles)
        _insert(connection, "about", _numbered(_about(queries, corpus)))
        _insert(connection, "called", _numbered(_called(queries)))
        connection.execute(_OWN)
        connection.execute(_BEARERS)
        for some in blocks(_sets(connection), BLOCK):
            sets.add(some)
        for block in blocks(queries, BLOCK):
            placed.extend(_placed(block, corpus, _pages(connection, block), sets))
    return placed, sets


def _insert(connection: Any, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    for block in blocks(rows, BLOCK):
        columns = [pa.array(column) for column in zip(*block, strict=True)]
        connection.register("block", pa.table(columns, names=[str(n) for n in range(len(columns))]))
        connection.execute(f"insert into {table} select * from block")
        connection.unregister("block")


def _numbered(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[object, ...]]:
    return ((*row, number) for number, row in enumerate(rows))


def _about(queries: Sequence[Query], corpus: GoldPages) -> Iterator[tuple[str, ...]]:
    """Entities and their pages: as the corpus says, else the gold pages of an entity's questions."""
    yield from corpus.entity_pages.pairs()
    for query in queries:
        if query.entity is not None and query.entity not in corpus.entity_pages:
            yield from ((query.entity, page) for page in sorted(query.gold_pages()))


def _called(queries: Sequence[Query]) -> Iterator[tuple[str, ...]]:
    for query in queries:
        if query.entity is not None and query.name:
            yield title_key(query.name), query.entity, query.name


def _sets(connection: Any) -> Iterator[NameSet]:
    batches = connection.sql(_SETS).to_arrow_reader(BLOCK)
    rows = (row for batch in batches for row in batch.to_pylist())
    for (key, name), bearers in groupby(rows, lambda row: (row["key"], row["name"])):
        yield NameSet(
            id=f"name:{key}",
            name=name,
            collection="names",
            bearers=tuple(
                Bearer(entity=b["entity"], label=b["label"], pages=tuple(b["pages"]))
                for b in bearers
            ),
        )


def _pages(connection: Any, queries: Iterable[Query]) -> Pages:
    entities = sorted({query.entity for query in queries if query.entity is not None})
    rows = connection.execute(
        "select entity, page, title from own where entity in (select unnest(?)) order by n",
        [entities],
    ).fetchall()
    pages: Pages = {}
    for entity, page, title in rows:
        pages.setdefault(entity, []).append((page, title))
    return pages


def _placed(
    queries: Sequence[Query], corpus: GoldPages, pages: Pages, sets: UsedSets
) -> Iterator[Query]:
    ids = {
        query.id: [
            f"name:{title_key(name)}"
            for name in (query.name, *(title for _, title in pages.get(query.entity or "", ())))
            if name
        ]
        for query in queries
        if query.entity is not None
    }
    known = sets.get(identity for names in ids.values() for identity in names)
    for query in queries:
        if query.entity is None:
            yield query
            continue
        name_set = next((known[name] for name in ids[query.id] if name in known), None)
        outputs = query.outputs
        if outputs and query.entity in corpus.entity_pages:
            gold = query.gold_pages()
            more = [
                (Provenance(page=page, title=title),)
                for page, title in pages.get(query.entity, ())
                if page not in gold
            ]
            first: Output = msgspec.structs.replace(
                outputs[0], provenance=(*outputs[0].provenance, *more), entity=query.entity
            )
            outputs = (first, *outputs[1:])
        yield msgspec.structs.replace(
            query,
            outputs=outputs,
            name=query.name or (name_set.name if name_set else None),
            name_set=name_set.id if name_set else None,
            attributes={**query.attributes, "shared_name": name_set is not None},
        )
