"""Scores of a folder of answers: one value for each (system, query, measure)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.set_members import asked_together
from whichone.benchmarks.stored import once
from whichone.errors import BadInput, sample
from whichone.files.arrow_records import blocks, keyed, numbers, of_keys
from whichone.measures.measure import Answered, Measure, check_of
from whichone.measures.outcome_judge import Judging
from whichone.measures.scores import BLOCK, Scores, strange_ids
from whichone.records import Answer, Passage, Query, page_of
from whichone.runs.agents import trace_of
from whichone.runs.answers import Answers
from whichone.runs.results import sees
from whichone.text import normalisers


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
    values = {str(m): numbers(len(benchmark.queries), np.float64, np.nan) for m in measures}
    measured = [(m.value, values[str(m)]) for m in measures]
    for place, answered in each_answered(answers, benchmark, judge):
        for measure, column in measured:
            value = measure(answered)
            if value is not None:
                column[place] = value
    return Scores(
        answers.name,
        benchmark.id,
        benchmark.queries,
        measures,
        values,
        frozenset(answers.failures),
        sees=sees(answers.folder),
    )


def each_answered(
    answers: Answers, benchmark: Benchmark, judge: Judging | None = None
) -> Iterator[tuple[int, Answered]]:
    """The queries with their places and answers, without those that were left out."""
    given, failures, left_out = answers.answers, answers.failures, answers.left_out
    other, finder = other_values(benchmark.queries), benchmark.corpus.passage
    known = place = 0
    for block in blocks(benchmark.queries, BLOCK):
        ids = [query.id for query in block]
        said = of_keys(given, ids)
        known += sum(answer is not None for answer in said) + sum(map(failures.__contains__, ids))
        listed = {
            place + n: as_answered(
                query, answer, used_passages(shown or (), answer), values or (), finder, others
            )
            for n, (query, answer, shown, values, others) in enumerate(
                zip(
                    block,
                    said,
                    of_keys(answers.shown, ids),
                    of_keys(other, ids),
                    benchmark.others_of(block),
                    strict=True,
                )
            )
            if query.id not in left_out
        }
        yield from zip(listed, with_judgements([*listed.values()], judge), strict=True)
        place += len(block)
    if known < len(given) + len(failures):
        strangers = strange_ids(chain(given, failures), benchmark.queries)
        raise BadInput(f"answers to unknown queries: {sample(strangers)}", file=answers.path)


def with_judgements(answers: Sequence[Answered], judge: Judging | None) -> Sequence[Answered]:
    """The answers with a judge's outcomes, where there is one."""
    if judge is None:
        return answers
    return [replace(a, judged=said) for a, said in zip(answers, judge(answers), strict=True)]


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
    return once(queries, "other values", lambda: keyed(tuple[str, ...], _other_values(queries)))


def _other_values(queries: Sequence[Query]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for asked in asked_together(queries):
        members = [q for q in asked if q.entity is not None and q.task != "fc"]
        answers = {q.id: [(a, normalisers.normalize(a)) for a in q.answers()] for q in members}
        for query in members:
            rest = [q for q in members if q.entity != query.entity]
            same = [q for q in rest if q.relation == query.relation]
            own = {normal for _, normal in answers[query.id]}
            listed = (pair for q in same or rest for pair in answers[q.id])
            yield query.id, tuple(dict.fromkeys(a for a, normal in listed if normal not in own))
