"""The wrong value of a false claim: the most frequent other one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from whichone.names import name_key
from whichone.papers.amber.model import AmberSet, AmberTuple, Value
from whichone.papers.amber.relations import Pipeline
from whichone.papers.amber.values import ValueBook

_key = lru_cache(maxsize=1 << 16)(name_key)


class FalseValues(Protocol):
    """Gives a wrong value for a tuple, or None where there is no other."""

    def other_than(self, fact: AmberTuple) -> str | None: ...


class MostFrequentInTuples:
    """The released program: most frequent among the first names of all surviving tuples' values.

    Ties go to the value that came first; only first names are compared, so that an alias of a true
    value may be claimed as false.
    """

    def __init__(self, sets: Iterable[AmberSet]) -> None:
        counts: dict[str, Counter[str]] = {}
        for amber_set in sets:
            for bearer in amber_set.bearers:
                for fact in bearer.tuples:
                    counts.setdefault(fact.property, Counter()).update(
                        value.names[0] for value in fact.values
                    )
        self._ordered = {prop: [name for name, _ in c.most_common()] for prop, c in counts.items()}

    def other_than(self, fact: AmberTuple) -> str | None:
        true = {value.names[0] for value in fact.values}
        return next((name for name in self._ordered[fact.property] if name not in true), None)


class MostFrequentInKnowledgeBase:
    """The paper: the most popular value of the property in all of the knowledge base.

    A value that shares a name with a true one is passed over.
    """

    def __init__(self, ordered: Mapping[str, Sequence[Value]]) -> None:
        self._ordered = ordered

    def other_than(self, fact: AmberTuple) -> str | None:
        ids = {value.value for value in fact.values}
        true = {_key(name) for value in fact.values for name in value.names}
        for value in self._ordered.get(fact.property, ()):
            if value.value not in ids and true.isdisjoint(map(_key, value.names)):
                return value.names[0]
        return None


def false_values(pipeline: Pipeline, book: ValueBook, sets: Sequence[AmberSet]) -> FalseValues:
    """The source of wrong values that the rules ask for."""
    if pipeline.rules.false_value == "tuples":
        return MostFrequentInTuples(sets)
    counted = pipeline.relations["value_counts"]
    rows: dict[str, list[tuple[int, Value]]] = {}
    wanted = counted.select("property", "kind", "value", "frequency_rank")
    for prop, kind, value, rank in pipeline.tuples(wanted):
        named = book.value(kind, value)
        if named is not None:
            rows.setdefault(prop, []).append((rank, named))
    return MostFrequentInKnowledgeBase(
        {
            prop: [value for _, value in sorted(ranked, key=lambda row: row[0])]
            for prop, ranked in rows.items()
        }
    )
