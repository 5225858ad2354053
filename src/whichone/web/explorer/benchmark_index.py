"""The index of one benchmark for its pages: name sets and queries by what is typed, and facets.

It is derived, is in the cache, is named by the benchmark's content, and may be deleted at will. Of a
name set a few numbers are held in memory while it is made, everything else a batch at a time.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from whichone.benchmarks.bearer_labels import qualifier_of
from whichone.benchmarks.benchmark import pages_of_others
from whichone.benchmarks.several import BENCHMARK
from whichone.files.folder import Folder
from whichone.files.output import written_beside
from whichone.names import fold
from whichone.web.explorer.set_numbers import number_sets, with_places
from whichone.web.explorer.text_grams import QUERIES, SETS, build_grams


def labelled(folder: Folder) -> Callable[[str], str]:
    """An id with its word before it, "Human (Q5)", where there is one."""
    words = _published() | _own(folder.manifest.parameters)
    return cache(lambda key: f"{words[key]} ({key})" if key in words else key)


@cache
def _published() -> dict[str, str]:
    from whichone import registry

    words: dict[str, str] = {}
    for labels in registry.every("labels").values():
        words |= labels()
    return {key: word for key, word in words.items() if word}


def _own(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Of the collections that a benchmark was built with, however deep they are."""
    results: dict[str, str] = {}
    for key, value in parameters.items():
        if not isinstance(value, Mapping):
            continue
        if key == "collection":
            types = value.get("types") or {}
            results |= {
                t["id"]: t["label"] for t in types.values() if t.get("id") and t.get("label")
            }
        else:
            results |= _own(value)
    return results


FORMAT = 8
_BATCH = 8192
_SET_COLUMNS = [
    "name",
    "collection",
    "rank",
    "entity",
    "label",
    "role",
    "popularity",
    "types",
    "pages",
]
_QUERY_COLUMNS = ["id", "task", "input", "name", "name_set", "role", "relation", "entity", "gold_pages",
                  "outputs", "attributes"]  # fmt: skip

_SCHEMA = """
create table staged (
    n integer, id text, name text, collection text, bearers integer, gap real, key text
);
create table bearers (
    n integer, rank integer, entity text, label text, role text, popularity real, types text, pages text
);
create table queries (
    q integer primary key, id text, n integer, task text, relation text, role text, entity text,
    name text, input text, gold text, others text, answers text, qualifier text, key text, benchmark text
);
create table bearer_answers (n integer, entity text, relation text, answers text);
"""
_SETS = """
create table sets (
    n integer primary key, id text, name text, collection text, bearers integer, gap real, key text
);
insert into sets select * from staged order by n;
drop table staged;
create unique index sets_by_id on sets (id);
create index bearers_by_set on bearers (n, rank);
"""
_FACETS = """
create unique index queries_by_id on queries (id);
create index queries_by_set on queries (n, q);
create index bearer_answers_by_set on bearer_answers (n);
create table facets (kind text, value text, n integer, primary key (kind, value, n)) without rowid;
insert into facets select distinct 'task', task, n from queries where n is not null order by 2, 3;
insert into facets select distinct 'relation', relation, n from queries
    where n is not null and relation is not null order by 2, 3;
insert into facets select distinct 'type', value, n from bearers, json_each(bearers.types) order by 2, 3;
insert into facets select distinct 'benchmark', benchmark, n from queries
    where n is not null and benchmark is not null order by 2, 3;
insert into facets select 'collection', collection, n from sets where collection <> '' order by 2, 3;
insert into facets select 'bearers', case when bearers < 6 then bearers else '6 or more' end, n
    from sets order by 2, 3;
insert into facets select 'gap', case
    when gap is null then 'unknown' when gap < 2 then 'under 2 times' when gap < 10 then '2 to 10 times'
    when gap < 100 then '10 to 100 times' when gap < 1000 then '100 to 1000 times'
    else '1000 times or more' end, n from sets order by 2, 3;
create table facet_counts as select kind, value, count(*) as sets from facets group by kind, value;
create table query_facets (kind text, value text, queries integer);
insert into query_facets select 'task', task, count(*) from queries group by task;
insert into query_facets select 'relation', relation, count(*) from queries where relation is not null group by relation;
insert into query_facets select 'benchmark', benchmark, count(*) from queries
    where benchmark is not null group by benchmark;
insert into query_facets select 'role', role, count(*) from queries where role is not null group by role;
"""


def index_path(folder: Folder, cache: Path) -> Path:
    """Where the index of a benchmark is stored, once it is made."""
    return cache / f"benchmark-{FORMAT}-{folder.content_hash}.sqlite"


def build_benchmark_index(path: Path, folder: Folder) -> None:
    build_whole(path, lambda database: _build(database, folder))


def build_whole(path: Path, build: Callable[[sqlite3.Connection], None]) -> None:
    """Make an index beside its place and move it there when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        written_beside(path) as beside,
        contextlib.closing(sqlite3.connect(beside, isolation_level=None)) as database,
    ):
        database.executescript("pragma journal_mode = off; pragma synchronous = off;")
        build(database)


def _build(database: sqlite3.Connection, folder: Folder) -> None:
    database.executescript(_SCHEMA)
    database.execute("begin")
    named = labelled(folder)
    _add_sets(database, folder.path("sets.parquet"), named)
    database.execute("commit")
    database.executescript(_SETS)
    database.execute("begin")
    places = _rows(folder.path("queries.parquet"), _QUERY_COLUMNS)
    for number, row in enumerate(places, 1):
        _add_query(database, number, row, named)
    database.execute("commit")
    database.executescript(_FACETS)
    build_grams(database, SETS)
    build_grams(database, QUERIES)


def _add_sets(database: sqlite3.Connection, table: Path, named: Callable[[str], str]) -> None:
    """Bearers as they lie, each set at its first one."""
    numbers = number_sets(table)
    encode = functools.lru_cache(4096)(
        lambda types: msgspec.json.encode([named(type_id) for type_id in types]).decode()
    )
    before = -1
    for batch, places in with_places(table, _SET_COLUMNS):
        rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        numbered = numbers.number[places].tolist()
        database.executemany(
            "insert into bearers values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (n, rank, entity, label or entity, role, popularity, encode(tuple(types or ())),
                 msgspec.json.encode(pages or []).decode())
                for n, (_, _, _, rank, entity, label, role, popularity, types, pages)
                in zip(numbered, rows, strict=True)
            ),
        )  # fmt: skip
        first = np.flatnonzero(np.diff(places, prepend=before)).tolist()
        before = int(places[-1])
        gaps = numbers.gap[places].tolist()
        sizes = numbers.bearers[places].tolist()
        database.executemany(
            "insert into staged values (?, ?, ?, ?, ?, ?, ?)",
            (
                (numbered[i], rows[i][0], rows[i][1], rows[i][2] or "", sizes[i],
                 None if gaps[i] != gaps[i] else gaps[i], fold(rows[i][1]))
                for i in first
            ),
        )  # fmt: skip


def _rows(table: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table on disk, a batch in memory at a time."""
    with pq.ParquetFile(table) as file:
        for batch in file.iter_batches(_BATCH, columns=columns):
            yield from batch.to_pylist()


def _add_query(
    database: sqlite3.Connection, number: int, row: dict[str, Any], named: Callable[[str], str]
) -> None:
    result = database.execute("select n from sets where id = ?", (row["name_set"],)).fetchone()
    n = result[0] if result else None
    gold = frozenset(row["gold_pages"])
    rows = database.execute("select entity, pages from bearers where n = ?", (n,))
    bearers = ((entity, json.loads(pages)) for entity, pages in rows)
    others = pages_of_others(bearers, row["entity"], gold)
    outputs = json.loads(row["outputs"])
    answers = [text for output in outputs for text in _texts(output)]
    attributes = json.loads(row["attributes"])
    label = attributes.get("property_label")
    relation = row["relation"]
    if relation:
        relation = f"{label} ({relation})" if label else named(relation)
    if n is not None and row["entity"] is None:  # asked of all bearers, each with an own answer
        answers_of_bearers = [
            (n, output["entity"], relation or "answer", json.dumps(_texts(output)))
            for output in outputs
            if output.get("entity")
        ]
        database.executemany("insert into bearer_answers values (?, ?, ?, ?)", answers_of_bearers)
    database.execute(
        "insert into queries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, row["id"], n, row["task"], relation, row["role"], row["entity"], row["name"],
         row["input"], json.dumps(sorted(gold)), json.dumps(sorted(others)),
         json.dumps(list(dict.fromkeys(answers))), qualifier_of(attributes), fold(row["input"]),
         attributes.get(BENCHMARK)),
    )  # fmt: skip


def _texts(output: dict[str, Any]) -> list[str]:
    return [text for text in (output.get("answer"), *output.get("aliases", ())) if text]
