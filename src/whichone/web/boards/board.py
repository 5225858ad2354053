"""Leaderboards: one for a benchmark, its systems ranked, its tables for papers."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.errors import BadInput, WhichoneError
from whichone.measures.comparison import LEVEL, RULE
from whichone.measures.intervals import Estimate, interval_note
from whichone.measures.measure import Measure, parse_measure
from whichone.report.page import DEEPER, Table
from whichone.web.boards.submissions import SAID, About
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage import Database, Readable, Row, Transaction, set_value

if TYPE_CHECKING:
    from whichone.web.web_site import SignedTokens, Site


# Boards that hide gold: which benchmarks nobody but an admin is shown, and how figures are rounded.

# The share of the queries that an upload must answer: with fewer, a score would be about the few.
LEAST_COVERAGE = 0.9
_BETWEEN = "\n"  # Between the ids of a family's benchmarks, as the database keeps them
_STEPS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)


def hidden_benchmarks(site: Site) -> frozenset[str]:
    """The benchmarks that boards hide, and every served one that asks some of the same questions.

    Computed anew when something appears in the served folder.
    """
    rows = site.database.read("select benchmark from boards where hidden = 1")
    hidden = frozenset(name for row in rows for name in row["benchmark"].split(_BETWEEN))
    if not hidden:
        return hidden
    served = site.folder.benchmarks()
    state = (hidden, frozenset(served))
    if site.hidden is None or site.hidden[0] != state:
        questions = frozenset[str]().union(*(s.questions() for s in served.values() if s.id in hidden))
        site.hidden = (state, hidden | {s.id for s in served.values() if shared_questions(s, questions)})
    return site.hidden[1]


def shared_questions(served: ServedBenchmark, questions: frozenset[str]) -> int:
    return len(served.questions() & questions)


def check_hiding(site: Site, family: Mapping[str, ServedBenchmark], *, hidden: bool) -> None:
    """Raises where a new board, or what is there already, would show gold that a board hides.

    Gold that is hidden has one board: figures of a second would be a way round the first one's limits.
    """
    asked = frozenset[str]().union(*(served.questions() for served in family.values()))
    every = site.folder.benchmarks().values()
    for row in boards(site):
        same = sum(shared_questions(s, asked) for s in every if s.id in row["benchmarks"])
        if row["hidden"] and same:
            raise BadInput(
                f"the leaderboard “{row['title']}” hides the gold of {same:,} of these questions",
                hint="submit there, or delete it first",
            )
        if hidden and same:
            raise BadInput(
                f"the leaderboard “{row['title']}” shows figures of {same:,} of these questions",
                hint="delete it before their gold is hidden",
            )
    if not hidden:
        return
    for served in every:
        if served.id not in family and (same := shared_questions(served, asked)):
            raise BadInput(
                f"{served.id} shows {same:,} of the same queries: take it out of the served folder first"
            )
        shown = any(
            site.database.read(f"select 1 from {table} where benchmark = ? limit 1", (served.id,))
            for table in ("studies", "campaigns")
        )
        if served.id in family and shown:
            raise BadInput("a study or campaign shows people this benchmark: its gold cannot be hidden")


def step_of(estimate: Estimate) -> float:
    """The step that a figure of a hidden board is rounded to, by what its measure averages over.

    A share over m names that move together is uncertain by 1 / sqrt(m) at most: the next round step
    from there up. A finer figure would be about single queries and not about the system.
    """
    uncertain = 1 / math.sqrt(max(1, estimate.clusters or estimate.n))
    return next(step for step in _STEPS if step >= uncertain or step == 1.0)


def rounded(estimate: Estimate) -> Estimate:
    """A figure of a hidden board: without an interval, whose ends would say more than the figure."""
    if estimate.value is None:
        return estimate
    step = step_of(estimate)
    value = min(1.0, round(round(estimate.value / step) * step, 6))
    return msgspec.structs.replace(estimate, value=value, low=None, high=None, kind="")


WITHHELD = (
    "It was scored and does not exceed your best submission by more than noise, so its figures "
    "are not shown: this board hides its gold."
)


def golds_of(site: Site, board: Row) -> dict[str, str]:
    """One word for the gold of each of a board's benchmarks, by which its limits and its ladder are kept."""
    served = {name: site.folder.named(name) for name in board["benchmarks"]}
    return {name: known.gold if known else name for name, known in served.items()}


def withhold(
    t: Transaction,
    golds: Mapping[str, str],
    person: str,
    parts: Sequence[dict[str, Any]],
    tokens: SignedTokens,
) -> None:
    """Marks what of a submission to a hidden board is shown: what climbs by more than noise.

    A ladder (Blum and Hardt 2015): figures are shown when the first measure exceeds that of the person's
    best shown submission by more than the step that it is rounded to; all others learn no more than
    that they did not. So that a file made to lie at the edge says nothing about one query, the edge is
    moved by up to half a step, by a number that only the server can compute from the file's values: the
    same predictions meet the same edge. The ladder is one of the gold: it outlives submissions and boards.
    """
    for part in parts:
        first = next(iter(part["measures"]))
        estimate = msgspec.convert(part["measures"][first], Estimate)
        value = sign_of(first) * (estimate.value or 0.0)
        gold = golds[part["benchmark"]] if "benchmark" in part else next(iter(golds.values()))
        name = f"ladder {gold} {person} {part['kind']}"
        if before := t.read("select value from settings where name = ?", (name,)):
            keyed = tokens.keyed("ladder", gold, person, part["kind"], part["values"])
            moved = int.from_bytes(keyed[:6], "big") / 2**48 - 0.5
            part["withheld"] = value <= float(before[0]["value"]) + step_of(estimate) * (1 + moved)
        if not part.get("withheld"):
            set_value(t, name, str(value))


_DETAIL = re.compile(r"[:\"'`“(].*$", re.DOTALL)


def without_details(message: str) -> str:
    """A refusal without ids and texts: the line or record, and what kind of thing is wrong."""
    where, text = re.findall(r"^((?:line|record) [\d,]+: )?(.*)", message, re.DOTALL)[0]
    return f"{where}{_DETAIL.sub('', text).strip()}"


def definitions(measures: Iterable[str]) -> dict[str, str]:
    return {name: known.explained if (known := _measure(name)) else "" for name in measures}


def sign_of(name: str) -> int:
    """1 where more is better, -1 where less is, 0 where neither is."""
    known = _measure(name)
    return known.sign if known else 1


def _measure(name: str) -> Measure | None:
    """The measure of a column: "em", or "nq em" where a board has several benchmarks."""
    try:
        return parse_measure(name.rpartition(" ")[2])
    except WhichoneError:
        return None


KINDS = ("rankings", "answers")
# The tables of a board over several benchmarks: of which kind, and whether of measures that ask for evidence.
_FAMILY = {
    "downstream": ("answers", False),
    "retrieval": ("rankings", False),
    "KILT scores": ("answers", True),
}
_TIED = 3  # Digits in which two systems must agree to share a rank: those that are shown, in percent


def make_board(
    database: Database, board: str, benchmarks: Sequence[str], title: str, *, hidden: bool
) -> None:
    database.write(
        lambda t: t.execute(
            "insert into boards values (?, ?, ?, ?, ?)",
            (board, _BETWEEN.join(benchmarks), title, int(hidden), time.time()),
        )
    )


def boards(site: Site, board: str = "") -> list[Row]:
    """Every board, or the one with this key; `names` has a name for each benchmark.

    One over a copy of gold that another board hides is hidden too, whichever appeared first.
    """
    rows = site.database.read("select * from boards where ? in ('', board) order by made, board", (board,))
    if not rows:  # the folder need not be looked through
        return rows
    hidden = hidden_benchmarks(site)
    called = {served.id: served.name for served in site.folder.benchmarks().values()}
    for row in rows:
        row["benchmarks"] = row["benchmark"].split(_BETWEEN)
        row["hidden"] = not hidden.isdisjoint(row["benchmarks"])
        short = {
            identity: called.get(identity, identity.rpartition("-")[0]) for identity in row["benchmarks"]
        }
        times = Counter(short.values())
        row["names"] = {id: name if times[name] == 1 else id for id, name in short.items()}
    return rows


def one_board(site: Site, board: str) -> Row | None:
    return next(iter(boards(site, board)), None) if board else None


def tabs_of(board: Row) -> tuple[str, ...]:
    return KINDS if len(board["benchmarks"]) == 1 else tuple(_FAMILY)


def delete_board(database: Database, board: str) -> None:
    def work(t: Transaction) -> None:
        t.execute(
            "delete from upload_parts where submission in "
            "(select submission from submissions where board = ?)",
            (board,),
        )
        t.execute("delete from submissions where board = ?", (board,))
        t.execute("delete from settings where name = ?", (f"marks {board}",))
        t.execute("delete from boards where board = ?", (board,))

    database.write(work)


def rows_of(database: Readable, board: Row) -> list[dict[str, Any]]:
    """The scored systems of a board with their estimates; never a value of a single query."""
    rows = database.read(
        "select submission, name, person, format, result, made, about from submissions "
        "where board = ? and state = 'done' and shown = 1 order by made, submission",
        (board["board"],),
    )
    parts = [(row, p) for row in rows for p in parts_of(row["result"]) if not p.get("withheld")]
    shown = rounded if board["hidden"] else lambda estimate: estimate
    return [
        {
            "submission": row["submission"], "name": row["name"], "made": row["made"],
            "format": row["format"].partition("+")[0],
            "about": msgspec.structs.asdict(msgspec.json.decode(row["about"], type=About)),
            "kind": part["kind"], "benchmark": part.get("benchmark", ""), "datasets": 0,
            "estimates": {name: shown(Estimate(**e)) for name, e in part["measures"].items()},
            "counts": part["counts"], "complete": not part["counts"].get("failures"),
            "resampled": part.get("resampled", "name set"),
            "outcomes": {} if board["hidden"] else part.get("outcomes", {}),
        }
        for row, part in parts
    ]  # fmt: skip


def without_figures(database: Readable, board: Row) -> list[Row]:
    """Submissions that remain as a line: deleted ones, and on hidden boards those that are withheld."""
    rows = database.read(
        "select name, state, result, made from submissions where board = ? and shown = 1 "
        "and state in ('done', 'deleted') order by made, submission",
        (board["board"],),
    )
    for row in rows:
        row["kinds"] = [
            f"{board['names'].get(p.get('benchmark'), '')} {p['kind']}".strip()
            for p in parts_of(row.pop("result") or "{}")
            if p.get("withheld")
        ]
    return [row for row in rows if row["state"] == "deleted" or row["kinds"]]


def parts_of(result: str) -> list[dict[str, Any]]:
    return list(msgspec.json.decode(result).get("parts", ()))


class Marks(msgspec.Struct, frozen=True):
    """Tests of each system and kind ('SUBMISSION KIND')."""

    against_best: dict[str, float] = {}  # The corrected p against the best of that kind
    better: dict[str, list[str]] = {}  # Those that are significantly better


def set_marks(t: Transaction, board: str, marks: dict[str, float], better: dict[str, list[str]]) -> None:
    set_value(t, f"marks {board}", msgspec.json.encode(Marks(marks, better)).decode())


def marks_of(database: Readable, board: str) -> Marks:
    rows = database.read("select value from settings where name = ?", (f"marks {board}",))
    return msgspec.json.decode(rows[0]["value"], type=Marks) if rows else Marks()


def ranked(
    database: Readable, board: Row, kind: str, by: str = "", text: str = ""
) -> tuple[list[str], list[dict[str, Any]]]:
    """The measures of a kind and its systems, best first, with their ranks.

    On the first measure, of which every query's value is known, a rank is one more than the number of systems that are
    significantly better; elsewhere, and where gold is hidden, ranks are places by the figures as shown. What
    leaves queries out is ranked behind everything that does not.
    """
    systems = rows_of(database, board)
    if kind in _FAMILY:
        systems = _family_rows(board, systems, kind)
    if not (systems := [r for r in systems if r["kind"] == kind]):
        return [], []
    fullest = max(systems, key=lambda r: len(r["estimates"]))  # some have KILT's measures as well
    measures = list(dict.fromkeys(name for r in (fullest, *systems) for name in r["estimates"]))
    if kind in _FAMILY:
        order = list(board["names"].values())
        measures.sort(key=lambda column: order.index(column.rpartition(" ")[0]))
    by = by if by in measures else measures[0]
    sign = sign_of(by)
    marks = Marks() if board["hidden"] else marks_of(database, board["board"])

    def value(row: dict[str, Any]) -> tuple[bool, float]:
        known = row["estimates"].get(by)
        missing = known is None or known.value is None
        return not row["complete"], math.inf if missing else -sign * round(known.value, _TIED)

    systems.sort(key=lambda r: (value(r), r["name"]))
    places = {value(row): place for place, row in reversed([*enumerate(systems, 1)])}
    for row in systems:
        row["rank"] = places[value(row)]
        row["below_best"] = marks.against_best.get(f"{row['submission']} {kind}", 1.0) < LEVEL
    if by_tests(board, by, measures):
        _rank_by_tests(systems, kind, marks.better)
        systems.sort(key=lambda r: (r["rank"], value(r), r["name"]))
    wanted = text.casefold()
    return measures, [
        r for r in systems if wanted in " ".join([r["name"], r["format"], *r["about"].values()]).casefold()
    ]


def _family_rows(board: Row, parts: Sequence[dict[str, Any]], tab: str) -> list[dict[str, Any]]:
    kind, evidence = _FAMILY[tab]
    systems: dict[str, dict[str, Any]] = {}
    for part in parts:
        columns = {
            f"{board['names'][part['benchmark']]} {measure}": estimate
            for measure, estimate in part["estimates"].items()
            if part["kind"] == kind and (kind == "rankings" or measure.startswith("kilt_") == evidence)
        }
        if not columns:
            continue
        row = systems.setdefault(
            part["submission"],
            {**part, "kind": tab, "estimates": {}, "counts": {}, "datasets": 0, "outcomes": {}},
        )
        row["estimates"] |= columns
        row["datasets"] += 1
        for role, own in part["outcomes"].items():
            before = row["outcomes"].get(role, {})
            row["outcomes"][role] = {what: n + before.get(what, 0) for what, n in own.items()}
        row["complete"] = row["complete"] and part["complete"]
        for name, number in part["counts"].items():
            row["counts"][name] = row["counts"].get(name, 0) + number
    return list(systems.values())


def by_tests(board: Row, by: str, measures: Sequence[str]) -> bool:
    """Whether ranks come from tests: hidden gold would show in them, and of further measures only the figures are kept."""
    return by == measures[0] and not board["hidden"] and len(board["benchmarks"]) == 1


def _rank_by_tests(systems: Sequence[dict[str, Any]], kind: str, better: dict[str, list[str]]) -> None:
    whole = {f"{r['submission']} {kind}" for r in systems if r["complete"]}
    for row in systems:
        if (name := f"{row['submission']} {kind}") in better:
            behind = 0 if row["complete"] else len(whole)
            rivals = whole if row["complete"] else set(better) - whole
            row["rank"] = 1 + behind + len(rivals.intersection(better[name]))


def note_of(board: Row, systems: Sequence[dict[str, Any]], measure: str) -> str:
    whole = len(board["benchmarks"])
    ranks = (
        f"On {measure} {RULE}; by another measure ranks are places by the figures as shown"
        if by_tests(board, measure, [measure])
        else "Ranks are places by the figures as shown, and equal figures share one: a better rank alone does not mean a "
        "better system"
    )
    first = next(s["estimates"][measure] for s in systems if measure in s["estimates"])
    note = (
        f"Percent, rounded to what the number of names allows to distinguish ({100 * step_of(first):.2g} points of {measure}): "
        "the gold is hidden. A submission is shown when it exceeds its submitter's best by more than that. "
        f"{ranks}."
        if board["hidden"]
        else f"Percent with {interval_note(systems[0]['resampled'])}. {ranks}."
    )
    if by_tests(board, measure, [measure]):
        note += (
            f" † significantly below the best in {measure} "
            f"(paired permutation test by cluster, Holm-corrected, p < {LEVEL})."
        )
    if any(e.shallow for s in systems for e in s["estimates"].values()):
        note += f" {DEEPER}"
    if any(0 < s["datasets"] < whole for s in systems):
        note += f" Partial submissions have figures for some of the {whole} benchmarks; a missing figure is –, never 0."
    if any(not r["complete"] for r in systems):
        note += " Incomplete systems leave queries out, which count as wrong; they are ranked last."
    return note


def board_tables(database: Readable, board: Row) -> list[Table]:
    tables = ((kind, *ranked(database, board, kind)) for kind in tabs_of(board))
    return [
        Table(
            key=f"board-{kind.replace(' ', '-').lower()}",
            title=f"{board['title']}, {kind}",
            columns=["system", *measures, "rank", "date", *(w.column for w in SAID.values()), "complete",
                     *(["benchmarks"] if kind in _FAMILY else [])],
            rows=[
                [r["name"], *(r["estimates"].get(n) for n in measures), r["rank"],
                 time.strftime("%Y-%m-%d", time.gmtime(r["made"])),
                 *(r["about"][field] for field in SAID), "yes" if r["complete"] else "no",
                 *([r["datasets"]] if kind in _FAMILY else [])]
                for r in systems
            ],
            note=note_of(board, systems, measures[0]),
            marks={(n, 1): "†" for n, r in enumerate(systems) if r["below_best"]},
        )
        for kind, measures, systems in tables if systems
    ]  # fmt: skip
