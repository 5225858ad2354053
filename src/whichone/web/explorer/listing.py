"""Name sets and queries by text, facet and outcome: by whichever of these lets the fewest rows through.

Every list is ordered by the number of a row (names by popularity, queries as in the benchmark), so that
a page is full long before all has been looked through; how many there are is counted for a moment.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.files.tables import sql_name
from whichone.names import fold

# Runs of one, two and three letters in the texts of an index, and how many texts hold each.
# A trigram index answers from three letters on, fastest by the rarest trigrams of what was typed. Of one or
# two letters, those that many texts hold are found by looking through the texts, the most popular first;
# those that few hold have their texts listed here.


_BATCH = 16_384
_RARE = 64  # A run of letters is rare when fewer than one in so many texts contains it
_RAREST = 3


class Searched(msgspec.Struct, frozen=True):
    """A table with a folded text `key` and a number by which its rows are ordered."""

    table: str
    number: str

    @property
    def trigrams(self) -> str:
        return f"{self.table}_trigrams"

    @property
    def grams(self) -> str:
        return f"{self.table}_grams"

    @property
    def pieces(self) -> str:
        return f"{self.table}_pieces"


SETS = Searched("sets", "n")
QUERIES = Searched("queries", "q")


def build_grams(database: sqlite3.Connection, searched: Searched) -> None:
    """The trigram index of a table that is filled, and its short and rare runs of letters."""
    trigrams, grams, pieces = searched.trigrams, searched.grams, searched.pieces
    database.executescript(f"""
        create virtual table {trigrams} using fts5(key, content='{searched.table}',
            content_rowid='{searched.number}', tokenize='trigram case_sensitive 1', detail='none');
        insert into {trigrams} ({trigrams}) values ('rebuild');
        insert into {trigrams} ({trigrams}) values ('optimize');
        create table {grams} (gram text primary key, texts integer) without rowid;
        create table {pieces} (gram text, n integer, primary key (gram, n)) without rowid;
        create virtual table temp.vocabulary using fts5vocab(main, {trigrams}, row);
        insert into {grams} select term, doc from temp.vocabulary;
        drop table temp.vocabulary;
    """)
    texts, counts = _short_counts(database, searched)
    database.execute("begin")
    database.executemany(
        f"insert or ignore into {grams} values (?, ?)",
        ((_written(code), count) for code, count in counts.items()),
    )
    rare = np.array(sorted(c for c, count in counts.items() if count * _RARE < texts), np.uint64)
    for numbers, codes in _batches(database, searched):
        all_rows = _among(codes, rare)
        rows = zip(map(_written, codes[all_rows].tolist()), numbers[all_rows].tolist(), strict=True)
        database.executemany(f"insert or ignore into {pieces} values (?, ?)", rows)
    database.execute("commit")


def _short_counts(database: sqlite3.Connection, searched: Searched) -> tuple[int, dict[int, int]]:
    texts = database.execute(f"select count(*) from {searched.table}").fetchone()[0]
    counts: dict[int, int] = {}
    for _, codes in _batches(database, searched):
        for code, count in zip(*map(np.ndarray.tolist, np.unique(codes, return_counts=True)), strict=True):
            counts[code] = counts.get(code, 0) + count
    return texts, counts


def _among(codes: npt.NDArray[np.uint64], rare: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    if not len(rare):
        return np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(rare, codes), len(rare) - 1)
    return np.equal(rare[places], codes)


def _batches(
    database: sqlite3.Connection, searched: Searched
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]]:
    rows = database.execute(f"select {searched.number}, key from {searched.table} order by {searched.number}")
    while batch := rows.fetchmany(_BATCH):
        joined = "\0".join(key for _, key in batch) + "\0"
        letters = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.uint64)
        ends = letters == 0
        which = np.array([n for n, _ in batch], np.int64)[np.cumsum(ends) - ends]
        pairs = (letters[:-1] << np.uint64(32)) | letters[1:]
        whole = ~ends[:-1] & ~ends[1:]
        yield (
            np.concatenate([which[~ends], which[:-1][whole]]),
            np.concatenate([letters[~ends], pairs[whole]]),
        )


def _written(code: int) -> str:
    high, low = code >> 32, code & 0xFFFFFFFF
    return (chr(high) if high else "") + chr(low)


class Way(msgspec.Struct, frozen=True):
    """A way into a table: where its rows' numbers are listed in order, which of them, about how many."""

    source: str
    number: str
    condition: str
    values: tuple[Any, ...]
    rows: int


def text_way(database: sqlite3.Connection, searched: Searched, key: str) -> Way | None:
    """How to find the rows whose text contains the key; None when it is so common that looking does."""
    if len(key) >= 3:
        return _trigram_way(database, searched, key)
    count = _texts_with(database, searched, [key]).get(key, 0)
    every = database.execute(f"select max({searched.number}) from {searched.table}").fetchone()[0]
    if count and count * _RARE >= every:
        return None
    pieces = searched.pieces
    return Way(pieces, f"{pieces}.n", f"{pieces}.gram = ?", (key,), count)


def _trigram_way(database: sqlite3.Connection, searched: Searched, key: str) -> Way:
    """By the rarest trigrams; the common ones would cost more to go through than they rule out."""
    trigrams = sorted({key[n : n + 3] for n in range(len(key) - 2)})
    known = _texts_with(database, searched, trigrams)
    if len(known) < len(trigrams):
        return Way(searched.pieces, f"{searched.pieces}.n", "0", (), 0)
    rarest = sorted(known, key=lambda t: (known[t], t))[:_RAREST]
    asked = " AND ".join(map(sql_name, rarest))
    index = searched.trigrams
    condition = f"{index} match ? and instr({searched.table}.key, ?)"
    return Way(index, f"{index}.rowid", condition, (asked, key), known[rarest[0]])


def _texts_with(database: sqlite3.Connection, searched: Searched, grams: list[str]) -> dict[str, int]:
    marks = ", ".join("?" * len(grams))
    rows = database.execute(f"select gram, texts from {searched.grams} where gram in ({marks})", grams)
    return dict(rows.fetchall())


# Which rows a text, a facet and an outcome let through.


PAGE = 30
DIFFERENCES = 20  # Rows of a page that compares two systems
MOST_COUNTED = 1000
_COUNTING = 0.02
_PATIENCE = 1.0  # Seconds for counting once a page is full, and for filling it
_STEPS = 2000

FACETS = ("benchmark", "type", "relation", "task", "role", "collection", "bearers", "gap")
QUERY_FACETS = ("benchmark", "task", "relation", "role")
OUTCOMES = ("confused", "right-wrong", "all-correct", "not-all-correct")
QUERY_OUTCOMES = ("right", "wrong", "confused", "failed", "right-wrong")


class WantedRows(msgspec.Struct, frozen=True, omit_defaults=True):
    """What someone looks for; every field is part of the view's URL."""

    text: str = ""
    facets: tuple[tuple[str, str], ...] = ()
    outcome: str = ""
    after: int = 0
    page: int = PAGE  # Rows at a time; a longer page than usual is counted before it is read


class Listing(msgspec.Struct, frozen=True):
    """One page; `count` is how many there are, `exact` whether that is all."""

    rows: list[dict[str, Any]]
    count: int
    exact: bool
    following: int | None
    complete: bool = True  # False when searching was cut short before the page was full


def find_sets(database: sqlite3.Connection, wanted: WantedRows, systems: int = 0) -> Listing:
    """One page of the name sets, the names with the most popular head first."""
    ways = _text(database, SETS, wanted) + [
        Way(f"facets f{n}", f"f{n}.n", f"f{n}.kind = ? and f{n}.value = ?", (kind, value),
            _count(database, "facet_counts", kind, value))
        for n, (kind, value) in enumerate(wanted.facets)
    ]  # fmt: skip
    ways += _set_outcome(database, wanted.outcome, systems, dict(wanted.facets).get("role"))
    columns = "sets.n, sets.name, sets.collection, sets.bearers, sets.gap"
    for n in range(systems):
        for what in ("right", "confused", "queries"):
            columns += f", (select {what} from run{n}.set_outcomes where n = sets.n) as {what}{n}"
    return _search(database, SETS, columns, ways, wanted)


def find_queries(database: sqlite3.Connection, wanted: WantedRows, systems: int = 0) -> Listing:
    """One page of the queries in their order, with what became of each in the attached runs."""
    ways = _text(database, QUERIES, wanted) + [
        Way("", "", f"queries.{kind} = ?", (value,), _count(database, "query_facets", kind, value))
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


def _text(database: sqlite3.Connection, searched: Searched, wanted: WantedRows) -> list[Way]:
    if not (key := fold(wanted.text)):
        return []
    way = text_way(database, searched, key)
    return [way or Way("", "", f"instr({searched.table}.key, ?)", (key,), 1 << 62)]


def _count(database: sqlite3.Connection, table: str, kind: str, value: str) -> int:
    sql = (
        f"select {'sets' if table == 'facet_counts' else 'queries'} from {table} where kind = ? and value = ?"
    )
    row = database.execute(sql, (kind, value)).fetchone()
    return row[0] if row else 0


def _set_outcome(database: sqlite3.Connection, outcome: str, systems: int, role: str | None) -> list[Way]:
    """What became of a name's queries; with a role, of those about its heads or its tails."""
    conditions = {
        "confused": (0, "confused > 0", "exists", "a.confused = 1"),
        "all-correct": (0, "all_correct = 1", "not exists", "a.right = 0"),
        "not-all-correct": (0, "all_correct = 0", "exists", "a.right = 0"),
        "right-wrong": (1, "all_correct = 0", "exists", "a.right = 1 and b.right = 0"),
    }
    both = outcome == "right-wrong"
    if outcome not in conditions or systems < 1 + both:
        return []
    run, condition, which, of_query = conditions[outcome]
    ways = []
    if role is None or outcome != "all-correct":  # all of a role may be right where not all are
        rows = summary(database, run).get(f"sets {condition}", 0)
        ways.append(Way(f"run{run}.set_outcomes o", "o.n", f"o.{condition}", (), rows))
    if both or role is not None:
        joined = " join run1.outcomes b using (q)" if both else ""
        own = " and queries.role = ?" if role is not None else ""
        ways.append(
            Way(
                "", "",
                f"{which} (select 1 from queries join run0.outcomes a using (q){joined}"
                f" where queries.n = sets.n and {of_query}{own})",
                (role,) if role is not None else (), 1 << 62,
            )
        )  # fmt: skip
    return ways


def _query_outcome(database: sqlite3.Connection, outcome: str, systems: int) -> list[Way]:
    conditions = {
        "right": "right = 1", "wrong": "right = 0", "confused": "confused = 1", "failed": "failed = 1",
        "right-wrong": "right = 1",
    }  # fmt: skip
    if outcome not in conditions or systems < (2 if outcome == "right-wrong" else 1):
        return []
    wanted = [conditions[outcome], *(["right = 0"] if outcome == "right-wrong" else [])]
    return [
        Way(f"run{n}.outcomes o{n}", f"o{n}.q", f"o{n}.{what}", (), summary(database, n).get(what, 0))
        for n, what in enumerate(wanted)
    ]


def summary(database: sqlite3.Connection, number: int) -> dict[str, int]:
    return dict(database.execute(f"select what, value from run{number}.summary").fetchall())


def _search(
    database: sqlite3.Connection, searched: Searched, columns: str, ways: Sequence[Way],
    wanted: WantedRows,
) -> Listing:  # fmt: skip
    table, number = searched.table, f"{searched.table}.{searched.number}"
    listed = [way for way in ways if way.source]
    first = min(listed, key=lambda way: way.rows, default=None)
    conditions, values = ["1"], list[Any]()
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
    most = max(MOST_COUNTED, wanted.page + 1)
    if wanted.page > PAGE:
        _, count, stopped = _listed(database, f"select 1 {where}", values, PAGE, most)
        if stopped or count >= most:
            return Listing([], count, exact=False, following=None, complete=False)
    sql = f"select {columns} {where} and {place} > ? order by {place}"
    rows, count, stopped = _listed(database, sql, (*values, wanted.after), wanted.page, most)
    exact = not stopped and count < most
    if wanted.after and exact:
        _, count, stopped = _listed(database, f"select 1 {where}", values, PAGE, most)
        exact = not stopped and count < most
    shown = rows[: wanted.page]
    following = shown[-1][searched.number] if len(rows) > wanted.page else None
    return Listing(shown, count, exact, following, complete=not stopped or len(rows) > wanted.page)


def _listed(
    database: sqlite3.Connection, sql: str, values: Sequence[Any], page: int, most: int
) -> tuple[list[dict[str, Any]], int, bool]:
    """A page and one more row, how many of `most` came, and whether time ran out on the way."""
    until = time.perf_counter() + _PATIENCE
    rows: list[dict[str, Any]] = []
    count, stopped = 0, False
    database.set_progress_handler(lambda: time.perf_counter() > until, _STEPS)
    try:
        for row in database.execute(f"{sql} limit {most}", values):
            count += 1
            if len(rows) <= page:
                rows.append(dict(row))
                if len(rows) > page:
                    until = min(until, time.perf_counter() + _COUNTING)
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error):
            raise
        stopped = True
    finally:
        database.set_progress_handler(None, 0)
    return rows, count, stopped


# What the explorer asks of its indexes: facets, one set, one query, two systems.

_MOST_VALUES = 40
_QUERIES_PATIENCE = 2.0  # Seconds to look for the example of the landing page


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


def facet_values(database: sqlite3.Connection, *, queries: bool = False) -> dict[str, list[tuple[str, int]]]:
    kinds, counts, count = (
        (QUERY_FACETS, "query_facets", "queries") if queries else (FACETS, "facet_counts", "sets")
    )
    values: dict[str, list[tuple[str, int]]] = {}
    for kind in kinds:
        rows = database.execute(
            f"select value, {count} from {counts} where kind = ? order by 2 desc, value limit ?",
            (kind, _MOST_VALUES),
        ).fetchall()
        if len(rows) > 1 or (rows and not queries and kind in ("type", "task")):
            values[kind] = [(str(value), number) for value, number in rows]
    return values


def one_set(database: sqlite3.Connection, n: int) -> dict[str, Any] | None:
    if (row := database.execute("select * from sets where n = ?", (n,)).fetchone()) is None:
        return None
    bearers = [
        {**dict(b), "types": json.loads(b["types"]), "pages": json.loads(b["pages"])}
        for b in database.execute("select * from bearers where n = ? order by rank", (n,))
    ]
    facts = database.execute(
        "select entity, relation, answers from (select * from bearer_answers where n = ? union all "
        "select n, entity, relation, answers from queries where n = ? and task <> 'fc' "
        "and relation is not null and entity is not null) group by entity, relation order by relation",
        (n, n),
    ).fetchall()
    for bearer in bearers:
        bearer["facts"] = [
            (f["relation"], json.loads(f["answers"])) for f in facts if f["entity"] == bearer["entity"]
        ]
    return {**dict(row), "bearers": bearers}


def set_queries(
    database: sqlite3.Connection, n: int, offset: int = 0, most: int = PAGE
) -> tuple[list[dict[str, Any]], int]:
    count = database.execute("select count(*) from queries where n = ?", (n,)).fetchone()[0]
    rows = database.execute(
        "select * from queries where n = ? order by q limit ? offset ?", (n, most, offset)
    )
    return [query_row(row) for row in rows], count


BECAME = ("right", "confused", "later", "missing")
WHAT_BECAME = (
    "case when right = 1 then 'right' when confused = 1 then 'confused' "
    "when gold_rank is not null then 'later' else 'missing' end"
)


def outcomes_of_set(database: sqlite3.Connection, n: int) -> dict[str, dict[int, str]]:
    """What became of the queries of a set in the attached run, by the bearer they are about."""
    rows = database.execute(
        f"select coalesce(entity, ''), q, {WHAT_BECAME} from queries join run0.outcomes using (q) "
        "where queries.n = ?",
        (n,),
    )
    cells: dict[str, dict[int, str]] = {}
    for entity, q, what in rows:
        cells.setdefault(entity, {})[q] = what
    return cells


def others_answers(database: sqlite3.Connection, query: dict[str, Any]) -> list[str]:
    """What would be right for the namesakes: their answers to the same relation, else all of theirs."""
    rows = database.execute(
        "select relation, answers from queries where n = ? and entity <> ? and task <> 'fc' order by q",
        (query["n"], query["entity"]),
    ).fetchall()
    same = [row["answers"] for row in rows if row["relation"] == query["relation"]]
    listed = same or [row["answers"] for row in rows]
    texts = dict.fromkeys(text for answers in listed for text in json.loads(answers))
    return [text for text in texts if text not in query["answers"]]


def one_query(database: sqlite3.Connection, q: int) -> dict[str, Any] | None:
    row = database.execute("select * from queries where q = ?", (q,)).fetchone()
    return query_row(row) if row else None


def query_row(row: sqlite3.Row) -> dict[str, Any]:
    return {**dict(row), **{name: json.loads(row[name]) for name in ("answers", "gold", "others")}}


def outcome_counts(database: sqlite3.Connection, number: int = 0) -> dict[str, Any]:
    """What became of the queries and sets of one attached run, and apart for head and tail."""
    counts = summary(database, number)
    names = {
        "queries": "queries", "named": "queries in sets", "right": "right = 1", "confused": "confused = 1", "failed": "failed = 1",
        "later": "found later", "missing": "not found", "sets": "sets", "all_correct": "sets all_correct = 1",
    }  # fmt: skip
    roles = {
        role: {what: counts.get(f"{role} {what}", 0) for what in BECAME}
        for role in ("head", "tail")
        if any(counts.get(f"{role} {what}") for what in BECAME)
    }
    return {**{name: counts[what] for name, what in names.items()}, "roles": roles}


def clearest_query(database: sqlite3.Connection) -> int | None:
    """A query that the first of two runs gets right and for which the second falls for a namesake."""
    until = time.perf_counter() + _QUERIES_PATIENCE
    database.set_progress_handler(lambda: time.perf_counter() > until, _STEPS)
    row = None
    with contextlib.suppress(sqlite3.OperationalError):  # too many queries to look through for an example
        row = database.execute(
            "select queries.q from queries join run0.outcomes a using (q) join run1.outcomes b using (q) "
            "left join sets on sets.n = queries.n where a.right = 1 and b.confused = 1 and b.namesake_rank = 1 "
            "order by length(queries.input) > 120, coalesce(sets.gap, 0) desc, queries.q limit 1"
        ).fetchone()
    database.set_progress_handler(None, 0)
    return int(row[0]) if row else None


def telling_questions(database: sqlite3.Connection, most: int = 3) -> list[str]:
    """Of the first names, a question about somebody who is not the best known."""
    rows = database.execute(
        "select input, max(length(input)) from queries where n between 1 and 500 and role <> 'head' "
        "and task = 'qa' and length(input) < 80 and instr(name, ' ') group by n order by n limit ?",
        (most,),
    ).fetchall()
    return [row[0] for row in rows]


def shared_names(database: sqlite3.Connection, most: int = 20) -> list[str]:
    """Names of several words, those of the least known first: fame decides none of them."""
    rows = database.execute(
        "select name from sets where length(name) < 80 order by instr(name, ' ') = 0, n desc limit ?", (most,)
    ).fetchall()
    return [row[0] for row in rows]


def live_counts(
    database: sqlite3.Connection, numbers: Sequence[int], *, queries: bool
) -> dict[str, dict[str, int]]:
    of_queries = " union all ".join(
        f"select '{kind}', {kind}, count(*) from queries, listed "
        f"where q = value and {kind} is not null group by {kind}"
        for kind in QUERY_FACETS
    )
    of_sets = "select kind, facets.value, count(*) from facets, listed where n = listed.value group by 1, 2"
    rows = database.execute(
        f"with listed as (select value from json_each(?)) {of_queries if queries else of_sets}",
        (json.dumps(list(numbers)),),
    )
    counts: dict[str, dict[str, int]] = {}
    for kind, value, count in rows:
        counts.setdefault(kind, {})[str(value)] = count
    return counts


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
        "select q, queries.id, queries.n, queries.entity, queries.name, queries.task, queries.role, queries.input,"
        " a.right as a_right, b.right as b_right, a.confused as a_confused, b.confused as b_confused,"
        " a.gold_rank as a_rank, b.gold_rank as b_rank, sets.gap"
        f" {COMPARED} order by case when a.right <> b.right and a.confused + b.confused > 0 then 0"
        " when a.right <> b.right then 1 else 2 end, coalesce(sets.gap, 0) desc, q limit ? offset ?",
        (DIFFERENCES, offset),
    )
    return [dict(row) for row in rows], count


def agreement_table(database: sqlite3.Connection) -> dict[str, int]:
    counts = dict(
        database.execute(
            "select a.right * 2 + b.right, count(*) from run0.outcomes a join run1.outcomes b using (q) group by 1"
        ).fetchall()
    )
    return {name: counts.get(n, 0) for n, name in enumerate(("neither", "only_second", "only_first", "both"))}
