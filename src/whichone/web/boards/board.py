"""Leaderboards: one for a benchmark, whose gold may be hidden from everybody but the server."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.measures.comparison import holm, permutation_p
from whichone.measures.intervals import Estimate, cluster_sums, interval_note
from whichone.measures.scores import cluster
from whichone.records import Query
from whichone.report.table import Table
from whichone.web.storage.database import Database, Row

LEVEL = 0.05


def hidden_benchmarks(database: Database) -> frozenset[str]:
    """The benchmarks whose queries, answers and pages nobody but an admin is shown."""
    rows = database.read("select benchmark from boards where hidden = 1")
    return frozenset(row["benchmark"] for row in rows)


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


def boards(database: Database) -> list[Row]:
    return database.read("select * from boards order by made, board")


def one_board(database: Database, board: str) -> Row | None:
    found = database.read("select * from boards where board = ?", (board,))
    return found[0] if found else None


def rows_of(database: Database, board: str) -> list[dict[str, Any]]:
    """The scored systems of a board with their estimates; never a value of a single query."""
    rows = database.read(
        "select submission, name, format, result, made from submissions "
        "where board = ? and state = 'done' order by made, submission",
        (board,),
    )
    return [
        {
            "submission": row["submission"],
            "name": row["name"],
            "format": row["format"].partition("+")[0],
            "kind": part["kind"],
            "estimates": {name: Estimate(**e) for name, e in part["measures"].items()},
            "counts": part["counts"],
            "resampled": part.get("resampled", "name set"),
        }
        for row in rows
        for part in parts_of(row["result"])
    ]


def parts_of(result: str) -> list[dict[str, Any]]:
    """What was scored of a submission: its rankings, its answers, or both."""
    decoded = msgspec.json.decode(result)
    return list(decoded.get("parts", [decoded]))  # a board of an older server has one, unlisted


def refresh_marks(database: Database, board: str, queries: Sequence[Query]) -> None:
    """Tests every system against the best of its kind, paired, by cluster, Holm-corrected together."""
    rows = database.read(
        "select submission, result from submissions where board = ? and state = 'done'", (board,)
    )
    clusters = np.array([":".join(cluster(q)) for q in queries])
    tests: list[tuple[str, float]] = []
    for kind in ("rankings", "answers"):
        values = {
            f"{row['submission']} {kind}": np.frombuffer(
                base64.b64decode(part["values"]), np.float32
            )
            for row in rows
            for part in parts_of(row["result"])
            if part["kind"] == kind
        }
        if len(values) > 1:
            tests += list(_against_best(values, clusters))
    corrected = holm([p for _, p in tests])
    marks = {name: p for (name, _), p in zip(tests, corrected, strict=True)}
    content = msgspec.json.encode(marks).decode()
    database.write(
        lambda t: t.execute(
            "insert into settings values (?, ?) on conflict (name) do update set value = excluded.value",
            (f"marks {board}", content),
        )
    )


def _against_best(
    values: Mapping[str, npt.NDArray[np.float32]], clusters: npt.NDArray[Any]
) -> Iterator[tuple[str, float]]:
    best = max(sorted(values), key=lambda name: float(np.nanmean(values[name])))
    for name in sorted(values):
        if name == best:
            continue
        differences = values[best].astype(np.float64) - values[name]
        keep = ~np.isnan(differences)
        sums, _ = cluster_sums(differences[keep], clusters[keep])
        yield name, permutation_p(sums)


def marks_of(database: Database, board: str) -> dict[str, float]:
    """The corrected p of each system and kind ('SUBMISSION KIND') against the best of that kind."""
    found = database.read("select value from settings where name = ?", (f"marks {board}",))
    return msgspec.json.decode(found[0]["value"], type=dict[str, float]) if found else {}


def board_tables(database: Database, board: Row) -> list[Table]:
    """A table for rankings and one for answers, best first, with marks of significance."""
    rows = rows_of(database, board["board"])
    marks = marks_of(database, board["board"])
    tables = []
    for kind in ("rankings", "answers"):
        own = [row for row in rows if row["kind"] == kind]
        if not own:
            continue
        fullest = max(own, key=lambda r: len(r["estimates"]))  # some have KILT's measures as well
        names = list(
            dict.fromkeys([*fullest["estimates"], *(n for r in own for n in r["estimates"])])
        )
        own.sort(key=lambda r: (-(r["estimates"][names[0]].value or 0), r["name"]))
        signs = {
            (place, 1): "†"
            for place, row in enumerate(own)
            if marks.get(f"{row['submission']} {kind}", 1.0) < LEVEL
        }
        tables.append(
            Table(
                key=f"board-{kind}",
                title=f"{board['title']}, {kind}",
                columns=["system", *names],
                rows=[[r["name"], *(r["estimates"].get(n) for n in names)] for r in own],
                note=(
                    f"Percent with {interval_note(own[0]['resampled'])}. † significantly below the best "
                    f"in {names[0]} (paired permutation test by cluster, Holm-corrected, p < {LEVEL})."
                ),
                marks=signs,
            )
        )
    return tables
