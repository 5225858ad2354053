"""The paper's Tables 3 and 4 of a benchmark: how often each property occurs, how large the sets are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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


def set_statistics(sets: Sequence[NameSet], queries: Sequence[Query]) -> dict[str, Any]:
    """Table 4: sets, averages a set, and queries by task."""
    tuples = {(q.name_set, q.entity, q.relation) for q in queries}
    queried = {(name_set, entity) for name_set, entity, _ in tuples}
    tasks = Counter(q.task for q in queries)
    count = len(sets) or 1
    return {
        "sets": len(sets),
        "entities_per_set": sum(len(s.bearers) for s in sets) / count,
        "entities_with_properties_per_set": len(queried) / count,
        "properties_per_set": len(tuples) / count,
        "queries": len(queries),
        **{f"queries_{task}": tasks[task] for task in sorted(tasks)},
    }
