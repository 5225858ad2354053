"""The section of a report that shows EntityQuestions' tables and figure for any runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import benchmark_of
from whichone.measures.measure import Measure
from whichone.measures.ranking_measures import (
    accuracy,
    answer_in_top,
    confused,
    lucky_hit,
    right_page,
    substring_in_top,
)
from whichone.measures.scores import distinctly_named, score_run, subset
from whichone.papers.entityquestions.report.figure import figure_1
from whichone.papers.entityquestions.report.tables import (
    K,
    luck_table,
    relation_table,
    resolvable_table,
    table_1,
    table_7,
)
from whichone.papers.entityquestions.report.tuned import table_2, table_3, tuned_relations
from whichone.papers.entityquestions.resolvable import best_possible
from whichone.records import Query
from whichone.report.page import Section
from whichone.runs.run import Run

TASKS = {"EntityQuestions", "PopQA"}


NO_QUESTIONS = {"act", "el", "fc", "sf"}
"""Tasks of other benchmarks whose inputs are not questions."""


def applying(benchmark: Benchmark) -> set[str]:
    """The benchmarks, "" for one alone, of simple questions with answers: EntityQuestions, PopQA, or anybody's."""
    return {
        benchmark_of(q)
        for q in benchmark.queries
        if q.answers() and (q.task in TASKS or "shared_name" in q.attributes)
    }


def _asked(query: Query) -> bool:
    return query.task not in NO_QUESTIONS


def measures() -> list[Measure]:
    measures = [answer_in_top(K), substring_in_top(K), accuracy(1), accuracy(5), confused(K)]
    measures += [answer_in_top(1), right_page(1), right_page(K), lucky_hit(1), lucky_hit(K)]
    return [*measures, best_possible(1), best_possible(5)]


def entityquestions_section(
    runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False
) -> Section | None:
    """Tables 1 to 3 and 5 to 7, Figure 1, and the two questions no published evaluation asks."""
    simple = applying(benchmark)
    if not simple:
        return None
    systems = distinctly_named(
        [score_run(run, benchmark, measures()) for run in runs], [run.path for run in runs]
    )
    asked = [subset(s, _asked) if simple != {""} else s for s in systems]
    tables = [table_1(asked, f"answer_in_top@{K}", simple)]
    if relations := tuned_relations(asked):
        tables += [
            table_2(asked, f"answer_in_top@{K}", relations),
            table_3(asked, f"answer_in_top@{K}", relations),
        ]
    systems = [subset(s, lambda q: benchmark_of(q) in simple) for s in systems]
    if any(q.relation for q in benchmark.queries):
        tables += [
            relation_table(
                systems,
                f"answer_in_top@{K}",
                5,
                f"Percent of questions with an answer in one of the first {K} passages (DPR's tokens).",
            ),
            relation_table(
                systems,
                f"substring_in_top@{K}",
                6,
                f"The same with the answer as a verbatim substring of one of the first {K} passages, as the "
                "paper compares BM25 with REALM.",
            ),
        ]
    tables.append(luck_table(systems))
    known = resolvable_table(systems)
    tables += [known] if known is not None else []
    tables += [] if redact else [table_7(runs, systems, benchmark)]
    drawn = None
    if importlib.util.find_spec("matplotlib") is not None:
        drawn = figure_1(systems, answer_in_top(K))
    return Section("Simple questions (EntityQuestions)", tables, [drawn] if drawn else [])
