"""Name sets and queries by text, facet and outcome: by whichever of these lets the fewest rows through.

Every list is ordered by the number of a row (names by popularity, queries as in the benchmark), so that
a page is full long before all has been looked through; how many there are is counted for a moment.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from whichone.names import fold
from whichone.web.explorer.text_grams import QUERIES, SETS, Searched, Way, text_way

PAGE = 50
MOST_COUNTED = 1000
_COUNTING = 0.02
_PATIENCE = 1.0
"""Seconds for counting once a page is full, and for filling it."""
_STEPS = 2000

FACETS = ("benchmark", "type", "relation", "task", "collection", "bearers", "gap")
QUERY_FACETS = ("benchmark", "task", "relation", "role")
OUTCOMES = ("confused", "right-wrong", "all-correct", "not-all-correct")
QUERY_OUTCOMES = ("right", "wrong", "confused", "failed", "right-wrong")


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What someone looks for; every field is part of the view's URL."""

    text: str = ""
    facets: tuple[tuple[str, str], ...] = ()
    outcome: str = ""
    after: int = 0


class Listing(msgspec.Struct, frozen=True):
    """One page; `count` is how many there are, `exact` whether that is all."""

    rows: list[dict[str, Any]]
    count: int
    exact: bool
    following: int | None
    complete: bool = True
    """False when searching was cut short before the page was full."""


def find_sets(database: sqlite3.Connection, wanted: Wanted, systems: int = 0) -> Listing:
    """One page of the name sets, the names with the most popular head first."""
    ways = _text(database, SETS, wanted) + [
        _facet(database, place, kind, value) for place, (kind, value) in enumerate(wanted.facets)
    ]
    ways += _set_outcome(database, wanted.outcome, systems)
    columns = "sets.n, sets.name, sets.collection, sets.bearers, sets.gap"
    for n in range(systems):
        for what in ("right", "confused", "queries"):
            columns += f", (select {what} from run{n}.set_outcomes where n = sets.n) as {what}{n}"
    return _search(database, SETS, columns, ways, wanted)


def find_queries(database: sqlite3.Connection, wanted: Wanted, systems: int = 0) -> Listing:
    """One page of the queries in their order, with what became of each in the attached runs."""
    ways = _text(database, QUERIES, wanted) + [
        Way("", "", f"queries.{kind} = ?", (value,), _query_count(database, kind, value))
        for kind, value in wanted.facets
        if kind in QUERY_FACETS
    ]
    ways += _query_outcome(database, wanted.outcome, systems)
    columns = (
        "queries.q, queries.id, queries.n, queries.entity, queries.task, queries.role, "
        "queries.relation, queries.input"
    )
    for n in range(systems):
        for what in ("right", "confused", "failed", "gold_rank"):
            columns += f", (select {what} from run{n}.outcomes where q = queries.q) as {what}{n}"
    return _search(database, QUERIES, columns, ways, wanted)


def _text(database: sqlite3.Connection, searched: Searched, wanted: Wanted) -> list[Way]:
    key = fold(wanted.text)
    if not key:
        return []
    way = text_way(database, searched, key)
    return [way or Way("", "", f"instr({searched.table}.key, ?)", (key,), 1 << 62)]


def _facet(database: sqlite3.Connection, place: int, kind: str, value: str) -> Way:
    row = database.execute(
        "select sets from facet_counts where kind = ? and value = ?", (kind, value)
    ).fetchone()
    name = f"f{place}"
    condition = f"{name}.kind = ? and {name}.value = ?"
    return Way(f"facets {name}", f"{name}.n", condition, (kind, value), row[0] if row else 0)


def _query_count(database: sqlite3.Connection, kind: str, value: str) -> int:
    row = database.execute(
        "select queries from query_facets where kind = ? and value = ?", (kind, value)
    ).fetchone()
    return row[0] if row else 0


def _set_outcome(database: sqlite3.Connection, outcome: str, systems: int) -> list[Way]:
    conditions = {
        "confused": (0, "confused > 0"),
        "all-correct": (0, "all_correct = 1"),
        "not-all-correct": (0, "all_correct = 0"),
        "right-wrong": (1, "all_correct = 0"),
    }
    if outcome not in conditions or systems < (2 if outcome == "right-wrong" else 1):
        return []
    run, condition = conditions[outcome]
    rows = summary(database, run).get(f"sets {condition}", 0)
    way = Way(f"run{run}.set_outcomes o", "o.n", f"o.{condition}", (), rows)
    if outcome != "right-wrong":
        return [way]
    both = (
        "exists (select 1 from queries join run0.outcomes a using (q) join run1.outcomes b using (q)"
        " where queries.n = sets.n and a.right = 1 and b.right = 0)"
    )
    return [way, Way("", "", both, (), 1 << 62)]


def _query_outcome(database: sqlite3.Connection, outcome: str, systems: int) -> list[Way]:
    conditions = {
        "right": "right = 1", "wrong": "right = 0", "confused": "confused = 1", "failed": "failed = 1",
        "right-wrong": "right = 1",
    }  # fmt: skip
    if outcome not in conditions or systems < (2 if outcome == "right-wrong" else 1):
        return []
    condition = conditions[outcome]
    rows = summary(database, 0).get(condition, 0)
    ways = [Way("run0.outcomes o", "o.q", f"o.{condition}", (), rows)]
    if outcome == "right-wrong":
        rows = summary(database, 1).get("right = 0", 0)
        ways.append(Way("run1.outcomes p", "p.q", "p.right = 0", (), rows))
    return ways


def summary(database: sqlite3.Connection, number: int) -> dict[str, int]:
    """The counts of an attached run."""
    return dict(database.execute(f"select what, value from run{number}.summary").fetchall())


def _search(
    database: sqlite3.Connection, searched: Searched, columns: str, ways: Sequence[Way],
    wanted: Wanted,
) -> Listing:  # fmt: skip
    table, number = searched.table, f"{searched.table}.{searched.number}"
    listed = [way for way in ways if way.source]
    first = min(listed, key=lambda way: way.rows, default=None)
    conditions: list[str] = ["1"]
    values: list[Any] = []
    for way in ([first] if first else []) + [way for way in ways if way is not first]:
        if way is first or not way.source:
            conditions.append(way.condition)
            values += way.values
        elif way.source == searched.trigrams:  # its text is before us: comparing it is enough
            conditions.append(f"instr({table}.key, ?)")
            values.append(way.values[-1] if way.values else "\0")
        else:
            conditions.append(
                f"exists (select 1 from {way.source} where {way.condition} and {way.number} = {number})"
            )
            values += way.values
    place = first.number if first else number
    source = f"{first.source} cross join {table} on {number} = {place}" if first else table
    where = f"from {source} where {' and '.join(conditions)}"
    rows, count, stopped = _listed(
        database,
        f"select {columns} {where} and {place} > ? order by {place}",
        (*values, wanted.after),
    )
    exact = not stopped and count < MOST_COUNTED
    if wanted.after and exact:
        count, exact = _counted(database, f"select 1 {where}", values)
    shown = rows[:PAGE]
    following = shown[-1][searched.number] if len(rows) > PAGE else None
    return Listing(shown, count, exact, following, complete=not stopped or len(rows) > PAGE)


def _listed(
    database: sqlite3.Connection, sql: str, values: Sequence[Any]
) -> tuple[list[dict[str, Any]], int, bool]:
    """A page and one more row, how many came in all, and whether time ran out on the way."""
    until = time.perf_counter() + _PATIENCE
    rows: list[dict[str, Any]] = []
    count, stopped = 0, False
    database.set_progress_handler(lambda: time.perf_counter() > until, _STEPS)
    try:
        for row in database.execute(f"{sql} limit {MOST_COUNTED}", values):
            count += 1
            if len(rows) <= PAGE:
                rows.append(dict(row))
                if len(rows) > PAGE:
                    until = min(until, time.perf_counter() + _COUNTING)
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error):
            raise
        stopped = True
    finally:
        database.set_progress_handler(None, 0)
    return rows, count, stopped


def _counted(database: sqlite3.Connection, sql: str, values: Sequence[Any]) -> tuple[int, bool]:
    _, count, stopped = _listed(database, sql, values)
    return count, not stopped and count < MOST_COUNTED
