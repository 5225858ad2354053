"""Leaderboards: one for a benchmark, its systems ranked, its tables for papers."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from whichone import registry
from whichone.errors import WhichoneError
from whichone.measures.comparison import RULE, low_is_good
from whichone.measures.intervals import Estimate, interval_note
from whichone.measures.measure import OFFICIAL
from whichone.report.page import Table
from whichone.web.boards.submissions import About
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage import Database, Readable, Row, Transaction

if TYPE_CHECKING:
    from whichone.web.web_site import Site


# Boards that hide gold: which benchmarks nobody but an admin is shown, and how figures are rounded.


LEAST_COVERAGE = 0.9
"""The share of the queries that an upload must answer: with fewer, a score would be about the few."""
_QUERIES_A_STEP = 5
_FINEST = 0.01


def hidden_by_boards(database: Database) -> frozenset[str]:
    rows = database.read("select benchmark from boards where hidden = 1")
    return frozenset(row["benchmark"] for row in rows)


def hidden_benchmarks(site: Site) -> frozenset[str]:
    """The benchmarks that boards hide, and every served one that asks some of the same questions.

    Computed anew when something appears in the served folder.
    """
    hidden = hidden_by_boards(site.database)
    if not hidden:
        return hidden
    served = site.folder.benchmarks()
    state = (hidden, frozenset(served))
    if site.hidden is None or site.hidden[0] != state:
        questions: set[str] = set()
        for benchmark in served.values():
            if benchmark.id in hidden:
                questions |= benchmark.questions()
        copies = {s.id for s in served.values() if shared_questions(s, questions)}
        site.hidden = (state, hidden | copies)
    return site.hidden[1]


def shared_questions(served: ServedBenchmark, questions: set[str] | frozenset[str]) -> int:
    return len(served.questions() & questions)


def step_of(queries: int) -> float:
    """The step that figures of a hidden board are rounded to: more than a few queries can move."""
    return max(_FINEST, _QUERIES_A_STEP / max(queries, 1))


def rounded(estimate: Estimate, queries: int) -> Estimate:
    step = step_of(queries)

    def round_to(value: float | None) -> float | None:
        return None if value is None else min(1.0, round(round(value / step) * step, 6))

    return msgspec.structs.replace(
        estimate,
        value=round_to(estimate.value),
        low=round_to(estimate.low),
        high=round_to(estimate.high),
    )


_DETAIL = re.compile(r"[:\"'`“(].*$", re.DOTALL)


def without_details(message: str) -> str:
    """A refusal without ids and texts: the line or record, and what kind of thing is wrong."""
    where = re.match(r"((?:line|record) [\d,]+: )?(.*)", message, re.DOTALL)
    assert where is not None
    return f"{where[1] or ''}{_DETAIL.sub('', where[2]).strip()}"


# Leaderboards: one for a benchmark, its systems ranked, its tables for papers.


_PLAIN = {
    "acc": "the right page is among the first {k}",
    "all_correct": "every query about a name has the right page among the first {k}",
    "confused": "a namesake's page among the first {k} comes before the right one (lower is better)",
    "rprec": "the share of right pages among as many results as there are right pages",
    "em": "the answer is exactly an accepted one",
    "f1": "the words that the answer shares with an accepted one",
    "accuracy": "the answer is the right one of the possible ones",
    "rouge_l": "the longest run of words in common with an accepted answer",
}


def definitions(measures: Iterable[str]) -> dict[str, str]:
    """A sentence for each measure; of those without one here, what their function says of itself."""
    return {name: _definition(name) for name in measures}


def _definition(name: str) -> str:
    start, _, depth = name.partition("@")
    if start in _PLAIN:
        return _PLAIN[start].format(k=depth or "1")
    try:
        described = inspect.getdoc(registry.find("measures", OFFICIAL.get(start, start)))
    except WhichoneError:
        return ""
    return (described or "").split("\n")[0].rstrip(".")


LEVEL = 0.05
KINDS = ("rankings", "answers")
_TIED = 3
"""Digits in which two systems must agree to share a rank: those that are shown, in percent."""


def shown_to_people(database: Database, benchmark: str) -> bool:
    """Whether a study or a campaign is over a benchmark, so that people see its gold."""
    return any(
        database.read(f"select 1 from {table} where benchmark = ? limit 1", (benchmark,))
        for table in ("studies", "campaigns")
    )


def make_board(database: Database, board: str, benchmark: str, title: str, *, hidden: bool) -> None:
    database.write(
        lambda t: t.execute(
            "insert into boards values (?, ?, ?, ?, ?)",
            (board, benchmark, title, int(hidden), time.time()),
        )
    )


def boards(database: Readable) -> list[Row]:
    return database.read("select * from boards order by made, board")


def one_board(database: Readable, board: str) -> Row | None:
    rows = database.read("select * from boards where board = ?", (board,))
    return rows[0] if rows else None


def delete_board(database: Database, board: str) -> None:
    def work(t: Transaction) -> None:
        t.execute(
            "delete from upload_parts where submission in "
            "(select submission from submissions where board = ?)",
            (board,),
        )
        t.execute("delete from submissions where board = ?", (board,))
        for name in (f"marks {board}", f"better {board}"):
            t.execute("delete from settings where name = ?", (name,))
        t.execute("delete from boards where board = ?", (board,))

    database.write(work)


def rows_of(database: Readable, board: Row) -> list[dict[str, Any]]:
    """The scored systems of a board with their estimates; never a value of a single query."""
    rows = database.read(
        "select submission, name, person, format, result, made, about from submissions "
        "where board = ? and state = 'done' and shown = 1 order by made, submission",
        (board["board"],),
    )
    systems = []
    for row in rows:
        about = msgspec.json.decode(row["about"], type=About)
        for part in parts_of(row["result"]):
            counts = part["counts"]
            estimates = {name: Estimate(**e) for name, e in part["measures"].items()}
            if board["hidden"]:
                estimates = {n: rounded(e, counts["queries"]) for n, e in estimates.items()}
            systems.append(
                {
                    "submission": row["submission"],
                    "name": row["name"],
                    "format": row["format"].partition("+")[0],
                    "made": row["made"],
                    "about": msgspec.structs.asdict(about),
                    "kind": part["kind"],
                    "estimates": estimates,
                    "counts": counts,
                    "complete": not counts.get("failures"),
                    "resampled": part.get("resampled", "name set"),
                }
            )
    return systems


def parts_of(result: str) -> list[dict[str, Any]]:
    """What was scored of a submission: its rankings, its answers, or both."""
    decoded = msgspec.json.decode(result)
    return list(decoded.get("parts", [decoded]))  # a board of an older server has one, unlisted


def set_marks(
    t: Transaction, board: str, marks: dict[str, float], better: dict[str, list[str]]
) -> None:
    for name, value in ((f"marks {board}", marks), (f"better {board}", better)):
        t.execute(
            "insert into settings values (?, ?) on conflict (name) do update set value = excluded.value",
            (name, msgspec.json.encode(value).decode()),
        )


def better_of(database: Readable, board: str) -> dict[str, list[str]]:
    """Of each system and kind ('SUBMISSION KIND') those that are significantly better; empty on an older server's board."""
    rows = database.read("select value from settings where name = ?", (f"better {board}",))
    return msgspec.json.decode(rows[0]["value"], type=dict[str, list[str]]) if rows else {}


def marks_of(database: Readable, board: str) -> dict[str, float]:
    """The corrected p of each system and kind ('SUBMISSION KIND') against the best of that kind."""
    rows = database.read("select value from settings where name = ?", (f"marks {board}",))
    return msgspec.json.decode(rows[0]["value"], type=dict[str, float]) if rows else {}


def measures_of(systems: Sequence[dict[str, Any]]) -> list[str]:
    """The measures of some systems; those of the one that has the most first."""
    fullest = max(systems, key=lambda r: len(r["estimates"]))  # some have KILT's measures as well
    others = (name for r in systems for name in r["estimates"])
    return list(dict.fromkeys([*fullest["estimates"], *others]))


def ranked(
    database: Readable, board: Row, kind: str, by: str = "", text: str = ""
) -> tuple[list[str], list[dict[str, Any]]]:
    """The measures of a kind and its systems, best first, with their ranks.

    On the first measure, of which every query's value is known, a rank is one more than the number of systems that are
    significantly better; elsewhere, and where gold is hidden, ranks are places by the figures as shown. What
    leaves queries out is ranked behind everything that does not.
    """
    systems = [r for r in rows_of(database, board) if r["kind"] == kind]
    if not systems:
        return [], []
    measures = measures_of(systems)
    by = by if by in measures else measures[0]
    sign = 1 if low_is_good(by) else -1
    marks = marks_of(database, board["board"])

    def value(row: dict[str, Any]) -> float:
        known = row["estimates"].get(by)
        return 2.0 if known is None or known.value is None else sign * round(known.value, _TIED)

    systems.sort(key=lambda r: (not r["complete"], value(r), r["name"]))
    rank, before = 0, None
    for place, row in enumerate(systems, 1):
        now = (row["complete"], value(row))
        rank = place if now != before else rank
        before = now
        row["rank"] = rank
        row["below_best"] = marks.get(f"{row['submission']} {kind}", 1.0) < LEVEL
    if by_tests(board, by, measures):
        _rank_by_tests(systems, kind, better_of(database, board["board"]))
        systems.sort(key=lambda r: (r["rank"], value(r), r["name"]))
    if text:
        wanted = text.casefold()
        systems = [r for r in systems if wanted in _searched(r)]
    return measures, systems


def by_tests(board: Row, by: str, measures: Sequence[str]) -> bool:
    """Whether ranks come from tests: hidden gold would show in them, and of further measures only the figures are kept."""
    return by == measures[0] and not board["hidden"]


def _rank_by_tests(
    systems: Sequence[dict[str, Any]], kind: str, better: dict[str, list[str]]
) -> None:
    whole = {f"{r['submission']} {kind}" for r in systems if r["complete"]}
    for row in systems:
        name = f"{row['submission']} {kind}"
        if name in better:
            behind = 0 if row["complete"] else len(whole)
            rivals = whole if row["complete"] else set(better) - whole
            row["rank"] = 1 + behind + len(rivals.intersection(better[name]))


def _searched(row: dict[str, Any]) -> str:
    return " ".join([row["name"], row["format"], *row["about"].values()]).casefold()


def note_of(board: Row, systems: Sequence[dict[str, Any]], measure: str) -> str:
    """What the figures of a table mean."""
    ranks = (
        f"On {measure} {RULE}; by another measure ranks are places by the figures as shown"
        if not board["hidden"]
        else "Ranks are places by the figures as shown, and equal figures share one: a better rank alone does not mean a "
        "better system"
    )
    note = (
        f"Percent with {interval_note(systems[0]['resampled'])}. {ranks}. † significantly below the best in {measure} "
        f"(paired permutation test by cluster, Holm-corrected, p < {LEVEL})."
    )
    if any(not r["complete"] for r in systems):
        note += " Incomplete systems leave queries out, which count as wrong; they are ranked last."
    if board["hidden"]:
        step = step_of(systems[0]["counts"]["queries"])
        note += f" Figures are rounded to {100 * step:.2g} points: the gold is hidden."
    return note


def board_tables(database: Readable, board: Row) -> list[Table]:
    """A table for rankings and one for answers, best first, with marks of significance."""
    tables = []
    for kind in KINDS:
        measures, systems = ranked(database, board, kind)
        if not systems:
            continue
        tables.append(
            Table(
                key=f"board-{kind}",
                title=f"{board['title']}, {kind}",
                columns=["system", *measures, "rank", "date", "team", "sees", "complete"],
                rows=[
                    [r["name"], *(r["estimates"].get(n) for n in measures), r["rank"],
                     time.strftime("%Y-%m-%d", time.gmtime(r["made"])), r["about"]["team"],
                     r["about"]["sees"], "yes" if r["complete"] else "no"]
                    for r in systems
                ],
                note=note_of(board, systems, measures[0]),
                marks={(n, 1): "†" for n, r in enumerate(systems) if r["below_best"]},
            )
        )  # fmt: skip
    return tables
