"""The paper's Tables 3 and 4 of a benchmark: how often each property occurs, how large the sets are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from whichone.papers.amber.collection import Collection
from whichone.papers.amber.model import AmberSet
from whichone.records import NameSet, Query


def property_shares(collection: Collection, sets: Sequence[AmberSet]) -> list[dict[str, Any]]:
    """Table 3: type, property, and its share of all tuples; an entity of two types counts for the
    first of them that lists the property."""
    counts: Counter[tuple[str, str]] = Counter()
    for amber_set in sets:
        for bearer in amber_set.bearers:
            for fact in bearer.tuples:
                kind = next(
                    key
                    for key, t in collection.types.items()
                    if t.id in bearer.types and fact.property in t.properties
                )
                counts[kind, fact.property] += 1
    total = sum(counts.values())
    return [
        {
            "type": t.label or key,
            "property": prop,
            "label": collection.label(prop),
            "tuples": counts[key, prop],
            "share": counts[key, prop] / total if total else 0.0,
        }
        for key, t in sorted(collection.types.items())
        for prop in sorted(t.properties)
    ]


def set_statistics(sets: Iterable[NameSet], queries: Iterable[Query]) -> dict[str, Any]:
    """Table 4: sets, averages a set, and queries by task."""
    statistics = SetStatistics()
    for name_set in sets:
        statistics.add_set(name_set)
    own: dict[str | None, list[Query]] = {}
    for query in queries:
        own.setdefault(query.name_set, []).append(query)
    for asked in own.values():
        statistics.add_queries(asked)
    return statistics.table()


class SetStatistics:
    """Table 4, counted one name set at a time."""

    def __init__(self) -> None:
        self.sets = self.bearers = self.asked = self.facts = 0
        self.tasks: Counter[str] = Counter()

    def add_set(self, name_set: NameSet) -> None:
        self.sets += 1
        self.bearers += len(name_set.bearers)

    def add_queries(self, queries: Sequence[Query]) -> None:
        """All queries of one name set."""
        self.asked += len({q.entity for q in queries})
        self.facts += len({(q.entity, q.relation) for q in queries})
        self.tasks.update(q.task for q in queries)

    def table(self) -> dict[str, Any]:
        count = self.sets or 1
        return {
            "sets": self.sets,
            "entities_per_set": self.bearers / count,
            "entities_with_properties_per_set": self.asked / count,
            "properties_per_set": self.facts / count,
            "queries": self.tasks.total(),
            **{f"queries_{task}": self.tasks[task] for task in sorted(self.tasks)},
        }
