"""What a reader learns from: a question with a passage, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError, sample
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.reading.sequence import NONE
from whichone.reading.slots import as_question
from whichone.records import Query
from whichone.training.negatives import ExampleMaker
from whichone.training.tfidf_negatives import tfidf_negatives

Kind = Literal["extractive", "seq2seq", "claims"]
Negatives = Literal["bm25", "tfidf", "namesake"]
"""Whose best passage of a wrong page has no answer: AmbER's readers learn from TF-IDF's."""

TASKS: dict[Kind, tuple[str, ...]] = {
    "extractive": ("qa", "sf"),
    "seq2seq": ("qa", "sf"),
    "claims": ("fc",),
}


class ReadingExample(msgspec.Struct, frozen=True):
    """`target` is the answer (a stretch of the passage for extractive reading), "none", or a label."""

    id: str
    question: str
    title: str
    text: str
    target: str
    start: int = -1
    """Where the answer begins in the text; -1 where there is none."""
    source: str = ""


def chosen_tasks(kind: Kind, wanted: Sequence[str]) -> tuple[str, ...]:
    """The tasks that a reader of this kind learns: those asked for, else all it can do."""
    beyond = [task for task in wanted if task not in TASKS[kind]]
    if beyond:
        raise UsageError(
            f"a reader that is {kind} learns {', '.join(TASKS[kind])}, not {sample(beyond)}"
        )
    return tuple(dict.fromkeys(wanted)) or TASKS[kind]


def reading_examples(
    benchmark: Benchmark,
    queries: Sequence[Query],
    kind: Kind,
    work: Path,
    *,
    seed: int = 0,
    negatives: Negatives = "bm25",
    tasks: Sequence[str] = (),
) -> tuple[list[ReadingExample], list[str]]:
    """For each query its gold passage, and the best non-gold page's passage as one with no answer.

    Returned beside: the ids of queries that teach nothing (no gold passage, or none that holds the answer).
    """
    tasks = tasks or TASKS[kind]
    chosen = [q for q in queries if q.task in tasks]
    if not chosen:
        raise BadInput(f"there is no query for a reader that is {kind} (tasks {', '.join(tasks)})")
    own = negatives != "tfidf"
    maker = ExampleMaker(benchmark, work, kinds=(negatives,) if own else (), most=1, seed=seed)
    found, without = maker.examples(chosen)
    if not own:
        found = tfidf_negatives(benchmark, found, work)
    by_id = {q.id: q for q in chosen}
    made: list[ReadingExample] = []
    for example in found:
        query = by_id[example.id]
        positive = _positive(query, example.positive.title, example.positive.text, kind)
        if positive is None:
            without.append(query.id)
            continue
        made.append(positive)
        for negative in example.negatives:
            wrong = negative.passage
            target = NEUTRAL if kind == "claims" else NONE if kind == "seq2seq" else ""
            made.append(
                ReadingExample(query.id, positive.question, wrong.title, wrong.text, target)
            )
    if not made:
        raise BadInput("no gold passage holds its answer", ids=without)
    return made, without


def _positive(query: Query, title: str, text: str, kind: Kind) -> ReadingExample | None:
    if kind == "claims":
        label = next((a for a in query.answers() if a in (SUPPORTS, REFUTES)), None)
        return ReadingExample(query.id, query.input, title, text, label) if label else None
    question = as_question(query.question()) if kind == "extractive" else query.input
    for answer in query.answers():
        start = text.lower().find(answer.lower())
        if start >= 0 and answer:
            said = text[start : start + len(answer)] if kind == "extractive" else answer
            return ReadingExample(query.id, question, title, text, said, start)
    if kind == "seq2seq" and query.answers():
        return ReadingExample(query.id, question, title, text, query.answers()[0])
    return None
