"""The index of one benchmark for its pages: name sets and queries by what is typed, and facets.

It is derived, is in the cache, is named by the benchmark's content, and may be deleted at will. Of a
name set a few numbers are held in memory while it is made, everything else a batch at a time.
"""

import contextlib
import functools
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from whichone.benchmarks.bearer_labels import qualifier_of, words_of_ids
from whichone.benchmarks.benchmark import pages_of_others
from whichone.benchmarks.several import BENCHMARK
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.output import written_beside
from whichone.measures.ranking_measures import first_rank, is_confused
from whichone.measures.summary import DEPTH
from whichone.names import fold
from whichone.progress import talk
from whichone.web.explorer.listing import QUERIES, SETS, WHAT_BECAME, build_grams


def labelled(folder: Folder) -> Callable[[str], str]:
    """An id with its word before it, "Human (Q5)", where there is one."""
    words = words_of_ids(folder.manifest.parameters)
    return cache(lambda key: f"{words[key]} ({key})" if key in words else key)


FORMAT = 9
_BATCH = 8192
_SETS_BATCH = 16_384
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
insert into facets select distinct 'role', role, n from queries
    where n is not null and role is not null order by 2, 3;
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
    for number, row in enumerate(_rows(folder.path("queries.parquet"), _QUERY_COLUMNS), 1):
        _add_query(database, number, row, named)
    database.execute("commit")
    database.executescript(_FACETS)
    build_grams(database, SETS)
    build_grams(database, QUERIES)


# Bearers as they lie, with the number of their set (the most popular head first) and how many times as
# popular its head is as the next; nothing where fewer than two are known.
_NUMBERED = """
with sets as (
    select set, min(row) as first, count(*) as bearers, max(popularity, 2) filter (not isnan(popularity)) as best
    from rows group by set
), numbered as (
    select *, row_number() over (order by coalesce(best[1], 0) desc, first) as n from sets
)
select n, numbered.first = row, rows.set, name, coalesce(collection, ''), bearers,
    case when best[2] is not null then best[1] / greatest(best[2], 1) end, rank, entity, coalesce(nullif(label, ''), entity), role, popularity,
    types, pages
from rows join numbered using (set) order by row
"""


def _add_sets(database: sqlite3.Connection, table: Path, named: Callable[[str], str]) -> None:
    """Bearers as they lie, each set at its first one."""
    import duckdb

    encode = functools.lru_cache(4096)(
        lambda types: msgspec.json.encode([named(type_id) for type_id in types]).decode()
    )
    source = "select *, file_row_number as row from read_parquet(?, file_row_number = true)"
    with duckdb.connect(config={"memory_limit": "512MB"}) as engine:
        rows = engine.execute(f"with rows as ({source}), {_NUMBERED.strip()[5:]}", [str(table)])
        while batch := rows.fetchmany(_SETS_BATCH):
            database.executemany(
                "insert into bearers values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (n, *bearer, encode(tuple(types or ())), msgspec.json.encode(pages or []).decode())
                    for n, _, _, _, _, _, _, *bearer, types, pages in batch
                ),
            )
            database.executemany(
                "insert into staged values (?, ?, ?, ?, ?, ?, ?)",
                (
                    (n, key, name, collection, bearers, gap, fold(name))
                    for n, first, key, name, collection, bearers, gap, *_ in batch
                    if first
                ),
            )


def _rows(table: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
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
    if relation := row["relation"]:
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


# The index of one run for the pages: what became of every query, and of every name set.
# It is derived from the rankings as they lie on disk, one question in memory at a time.

RUN_INDEX_FORMAT = 5
_RUN_INDEX_BATCH = 8192

_RUN_INDEX_SCHEMA = """
create table outcomes (
    q integer primary key, n integer, gold_rank integer, namesake_rank integer,
    right integer not null, confused integer not null, failed integer not null
);
create table failures (id text primary key) without rowid;
"""
_RUN_INDEX_SETS = """
insert or ignore into outcomes select q, n, null, null, 0, 0, id in (select id from failures)
    from benchmark.queries;
drop table failures;
create table set_outcomes as select n, min(right) as all_correct, sum(right) as right,
    sum(confused) as confused, count(*) as queries from outcomes where n is not null group by n;
create unique index set_outcomes_by_n on set_outcomes (n);
create index sets_confused on set_outcomes (n) where confused > 0;
create index sets_correct on set_outcomes (n) where all_correct = 1;
create index sets_not_correct on set_outcomes (n) where all_correct = 0;
create index queries_right on outcomes (q) where right = 1;
create index queries_wrong on outcomes (q) where right = 0;
create index queries_confused on outcomes (q) where confused = 1;
create index queries_failed on outcomes (q) where failed = 1;
create table summary (what text primary key, value integer not null) without rowid;
insert into summary select 'queries', count(*) from outcomes;
insert into summary select 'queries in sets', count(*) from outcomes where n is not null;
insert into summary select 'right = 1', count(*) from outcomes where right = 1;
insert into summary select 'right = 0', count(*) from outcomes where right = 0;
insert into summary select 'confused = 1', count(*) from outcomes where confused = 1;
insert into summary select 'failed = 1', count(*) from outcomes where failed = 1;
insert into summary select 'found later', count(*) from outcomes
    where right = 0 and confused = 0 and gold_rank is not null;
insert into summary select 'not found', count(*) from outcomes
    where right = 0 and confused = 0 and gold_rank is null;
insert into summary select 'sets', count(*) from set_outcomes;
insert into summary select 'sets confused > 0', count(*) from set_outcomes where confused > 0;
insert into summary select 'sets all_correct = 1', count(*) from set_outcomes where all_correct = 1;
insert into summary select 'sets all_correct = 0', count(*) from set_outcomes where all_correct = 0;
"""


def build_run_index(database: sqlite3.Connection, run: Folder, benchmark: Path) -> None:
    database.executescript(_RUN_INDEX_SCHEMA)
    database.execute("attach ? as benchmark", (str(benchmark),))
    database.execute("begin")
    for question, pages in _ranked(run):
        row = database.execute(
            "select q, n, gold, others from benchmark.queries where id = ?", (question,)
        ).fetchone()
        if row is None:
            continue
        golds, others = frozenset(json.loads(row[2])), frozenset(json.loads(row[3]))
        gold, namesake = first_rank(pages, golds), first_rank(pages[:DEPTH], others)
        database.execute(
            "insert into outcomes values (?, ?, ?, ?, ?, ?, 0)",
            (row[0], row[1], gold, namesake, gold == 1, is_confused(pages[:DEPTH], golds, others)),
        )
    failed = run.table("failures")["question"].to_pylist() if run.has("failures.parquet") else []
    database.executemany("insert into failures values (?)", ((question,) for question in failed))
    database.execute("commit")
    database.executescript(_RUN_INDEX_SETS)
    database.execute(
        f"insert into summary select role || ' ' || {WHAT_BECAME}, count(*) from outcomes "
        "join benchmark.queries using (q) where role in ('head', 'tail') group by 1"
    )
    database.execute("detach benchmark")


def _ranked(run: Folder) -> Iterator[tuple[str, list[str]]]:
    """Each question with its pages in order, each page once; rankings lie sorted by question."""
    with pq.ParquetFile(run.path("rankings.parquet")) as file:
        batches = file.iter_batches(_RUN_INDEX_BATCH, columns=["question", "page"])
        rows = (row for b in batches for row in zip(b[0].to_pylist(), b[1].to_pylist(), strict=True))
        for question, members in groupby(rows, key=lambda row: row[0]):
            yield question, list(dict.fromkeys(page for _, page in members))


# Who makes the indexes: small ones whoever asks first, large ones one thread in the background.

SMALL = 200_000  # Rows that are indexed in a second or two, while the page waits


class NotReady(Exception):
    """What was asked for is being indexed; come again in a while."""


class Indexes:
    """The indexes in one cache folder; each is made once, whoever asks how often."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._lock = threading.Lock()
        self._building: dict[Path, threading.Lock] = {}
        self._later: dict[Path, Future[None]] = {}
        self._worker = ThreadPoolExecutor(1, "indexer")

    def of_benchmark(self, folder: Folder) -> Path:
        path = self.cache / f"benchmark-{FORMAT}-{folder.content_hash}.sqlite"
        rows = folder.rows("sets") + folder.rows("queries")
        return self._made(path, rows, folder.manifest.name, lambda: build_benchmark_index(path, folder))

    def of_run(self, run: Folder, benchmark: Folder) -> Path:
        index = self.of_benchmark(benchmark)
        path = self.cache / f"run-{RUN_INDEX_FORMAT}-{run.content_hash}-{benchmark.content_hash[:12]}.sqlite"
        build = partial(build_whole, path, lambda database: build_run_index(database, run, index))
        return self._made(path, run.rows("rankings"), run.manifest.name, build)

    def _made(self, path: Path, rows: int, name: str, build: Callable[[], None]) -> Path:
        if path.exists():
            return path
        with self._lock:
            lock = self._building.setdefault(path, threading.Lock())
        with lock:
            if path.exists():
                return path
            if rows <= SMALL:
                build()
                return path
            if (later := self._later.get(path)) is None:
                self._later[path] = self._worker.submit(build)
            elif later.done():
                del self._later[path]
                if error := later.exception():  # asked again, it is tried again
                    talk(f"{name} could not be indexed: {error!r}")
                    raise BadInput(f"{name} could not be indexed: {error}") from error
                return path
        raise NotReady(f"{name} is being indexed ({rows:,} rows), once; the page comes by itself")

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)
