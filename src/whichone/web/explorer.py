"""What the explorer asks of its indexes: name sets by text, facet and outcome; one set; two systems."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.web.folded import fold

PAGE = 50
FACETS = ("type", "relation", "task", "collection", "bearers", "gap")
OUTCOMES = ("confused", "right-wrong", "all-correct", "not-all-correct")
MOST_COUNTED = 1000
_MOST_VALUES = 40


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What someone looks for; every field is part of the view's URL."""

    text: str = ""
    facets: tuple[tuple[str, str], ...] = ()
    outcome: str = ""
    after: int = 0


class FoundSets(msgspec.Struct, frozen=True):
    sets: list[dict[str, Any]]
    count: int
    """At most MOST_COUNTED: then there are at least so many."""
    following: int | None


@contextlib.contextmanager
def opened(benchmark: Path, runs: Sequence[Path] = ()) -> Iterator[sqlite3.Connection]:
    """The index of a benchmark, read only, with those of some runs as run0, run1."""
    database = sqlite3.connect(f"{benchmark.as_uri()}?mode=ro", uri=True, check_same_thread=False)
    database.row_factory = sqlite3.Row
    try:
        for number, run in enumerate(runs):
            database.execute(f"attach ? as run{number}", (f"{run.as_uri()}?mode=ro",))
        yield database
    finally:
        database.close()


def find_sets(database: sqlite3.Connection, wanted: Wanted, systems: int = 0) -> FoundSets:
    """One page of the name sets, the names with the most popular head first."""
    tables, conditions, values = _conditions(wanted, systems)
    where = " and ".join(conditions) or "1"
    rows = database.execute(
        f"select sets.n, sets.name, sets.collection, sets.bearers, sets.gap from {tables} "
        f"where {where} and sets.n > ? order by {'names.rowid' if 'names' in tables else 'sets.n'} "
        "limit ?",
        (*values, wanted.after, PAGE + 1),
    ).fetchall()
    count = database.execute(
        f"select count(*) from (select 1 from {tables} where {where} limit ?)",
        (*values, MOST_COUNTED),
    ).fetchone()[0]
    shown = [dict(row) for row in rows[:PAGE]]
    return FoundSets(shown, count, shown[-1]["n"] if len(rows) > PAGE else None)


def _conditions(wanted: Wanted, systems: int) -> tuple[str, list[str], list[Any]]:
    tables, conditions, values = "sets", [], []
    key = fold(wanted.text)
    if len(key) >= 3:
        tables = "names join sets on sets.n = names.rowid"
        conditions.append("names match ?")
        values.append('"' + key.replace('"', '""') + '"')
    elif key:  # shorter than the index's pieces
        conditions.append("instr(sets.key, ?) > 0")
        values.append(key)
    for kind, value in wanted.facets:
        conditions.append(
            "exists (select 1 from facets where kind = ? and value = ? and n = sets.n)"
        )
        values += [kind, value]
    one = "exists (select 1 from run0.set_outcomes o where o.n = sets.n and {})"
    if wanted.outcome == "confused" and systems:
        conditions.append(one.format("o.confused > 0"))
    elif wanted.outcome == "all-correct" and systems:
        conditions.append(one.format("o.all_correct = 1"))
    elif wanted.outcome == "not-all-correct" and systems:
        conditions.append(one.format("o.all_correct = 0"))
    elif wanted.outcome == "right-wrong" and systems > 1:
        conditions.append(
            "exists (select 1 from queries join run0.outcomes a using (q) join run1.outcomes b using (q)"
            " where queries.n = sets.n and a.right = 1 and b.right = 0)"
        )
    return tables, conditions, values


def facet_values(database: sqlite3.Connection) -> dict[str, list[tuple[str, int]]]:
    """For each facet its commonest values and how many name sets have them."""
    found: dict[str, list[tuple[str, int]]] = {}
    for kind in FACETS:
        rows = database.execute(
            "select value, sets from facet_counts where kind = ? order by sets desc, value limit ?",
            (kind, _MOST_VALUES),
        ).fetchall()
        if len(rows) > 1 or (rows and kind in ("type", "task")):
            found[kind] = [(str(row["value"]), row["sets"]) for row in rows]
    return found


def one_set(database: sqlite3.Connection, n: int) -> dict[str, Any] | None:
    row = database.execute("select * from sets where n = ?", (n,)).fetchone()
    if row is None:
        return None
    bearers = [
        {**dict(b), "types": json.loads(b["types"]), "pages": json.loads(b["pages"])}
        for b in database.execute("select * from bearers where n = ? order by rank", (n,))
    ]
    facts = database.execute(
        "select entity, relation, answers from queries where n = ? and task <> 'fc' "
        "and relation is not null group by entity, relation order by relation",
        (n,),
    ).fetchall()
    for bearer in bearers:
        bearer["facts"] = [
            (f["relation"], json.loads(f["answers"]))
            for f in facts
            if f["entity"] == bearer["entity"]
        ]
    return {**dict(row), "bearers": bearers}


def set_queries(
    database: sqlite3.Connection, n: int, offset: int = 0, most: int = 12
) -> tuple[list[dict[str, Any]], int]:
    """Some of the queries of a set, and how many there are."""
    count = database.execute("select count(*) from queries where n = ?", (n,)).fetchone()[0]
    rows = database.execute(
        "select * from queries where n = ? order by q limit ? offset ?", (n, most, offset)
    )
    return [query_row(row) for row in rows], count


def one_query(database: sqlite3.Connection, q: int) -> dict[str, Any] | None:
    row = database.execute("select * from queries where q = ?", (q,)).fetchone()
    return query_row(row) if row else None


def query_row(row: sqlite3.Row) -> dict[str, Any]:
    lists = {name: json.loads(row[name]) for name in ("answers", "gold", "others")}
    return {**dict(row), **lists}


def outcome_counts(database: sqlite3.Connection, number: int = 0) -> dict[str, int]:
    """What became of the queries and sets of one attached run."""
    row = database.execute(
        f"select count(*), sum(right), sum(confused), sum(failed) from run{number}.outcomes"
    ).fetchone()
    sets = database.execute(
        f"select count(*), sum(all_correct) from run{number}.set_outcomes"
    ).fetchone()
    names = ("queries", "right", "confused", "failed", "sets", "all_correct")
    return {name: value or 0 for name, value in zip(names, (*row, *sets), strict=True)}


COMPARED = """
from queries join run0.outcomes a using (q) join run1.outcomes b using (q)
left join sets on sets.n = queries.n
where a.right <> b.right or a.confused <> b.confused
"""


def differences(database: sqlite3.Connection, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Queries on which two systems differ, by what matters.

    First where one is right and the other fell for a namesake, then where one is right and the other
    merely wrong, then where both are wrong but only one fell for a namesake; within these the names
    with the widest popularity gap first.
    """
    count = database.execute(f"select count(*) {COMPARED}").fetchone()[0]
    rows = database.execute(
        "select q, queries.id, queries.n, queries.name, queries.task, queries.role, queries.input,"
        " a.right as a_right, b.right as b_right, a.confused as a_confused, b.confused as b_confused,"
        " a.gold_rank as a_rank, b.gold_rank as b_rank, sets.gap"
        f" {COMPARED} order by case when a.right <> b.right and a.confused + b.confused > 0 then 0"
        " when a.right <> b.right then 1 else 2 end, coalesce(sets.gap, 0) desc, q limit ? offset ?",
        (PAGE, offset),
    )
    return [dict(row) for row in rows], count


def agreement_table(database: sqlite3.Connection) -> dict[str, int]:
    """How many queries both get right, only one, and none."""
    rows = database.execute(
        "select a.right * 2 + b.right, count(*) from run0.outcomes a join run1.outcomes b using (q) group by 1"
    ).fetchall()
    counts = {row[0]: row[1] for row in rows}
    names = {3: "both", 2: "only_first", 1: "only_second", 0: "neither"}
    return {name: counts.get(code, 0) for code, name in names.items()}
