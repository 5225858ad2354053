"""Scores of a folder of answers: one value for each (system, query, measure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, sample
from whichone.measures.measure import Answered, Measure, check_of
from whichone.measures.outcome_judge import Judging
from whichone.measures.scores import Scores
from whichone.records import Answer, Passage, Query, page_of
from whichone.runs.agents import trace_of
from whichone.runs.answers import Answers
from whichone.runs.results import sees
from whichone.text import squad


def score_answers(
    answers: Answers,
    benchmark: Benchmark,
    measures: Sequence[Measure],
    judge: Judging | None = None,
) -> Scores:
    """Every measure of every query; a failed or missing one is wrong, one left out does not count.

    Outcomes are those of the rules unless there is a judge (`outcome_judge.judging`).
    """
    check_of(measures, "answers")
    given, failures, left_out = answers.answers, answers.failures, answers.left_out
    known = {q.id for q in benchmark.queries}
    strangers = sorted((given.keys() | failures.keys()) - known)
    if strangers:
        raise BadInput(f"answers to unknown queries: {sample(strangers)}", file=answers.path)
    shown = answers.shown
    others = other_values(benchmark.queries)
    finder = benchmark.corpus.passage
    values = {str(m): np.full(len(benchmark.queries), np.nan) for m in measures}
    asked = [(i, q) for i, q in enumerate(benchmark.queries) if q.id not in left_out]
    listed = (
        as_answered(
            query,
            given.get(query.id),
            used_passages(shown.get(query.id, ()), given.get(query.id)),
            others.get(query.id, ()),
            finder,
            benchmark.other_pages(query),
        )
        for _, query in asked
    )
    for (i, _), answered in zip(asked, with_judgements(listed, judge), strict=True):
        for measure in measures:
            value = measure.value(answered)
            if value is not None:
                values[str(measure)][i] = value
    return Scores(
        answers.name,
        benchmark.id,
        benchmark.queries,
        measures,
        values,
        frozenset(failures),
        sees=sees(answers.folder),
    )


def with_judgements(answers: Iterable[Answered], judge: Judging | None) -> Iterable[Answered]:
    """The answers with a judge's outcomes, where there is one."""
    if judge is None:
        return answers
    listed = list(answers)
    return [replace(a, judged=said) for a, said in zip(listed, judge(listed), strict=True)]


def used_passages(shown: Sequence[str], answer: Answer | None) -> Sequence[str]:
    """What a system had before it: the passages shown, else those that it says it used.

    A system that retrieves for itself is shown nothing.
    """
    return shown or (answer.passages if answer is not None else ())


def as_answered(
    query: Query,
    answer: Answer | None,
    shown: Sequence[str],
    other: Sequence[str],
    passage: Callable[[str], Passage] | None = None,
    other_pages: frozenset[str] = frozenset(),
) -> Answered:
    """A query with its answer; None is a failure."""
    cited = dict.fromkeys(map(page_of, answer.passages)) if answer else {}
    return Answered(
        query=query,
        text=answer.text if answer else None,
        gold=query.gold_pages(),
        pages=tuple(dict.fromkeys([*cited, *map(page_of, shown)])),
        cited=tuple(cited),
        other_values=other,
        shown=shown,
        passage=passage,
        failed=answer is None,
        asks=answer.asks if answer else None,
        others=other_pages,
        trace=trace_of(answer) if answer else None,
    )


def other_values(queries: Sequence[Query]) -> Mapping[str, tuple[str, ...]]:
    """For each query of a name set the answers of its other bearers that are not its own.

    Where other bearers are asked for the same relation, only those values count; otherwise all that is
    asked about them.
    """
    by_set: dict[str, list[Query]] = {}
    for query in queries:
        if query.name_set is not None and query.entity is not None and query.task != "fc":
            by_set.setdefault(query.name_set, []).append(query)
    values: dict[str, tuple[str, ...]] = {}
    for members in by_set.values():
        answers = {q.id: [(a, squad.normalize(a)) for a in q.answers()] for q in members}
        for query in members:
            rest = [q for q in members if q.entity != query.entity]
            same = [q for q in rest if q.relation == query.relation]
            own = {normal for _, normal in answers[query.id]}
            listed = (pair for q in same or rest for pair in answers[q.id])
            values[query.id] = tuple(dict.fromkeys(a for a, normal in listed if normal not in own))
    return values
