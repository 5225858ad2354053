"""An in-memory table of records that agents act on: who was written to, refunded, closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Question, page_of


class RecordTable:
    """The pages of a benchmark's corpus as records; every action on one of them is counted.

    A record is named by its entity's id, its page's id, or the id of a passage of that page.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._owner: dict[str, tuple[str, str]] = {}
        for name_set in benchmark.sets:
            for bearer in name_set.bearers:
                for key in (bearer.entity, *bearer.pages):
                    self._owner[key] = (bearer.entity, bearer.label or name_set.name)
        self._corpus = benchmark.corpus
        self.done: list[tuple[str, str, str]] = []

    def __call__(self, question: Question, action: str, arguments: Mapping[str, Any]) -> str:
        """Act on a record; what is no record is left alone, and the agent is told."""
        given = str(arguments.get("id", ""))
        owner = self._owner.get(given) or self._owner.get(page_of(given))
        if owner is None and not self._corpus.has(given):
            return f"There is no record {given!r}."
        entity, label = owner or (given, self._corpus.title(page_of(given)))
        self.done.append((question.id, action, entity))
        return f"Done: {action} for {label} ({entity})."
