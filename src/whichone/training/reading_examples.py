"""What a reader learns from: a question with a passage, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.wording import question_in_words
from whichone.errors import BadInput, UsageError, sample
from whichone.progress import talk
from whichone.reading.checkpoint_reader import QUESTIONS, titled
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.reading.sequence import NONE
from whichone.records import Query, Question
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.tfidf import TfIdf
from whichone.runs.reader_tasks import kind_of
from whichone.runs.run import Run
from whichone.runs.settings import Setting, Shows
from whichone.training.examples import Example, Negative, Text
from whichone.training.negatives import ExampleMaker

DEPTH = 30


def tfidf_negatives(benchmark: Benchmark, examples: Sequence[Example], work: Path) -> list[Example]:
    """The examples, each with the first passage of the best wrong page as its one negative."""
    corpus = benchmark.corpus
    ranked = TfIdf.over(corpus, work).search(
        [Question(id=e.id, text=e.question, task="") for e in examples], DEPTH
    )
    results: list[Example] = []
    for example, ranking in zip(examples, ranked, strict=True):
        wrong = next((page for page in ranking.passages if page not in example.gold), None)
        passages = corpus.passages_of(wrong) if wrong is not None else ()
        negatives: tuple[Negative, ...] = ()
        if passages:
            passage = corpus.passage(passages[0])
            negatives = (Negative("tfidf", Text(passage.title, passage.text, passage.page)),)
        results.append(msgspec.structs.replace(example, negatives=negatives))
    bare = sum(not example.negatives for example in results)
    if bare:
        talk(f"TF-IDF finds no wrong page for {bare:,} of {len(results):,} questions")
    return results


Kind = Literal["extractive", "seq2seq", "claims"]
Context = Literal["none", "gold", "retrieved"]

Negatives = Literal["bm25", "tfidf", "namesake", "kilt"]
"""Whose best passage of a wrong page has no answer: AmbER's readers learn from TF-IDF's."""

TASKS: dict[Kind, tuple[str, ...]] = {
    "extractive": QUESTIONS,
    "seq2seq": QUESTIONS,
    "claims": ("fc",),
}
GENERATED = (*QUESTIONS, "fc", "el", "dialogue")
"""Tasks whose answers a sequence-to-sequence model learns to write with a context of passages."""


class ReadingExample(msgspec.Struct, frozen=True, omit_defaults=True):
    """`target` is the answer (a stretch of the passage for extractive reading), "none", or a label."""

    id: str
    question: str
    title: str
    text: str
    target: str
    start: int = -1
    """Where the answer begins in the text; -1 where there is none."""
    source: str = ""
    task: str = "qa"
    context: tuple[str, ...] | None = None
    """Passages to be put before the question, best first; None: one passage, `title` and `text`."""


def chosen_tasks(kind: Kind, wanted: Sequence[str], *, context: bool = False) -> tuple[str, ...]:
    """The tasks that a reader of this kind learns: those asked for, else all it can do."""
    known = GENERATED if context else TASKS[kind]
    beyond = [task for task in wanted if task not in known]
    if beyond:
        raise UsageError(f"a reader that is {kind} learns {', '.join(known)}, not {sample(beyond)}")
    return tuple(dict.fromkeys(wanted)) or known


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

    Returned beside: the ids of queries that teach nothing (no gold passage, or none that contains the answer).
    """
    tasks = tasks or TASKS[kind]
    chosen = [q for q in queries if {q.task, kind_of(q.task)} & set(tasks)]
    if not chosen:
        raise BadInput(f"there is no query for a reader that is {kind} (tasks {', '.join(tasks)})")
    kinds = {"tfidf": (), "kilt": ("bm25",)}.get(negatives, (negatives,))
    maker = ExampleMaker(benchmark, work, kinds=kinds, most=1, seed=seed)
    all_examples, without = maker.examples(chosen)
    if negatives == "tfidf":
        all_examples = tfidf_negatives(benchmark, all_examples, work)
    if negatives == "kilt":
        all_examples = [
            with_gold_page_negative(benchmark, example, seed) for example in all_examples
        ]
    by_id = {q.id: q for q in chosen}
    examples: list[ReadingExample] = []
    for example in all_examples:
        query = by_id[example.id]
        positive = _positive(query, example.positive.title, example.positive.text, kind)
        if positive is None:
            without.append(query.id)
            continue
        examples.append(positive)
        for negative in example.negatives:
            wrong = negative.passage
            target = NEUTRAL if kind == "claims" else NONE if kind == "seq2seq" else ""
            examples.append(
                ReadingExample(query.id, positive.question, wrong.title, wrong.text, target)
            )
    if not examples:
        raise BadInput("no gold passage contains its answer", ids=without)
    return examples, without


def with_gold_page_negative(benchmark: Benchmark, example: Example, seed: int) -> Example:
    """The second kind of KILT's negatives: a passage drawn from the gold pages, the right one aside."""
    corpus = benchmark.corpus
    ids = [i for page in sorted(example.gold) for i in corpus.passages_of(page)]
    held = [corpus.passage(i) for i in ids]
    others = [p for p in held if p.text != example.positive.text]
    if not others:
        return example
    drawn = others[np.random.default_rng([seed, *example.id.encode()]).integers(len(others))]
    wrong = Negative("given", Text(drawn.title, drawn.text, drawn.page))
    return msgspec.structs.replace(example, negatives=(*example.negatives, wrong))


def _positive(query: Query, title: str, text: str, kind: Kind) -> ReadingExample | None:
    if kind == "claims":
        label = next((a for a in query.answers() if a in (SUPPORTS, REFUTES)), None)
        return ReadingExample(query.id, query.input, title, text, label) if label else None
    question = question_in_words(query) if kind == "extractive" else query.input
    for answer in query.answers():
        start = text.lower().find(answer.lower())
        if start >= 0 and answer:
            said = text[start : start + len(answer)] if kind == "extractive" else answer
            return ReadingExample(query.id, question, title, text, said, start)
    if kind == "seq2seq" and query.answers():
        return ReadingExample(query.id, question, title, text, query.answers()[0])
    return None


class ContextExamples:
    """Questions of any task with passages before them, and the answer to be written."""

    def __init__(
        self, benchmark: Benchmark, context: Context, depth: int, work: Path, run: Run | None = None
    ) -> None:
        self.benchmark, self.context, self.depth, self.work = benchmark, context, depth, work
        self._gold = Shows(benchmark, Setting(passages="gold", depth=depth))
        self._ranked = run.ranked_passages() if run is not None else {}

    def examples(
        self, queries: Sequence[Query], tasks: Sequence[str] = GENERATED
    ) -> tuple[list[ReadingExample], list[str]]:
        """One a query with its first answer; beside, the ids of those without one or without gold."""
        asked = [q for q in queries if q.task in tasks]
        if not asked:
            raise BadInput(f"there is no query of a task that is written ({', '.join(tasks)})")
        without = [q.id for q in asked if not q.answers()]
        asked = [q for q in asked if q.answers()]
        shown = self._shown(asked)
        items = []
        for query, ids in zip(asked, shown, strict=True):
            if self.context == "gold" and not ids:
                without.append(query.id)
                continue
            known = self.benchmark.corpus.get(ids)
            context = tuple(titled(known[i].title, known[i].text) for i in ids)
            items.append(
                ReadingExample(
                    query.id,
                    query.input,
                    "",
                    "",
                    query.answers()[0],
                    source=str(query.attributes.get("dataset") or ""),
                    task=query.task,
                    context=context,
                )
            )
        if not items:
            raise BadInput("no query has an answer and passages to learn from", ids=without)
        return items, without

    def _shown(self, queries: Sequence[Query]) -> list[tuple[str, ...]]:
        if self.context == "none":
            return [()] * len(queries)
        if self.context == "gold":
            return [self._gold.choose(q).passages for q in queries]
        missing = [q for q in queries if q.id not in self._ranked]
        results = dict(self._ranked)
        if missing:
            search = Bm25.over(self.benchmark.corpus, self.work).search
            for ranking in search([q.question() for q in missing], self.depth):
                results[ranking.question] = list(ranking.passages)
        corpus = self.benchmark.corpus
        return [
            tuple(i for i in map(self._passage, results[q.id][: self.depth]) if i and corpus.has(i))
            for q in queries
        ]

    def _passage(self, identity: str) -> str | None:
        """A passage, or the first one of a page that a run returned."""
        if identity in self.benchmark.corpus:
            return identity
        return next(iter(self.benchmark.corpus.passages_of(identity)), None)
