"""The index of one benchmark for its pages: name sets and queries by what is typed, and facets.

It is derived, lies in the cache, is named by the benchmark's content, and may be deleted at will. Rows
are joined and ordered by DuckDB within a bound of memory, and copied over a batch at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.files.tables import connect
from whichone.web.folded import fold
from whichone.web.text_grams import QUERIES, SETS, build_grams

FORMAT = 2
MEMORY = "512MB"
_BATCH = 16_384

_SCHEMA = """
create table sets (
    n integer primary key, id text, name text, collection text, bearers integer, gap real, key text
);
create table bearers (
    n integer, rank integer, entity text, label text, role text, popularity real, types text, pages text,
    primary key (n, rank)
) without rowid;
create table queries (
    q integer primary key, id text, n integer, task text, relation text, role text, entity text,
    name text, input text, gold text, others text, answers text, key text
);
create table facets (kind text, value text, n integer, primary key (kind, value, n)) without rowid;
"""
_INDEXES = """
create unique index queries_by_id on queries (id);
create index queries_by_set on queries (n, q);
create table facet_counts as select kind, value, count(*) as sets from facets group by kind, value;
create table query_facets (kind text, value text, queries integer);
insert into query_facets select 'task', task, count(*) from queries group by task;
insert into query_facets select 'relation', relation, count(*) from queries where relation is not null group by relation;
insert into query_facets select 'role', role, count(*) from queries where role is not null group by role;
"""
_SETS = """
create temp table numbered as
select row_number() over (order by coalesce(top[1], 0) desc, id) as n, * from (
    select "set" as id, min_by(name, rank) as name,
        min_by(coalesce(collection, ''), rank) as collection, count(*) as bearers,
        max(popularity, 2) as top
    from sets group by "set");
create temp table asked as
select q.*, n, row_number() over (order by place, q.id) as q,
    json_extract_string(attributes, '$.property_label') as label
from queries q left join numbered on numbered.id = q.name_set;
create temp table others as
select q, list_sort(list(distinct page)) as pages from (
    select q, gold_pages, unnest(pages) as page from (
        select asked.q, asked.gold_pages, s.pages from asked join sets s on s."set" = asked.name_set
        where s.entity is distinct from asked.entity))
where not list_contains(gold_pages, page) group by q
"""
_RELATION = "case when label is not null then label || ' (' || relation || ')' else relation end"
_ROWS = {
    "sets": """select n, id, name, collection, bearers,
        case when len(top) > 1 then top[1] / greatest(top[2], 1.0) end as gap from numbered order by n""",
    "bearers": """select n, rank, entity, coalesce(nullif(label, ''), entity), role, popularity,
        to_json(coalesce(types, [])), to_json(coalesce(pages, []))
        from sets join numbered on numbered.id = sets."set" order by n, rank""",
    "queries": f"""select asked.q, asked.id, n, task, {_RELATION} as relation, role, entity, name, input,
        to_json(list_sort(gold_pages)),
        to_json(coalesce(pages, [])),
        outputs from asked left join others using (q) order by asked.q""",
    "facets": f"""select distinct kind, value, n from (
        select 'task' as kind, task as value, n from asked
        union all select 'relation', {_RELATION}, n from asked
        union all select 'type', unnest(types), n from sets join numbered on numbered.id = sets."set"
        union all select 'collection', nullif(collection, ''), n from numbered
        union all select 'bearers', case when bearers < 6 then bearers::text else '6 or more' end, n from numbered
        union all select 'gap', case when gap is null then 'unknown' when gap < 2 then 'under 2 times'
            when gap < 10 then '2 to 10 times' when gap < 100 then '10 to 100 times'
            when gap < 1000 then '100 to 1000 times' else '1000 times or more' end, n
            from (select n, case when len(top) > 1 then top[1] / greatest(top[2], 1.0) end as gap from numbered)
    ) where n is not null and value is not null order by kind, value, n""",
}  # fmt: skip


def index_path(folder: Folder, cache: Path) -> Path:
    """Where the index of a benchmark lies, once it is made."""
    return cache / f"benchmark-{FORMAT}-{folder.content_hash}.sqlite"


def build_benchmark_index(path: Path, folder: Folder, cache: Path) -> None:
    build_whole(path, lambda database: _build(database, folder, cache))


def build_whole(path: Path, build: Callable[[sqlite3.Connection], None]) -> None:
    """Make an index beside its place and move it there when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    database = sqlite3.connect(beside, isolation_level=None)
    try:
        database.executescript("pragma journal_mode = off; pragma synchronous = off;")
        build(database)
        database.close()
        beside.replace(path)
    except BaseException:
        database.close()
        beside.unlink(missing_ok=True)
        raise


def _build(database: sqlite3.Connection, folder: Folder, cache: Path) -> None:
    database.executescript(_SCHEMA)
    with _engine(folder, cache) as engine:
        for statement in _SETS.split(";"):
            engine.execute(statement)
        database.execute("begin")
        _copy(database, "sets", _rows(engine, "sets"), lambda row: (*row, fold(row[2])))
        _copy(database, "bearers", _rows(engine, "bearers"))
        _copy(database, "queries", _rows(engine, "queries"), _query)
        _copy(database, "facets", _rows(engine, "facets"))
        database.execute("commit")
    database.executescript(_INDEXES)
    build_grams(database, SETS)
    build_grams(database, QUERIES)


@contextlib.contextmanager
def _engine(folder: Folder, cache: Path) -> Iterator[Any]:
    """DuckDB with the benchmark's tables, spilling beside the index."""
    with connect(MEMORY, cache) as engine:
        engine.execute("set threads = 2")
        for table in ("sets", "queries"):
            place = str(folder.path(f"{table}.parquet")).replace("'", "''")
            engine.execute(f"create view {table} as from read_parquet('{place}')")
        yield engine


def _rows(engine: Any, table: str) -> Iterator[tuple[Any, ...]]:
    for batch in engine.sql(_ROWS[table]).to_arrow_reader(_BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _copy(
    database: sqlite3.Connection, table: str, rows: Iterator[tuple[Any, ...]],
    change: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
) -> None:  # fmt: skip
    columns = len(database.execute(f"pragma table_info({table})").fetchall())
    changed = rows if change is None else map(change, rows)
    database.executemany(f"insert into {table} values ({', '.join('?' * columns)})", changed)


def _query(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The answers in place of the outputs, and the question as it is searched."""
    *kept, outputs = row
    answers = [
        text
        for output in json.loads(outputs)
        for text in (output.get("answer"), *output.get("aliases", ()))
        if text
    ]
    return (*kept, json.dumps(list(dict.fromkeys(answers))), fold(row[8]))
