"""The fact itself instead of reading: a ceiling, marked as a shortcut.

KILT's paper warns that structured resources "could be used to get all answers right". This reader looks
the asked relation up for the page it was shown, so what it gets wrong is the passages' fault alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Answer, Query, ReadingTask
from whichone.runs.settings import AMBIGDOCS
from whichone.text import normalisers

SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"


class KbLookup:
    """Takes the first shown page that has the fact; closed-book it looks at the gold page."""

    name = "kb-lookup (shortcut)"
    shortcut = True

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = {q.id: q for q in queries}
        self._facts: dict[tuple[str, str], tuple[str, ...]] = {}
        self._bearers: dict[tuple[str, str], str] = {}
        for query in queries:
            for page, (answers, bearer) in _stated(query).items():
                self._facts.setdefault((page, _relation(query)), answers)
                self._bearers.setdefault((page, _relation(query)), bearer)

    @classmethod
    def for_run(cls, benchmark: Benchmark) -> Self:
        return cls(benchmark.queries)

    def describe(self) -> dict[str, Any]:
        return {"reader": "kb-lookup", "shortcut": True}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            query = self._queries[task.question.id]
            shown = [(p.page, p.id) for p in task.passages]
            if not shown:
                shown = [(page, "") for page in sorted(query.gold_pages())]
            facts = {
                (page, identity): answers
                for page, identity in dict(reversed(shown)).items()
                if (answers := self._facts.get((page, _relation(query))))
            }
            ordered = sorted(facts, key=shown.index)
            yield self._answer(query, [(key, facts[key]) for key in ordered])

    def _answer(
        self, query: Query, values: Sequence[tuple[tuple[str, str], tuple[str, ...]]]
    ) -> Answer:
        if not values:
            return Answer(question=query.id)
        used = values if query.task == AMBIGDOCS else values[:1]
        if query.task == AMBIGDOCS:
            said = [(self._bearers[page, _relation(query)], a[0]) for (page, _), a in used]
            text = " ".join(f"{bearer}: {answer}." for bearer, answer in said)
        elif query.task == "fc" and "claimed" in query.attributes:
            claimed = normalisers.normalize(str(query.attributes["claimed"]))
            true = claimed in {normalisers.normalize(a) for a in used[0][1]}
            text = SUPPORTS if true else REFUTES
        else:
            text = used[0][1][0]
        cited = tuple(identity for (_, identity), _ in used if identity)
        return Answer(question=query.id, text=text, passages=cited)


def _relation(query: Query) -> str:
    """What is asked; a question without a relation, or a claim without values, is asked by itself."""
    by_itself = query.task == "fc" and not query.attributes.get("values")
    return f"question {query.id}" if by_itself or not query.relation else query.relation


def _stated(query: Query) -> Mapping[str, tuple[tuple[str, ...], str]]:
    """For each gold page the values of the fact and whose they are; of a claim, what is true."""
    values = tuple(map(str, query.attributes.get("values", ())))
    facts: dict[str, tuple[tuple[str, ...], str]] = {}
    for output in query.outputs:
        own = tuple(a for a in (output.answer, *output.aliases) if a)
        answers = values if query.task == "fc" and values else own
        for group in output.provenance:
            for source in group:
                if answers:
                    facts.setdefault(source.page, (answers, source.title or output.entity or ""))
    return facts
