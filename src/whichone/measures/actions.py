"""Measures of what an agent did to records: the right one, a namesake's, any other, or nothing."""

from __future__ import annotations

from whichone.measures.measure import Answered, Measure, no_depth
from whichone.records import Call, page_of

ACT = "act"
"""The task of queries that ask for an action on a record."""
_NO_RECORD = "There is no record"


def _records(answered: Answered) -> list[str] | None:
    """The ids that were acted on; None where the query asks for no action."""
    if answered.query.task != ACT:
        return None
    calls = answered.trace.of("act") if answered.trace is not None else ()
    return [str(c.arguments.get("id", "")) for c in calls if not _refused(c)]


def _refused(call: Call) -> bool:
    return (call.text or "").startswith(_NO_RECORD)


def _is_meant(answered: Answered, record: str) -> bool:
    return record == answered.query.entity or page_of(record) in answered.gold


def right_action(k: int | None) -> Measure:
    """The agent acted on the record that was meant, and on no other."""
    no_depth("right_action", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        if records is None:
            return None
        return float(bool(records) and all(_is_meant(answered, r) for r in records))

    return Measure("right_action", value, of="answers")


def wrong_action(k: int | None) -> Measure:
    """The agent acted on somebody who was not meant; one such action is enough."""
    no_depth("wrong_action", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        if records is None:
            return None
        return float(any(not _is_meant(answered, r) for r in records))

    return Measure("wrong_action", value, of="answers")


def deferred(k: int | None) -> Measure:
    """The agent acted on nobody: it asked, refused or gave up."""
    no_depth("deferred", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        return None if records is None else float(not records)

    return Measure("deferred", value, of="answers")
