"""The index of one run for the pages: what became of every query, and of every name set.

It is derived from the rankings as they lie on disk, one question in memory at a time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.measures.ranking_measures import first_rank, is_confused
from whichone.measures.summary import DEPTH
from whichone.web.explorer.benchmark_index import build_whole

FORMAT = 4
_BATCH = 8192

_SCHEMA = """
create table outcomes (
    q integer primary key, n integer, gold_rank integer, namesake_rank integer,
    right integer not null, confused integer not null, failed integer not null
);
create table failures (id text primary key) without rowid;
"""
_SETS = """
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


def index_path(run: Folder, benchmark: Path, cache: Path) -> Path:
    """Where the index of a run is stored, once it is made; `benchmark` is its benchmark's index."""
    return cache / f"run-{FORMAT}-{run.content_hash}-{benchmark.stem[-64:][:12]}.sqlite"


def build_run_index(path: Path, run: Folder, benchmark: Path) -> None:
    build_whole(path, lambda database: _build(database, run, benchmark))


def _build(database: sqlite3.Connection, run: Folder, benchmark: Path) -> None:
    database.executescript(_SCHEMA)
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
        confused = is_confused(pages[:DEPTH], golds, others)
        database.execute(
            "insert into outcomes values (?, ?, ?, ?, ?, ?, 0)",
            (row[0], row[1], gold, namesake, gold == 1, confused),
        )
    failed = run.table("failures")["question"].to_pylist() if run.has("failures.parquet") else []
    database.executemany("insert into failures values (?)", ((question,) for question in failed))
    database.execute("commit")
    database.executescript(_SETS)
    database.execute("detach benchmark")


def _ranked(run: Folder) -> Iterator[tuple[str, list[str]]]:
    """Each question with its pages in order, each page once; rankings lie sorted by question."""
    with pq.ParquetFile(run.path("rankings.parquet")) as file:
        batches = file.iter_batches(_BATCH, columns=["question", "page"])
        rows = (
            row for b in batches for row in zip(b[0].to_pylist(), b[1].to_pylist(), strict=True)
        )
        for question, members in groupby(rows, key=lambda row: row[0]):
            yield question, list(dict.fromkeys(page for _, page in members))
