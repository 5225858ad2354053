"""EntityQuestions' Tables 2 and 3: systems that were fine-tuned on one relation, named `FT [P19]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whichone.benchmarks.several import benchmark_of
from whichone.measures.scores import Scores, slice_scores, subset
from whichone.papers.entityquestions.report.tables import K, macro_average, question_of
from whichone.records import Query
from whichone.report.page import Cell, Table

_TUNED = re.compile(r"^(?P<name>.+?)\s*\[(?P<relation>[^\[\]]+)\](?P<marks>.*)$")


def tuned_on(system: str) -> tuple[str, str] | None:
    """The name and the relation of a system that is called `name [relation]`."""
    result = _TUNED.match(system)
    return (result["name"] + result["marks"], result["relation"]) if result else None


def tuned_relations(systems: Sequence[Scores]) -> list[str]:
    """The relations that systems are named after, where the questions have them."""
    asked = {query.relation for scores in systems for query in scores.queries}
    named = [tuned[1] for scores in systems if (tuned := tuned_on(scores.system))]
    return [relation for relation in dict.fromkeys(named) if relation in asked]


def table_2(systems: Sequence[Scores], measure: str, relations: Sequence[str]) -> Table:
    """Each relation by the systems that were tuned on it, and by those that were tuned on none."""
    cells: dict[str, dict[str, Cell]] = {}
    for scores in systems:
        name, own = tuned_on(scores.system) or (scores.system, None)
        for relation in relations:
            if own in (None, relation):
                cells.setdefault(name, {})[relation] = _on_relation(scores, measure, relation)
    return Table(
        key="entityquestions-table-2",
        title=f"Top-{K} accuracy after fine-tuning on one relation (EntityQuestions, Table 2)",
        columns=("system", *map(question_of, relations)),
        rows=[(name, *(row.get(r) for r in relations)) for name, row in cells.items()],
        note="A system called `name [relation]` was fine-tuned on that relation and is shown in its column.",
    )


def table_3(systems: Sequence[Scores], measure: str, relations: Sequence[str]) -> Table:
    """What fine-tuning on one relation does to that relation, to all, and to other benchmarks.

    Those whose questions have no relation are the other benchmarks.
    """
    everywhere = dict.fromkeys(benchmark_of(q) for s in systems for q in s.queries)
    related = {benchmark_of(q) for s in systems for q in s.queries if q.relation}
    others = [name for name in everywhere if name not in related]
    rows: list[Sequence[Cell]] = []
    for relation in relations:
        for scores in systems:
            name, own = tuned_on(scores.system) or (scores.system, None)
            if own not in (None, relation):
                continue
            asked = subset(scores, lambda query: bool(query.relation))
            rows.append(
                (
                    question_of(relation),
                    name,
                    *(_on_benchmark(scores, measure, other) for other in others),
                    _on_relation(asked, measure, relation),
                    macro_average(asked, measure),
                )
            )
    return Table(
        key="entityquestions-table-3",
        title=f"Top-{K} accuracy on one relation, on all, and elsewhere (EntityQuestions, Table 3)",
        columns=("relation", "system", *others, "Rel", "EntityQ."),
        rows=rows,
        note="Rel: the relation of the row; EntityQ.: the mean over all relations.",
    )


def _on_relation(scores: Scores, measure: str, relation: str) -> Cell:
    return _mean(subset(scores, lambda query: query.relation == relation), measure)


def _on_benchmark(scores: Scores, measure: str, name: str) -> Cell:
    def of(query: Query) -> bool:
        return benchmark_of(query) == name

    return _mean(subset(scores, of), measure)


def _mean(scores: Scores, measure: str) -> Cell:
    return slice_scores(scores)[0][1][measure] if scores.queries else None
