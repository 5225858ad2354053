"""The funnel of a build: how much there was, and how much each filter left."""

from __future__ import annotations

from collections.abc import Mapping


class Funnel:
    """Counts in the order in which they were made."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count(self, what: str, amount: int = 1) -> None:
        self._counts[what] = self._counts.get(what, 0) + amount

    def counts(self) -> dict[str, int]:
        return dict(self._counts)


def rows(counts: Mapping[str, int]) -> list[dict[str, object]]:
    """The funnel as a table."""
    return [{"step": step, "count": count} for step, count in counts.items()]
