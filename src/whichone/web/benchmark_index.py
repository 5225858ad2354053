"""The index of one benchmark for its pages: name sets by what is typed, facets, queries.

It is derived, lies in the cache, is named by the benchmark's content, and may be deleted at will.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.web.folded import fold

FORMAT = 1
_BATCH = 8192

_SCHEMA = """
create table staged (
    id text primary key, name text, key text, collection text, bearers integer,
    popularity real, gap real
) without rowid;
create table staged_bearers (
    id text, rank integer, entity text, label text, role text, popularity real, types text, pages text,
    primary key (id, rank)
) without rowid;
"""
_NUMBERED = """
create table sets (
    n integer primary key, id text unique, name text, key text, collection text,
    bearers integer, gap real
);
insert into sets select row_number() over (order by popularity desc, id), id, name, key, collection,
    bearers, gap from staged;
create table bearers (
    n integer, rank integer, entity text, label text, role text, popularity real, types text, pages text,
    primary key (n, rank)
) without rowid;
insert into bearers select sets.n, rank, entity, label, role, popularity, types, pages
    from staged_bearers join sets using (id);
drop table staged; drop table staged_bearers;
create table queries (
    q integer primary key, id text unique, n integer, task text, relation text, role text,
    entity text, name text, input text, answers text, gold text, others text
);
"""
_INDEXES = """
create index queries_by_set on queries (n, q);
create table facets (kind text, value text, n integer, primary key (kind, value, n)) without rowid;
insert or ignore into facets select 'task', task, n from queries where n is not null;
insert or ignore into facets select 'relation', relation, n from queries where n is not null and relation is not null;
insert or ignore into facets select 'type', value, n from bearers, json_each(bearers.types);
insert or ignore into facets select 'collection', collection, n from sets where collection <> '';
insert or ignore into facets select 'bearers', case when bearers < 6 then bearers else '6 or more' end, n from sets;
insert or ignore into facets select 'gap', case
    when gap is null then 'unknown' when gap < 2 then 'under 2 times' when gap < 10 then '2 to 10 times'
    when gap < 100 then '10 to 100 times' when gap < 1000 then '100 to 1000 times'
    else '1000 times or more' end, n from sets;
create table facet_counts as select kind, value, count(*) as sets from facets group by kind, value;
create virtual table names using fts5(key, content='sets', content_rowid='n', tokenize='trigram');
insert into names (names) values ('rebuild');
insert into names (names) values ('optimize');
analyze;
"""


def benchmark_index(folder: Folder, cache: Path) -> Path:
    """Where the index lies; it is made when it is not there yet."""
    path = cache / f"benchmark-{FORMAT}-{folder.content_hash}.sqlite"
    if not path.exists():
        build_whole(path, lambda database: _build(database, folder))
    return path


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


def rows_of(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table on disk, a batch in memory at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, columns=columns):
            yield from batch.to_pylist()


def _build(database: sqlite3.Connection, folder: Folder) -> None:
    database.executescript(_SCHEMA)
    database.execute("begin")
    columns = ["set", "name", "collection", "rank", "entity", "label", "role", "popularity"]
    rows = rows_of(folder.path("sets.parquet"), [*columns, "types", "pages"])
    for key, members in groupby(rows, key=lambda row: row["set"]):
        _add_set(database, key, list(members))
    database.execute("commit")
    database.executescript(_NUMBERED)
    database.execute("begin")
    columns = ["id", "task", "input", "name", "name_set", "role", "relation", "entity"]
    wanted = [*columns, "gold_pages", "outputs", "attributes"]
    for number, row in enumerate(rows_of(folder.path("queries.parquet"), wanted), 1):
        _add_query(database, number, row)
    database.execute("commit")
    database.executescript(_INDEXES)


def _add_set(database: sqlite3.Connection, key: str, members: list[dict[str, Any]]) -> None:
    popular = sorted(
        (m["popularity"] for m in members if m["popularity"] is not None), reverse=True
    )
    gap = popular[0] / max(popular[1], 1.0) if len(popular) > 1 else None
    name = members[0]["name"]
    database.execute(
        "insert into staged values (?, ?, ?, ?, ?, ?, ?)",
        (key, name, fold(name), members[0]["collection"] or "", len(members),
         popular[0] if popular else 0.0, gap),
    )  # fmt: skip
    database.executemany(
        "insert into staged_bearers values (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (key, m["rank"], m["entity"], m["label"] or m["entity"], m["role"], m["popularity"],
             json.dumps(m["types"] or []), json.dumps(m["pages"] or []))
            for m in members
        ],
    )  # fmt: skip


def _add_query(database: sqlite3.Connection, number: int, row: dict[str, Any]) -> None:
    found = database.execute("select n from sets where id = ?", (row["name_set"],)).fetchone()
    n = found[0] if found else None
    gold = set(row["gold_pages"])
    others: set[str] = set()
    if n is not None:
        bearers = database.execute("select entity, pages from bearers where n = ?", (n,))
        for entity, pages in bearers:
            if entity != row["entity"]:
                others.update(json.loads(pages))
    answers = [
        text
        for output in json.loads(row["outputs"])
        for text in (output.get("answer"), *output.get("aliases", ()))
        if text
    ]
    label = json.loads(row["attributes"]).get("property_label")
    relation = f"{label} ({row['relation']})" if label and row["relation"] else row["relation"]
    database.execute(
        "insert into queries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, row["id"], n, row["task"], relation, row["role"], row["entity"], row["name"],
         row["input"], json.dumps(list(dict.fromkeys(answers))), json.dumps(sorted(gold)),
         json.dumps(sorted(others - gold))),
    )  # fmt: skip
