"""Boards that hide gold: which benchmarks nobody but an admin is shown, and how figures are rounded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from whichone.measures.intervals import Estimate
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage.database import Database

if TYPE_CHECKING:
    from whichone.web.site import Site

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
