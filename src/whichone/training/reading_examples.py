"""What a reader learns from: a question with a passage, and what is to be said of it."""

import functools
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, Self

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import question_in_words
from whichone.errors import BadInput, UsageError, sample
from whichone.files.arrow_records import MappedRecords, blocks
from whichone.progress import talk
from whichone.reading.checkpoint import QUESTIONS, titled
from whichone.reading.claims import NEUTRAL, REFUTES, SUPPORTS
from whichone.reading.seq2seq import NONE
from whichone.records import Query
from whichone.retrieval.bm25 import Bm25
from whichone.runs.run import Run
from whichone.runs.shown import Setting, Shows, kind_of
from whichone.training.examples import BLOCK, Example, ExampleMaker, Negative, Text, nothing_to_learn
from whichone.training.held_out import report_taken
from whichone.training.training_data import LearningPlan, LearningSource, learned_sources

Kind = Literal["extractive", "seq2seq", "claims"]
Context = Literal["none", "gold", "retrieved"]

# Whose best passage of a wrong page has no answer: AmbER's readers learn from TF-IDF's.
Negatives = Literal["bm25", "tfidf", "namesake", "kilt"]

TASKS: dict[Kind, tuple[str, ...]] = {"extractive": QUESTIONS, "seq2seq": QUESTIONS, "claims": ("fc",)}
# Tasks whose answers a sequence-to-sequence model learns to write with a context of passages.
GENERATED = (*QUESTIONS, "fc", "el", "dialogue")


class ReadingExample(msgspec.Struct, frozen=True, omit_defaults=True):
    """`target` is the answer (a stretch of the passage for extractive reading), "none", or a label."""

    id: str
    question: str
    title: str
    text: str
    target: str
    start: int = -1  # Where the answer begins in the text; -1 where there is none
    source: str = ""
    task: str = "qa"
    # Passages to be put before the question, best first; None: one passage, `title` and `text`.
    context: tuple[str, ...] | None = None
    # The other gold answers, and where each begins: another epoch learns the next one.
    others: tuple[tuple[str, int], ...] = ()

    def at(self, epoch: int) -> Self:
        """With the answer that this epoch learns."""
        target, start = ((self.target, self.start), *self.others)[epoch % (1 + len(self.others))]
        return msgspec.structs.replace(self, target=target, start=start)


def chosen_tasks(kind: Kind, wanted: Sequence[str], *, context: bool = False) -> tuple[str, ...]:
    """The tasks that a reader of this kind learns: those asked for, else all it can do."""
    known = GENERATED if context else TASKS[kind]
    if beyond := [task for task in wanted if task not in known]:
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
    run: Run | None = None,
) -> tuple[Sequence[ReadingExample], list[str]]:
    """For each query its gold passage, and the best non-gold page's passage as one with no answer; on disk.

    The best of a run, else of a search over the corpus.
    Returned beside: the ids of queries that teach nothing (no gold passage, or none that contains the answer).
    """
    tasks = tasks or TASKS[kind]
    chosen = (q for q in queries if {q.task, kind_of(q.task)} & set(tasks))
    if (first := next(chosen, None)) is None:
        raise BadInput(f"there is no query for a reader that is {kind} (tasks {', '.join(tasks)})")
    searched = "run" if run is not None else "bm25" if negatives == "kilt" else negatives
    maker = ExampleMaker(benchmark, work, kinds=(searched,), most=1, seed=seed, run=run)
    none = {"claims": NEUTRAL, "seq2seq": NONE}.get(kind, "")
    examples, without, taught, bare = MappedRecords(ReadingExample, work), list[str](), 0, 0
    for query, example in maker.stream(chain([first], chosen)):
        if example is None:
            without.append(query.id)
            continue
        taught += 1
        bare += not example.negatives
        if negatives == "kilt":
            example = with_gold_page_negative(benchmark, example, seed)
        if (positive := _positive(query, example.positive.title, example.positive.text, kind)) is None:
            without.append(query.id)
            continue
        examples.append(positive)
        wrong = (negative.passage for negative in example.negatives)
        examples.extend(ReadingExample(query.id, positive.question, w.title, w.text, none) for w in wrong)
    if bare:
        talk(f"no wrong passage ({searched}) for {bare:,} of {taught:,} questions")
    if not taught:
        raise nothing_to_learn(without)
    if not examples:
        raise BadInput("no gold passage contains its answer", ids=without)
    return examples, without


def with_gold_page_negative(benchmark: Benchmark, example: Example, seed: int) -> Example:
    """The second kind of KILT's negatives: a passage drawn from the gold pages, the right one aside."""
    corpus = benchmark.corpus
    ids = [i for page in sorted(example.gold) for i in corpus.passages_of(page)]
    others = [p for p in [corpus.passage(i) for i in ids] if p.text != example.positive.text]
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
    answers = [(answer, text.lower().find(answer.lower())) for answer in query.answers() if answer]
    stated = [(answer, start) for answer, start in answers if start >= 0]
    if kind == "extractive":
        stated = list(dict.fromkeys((text[start : start + len(answer)], start) for answer, start in stated))
    elif not stated:
        stated = answers[:1]
    if not stated:
        return None
    (answer, start), *others = stated
    return ReadingExample(query.id, question, title, text, answer, start, others=tuple(others))


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
    ) -> tuple[Sequence[ReadingExample], list[str]]:
        """One a query with its first answer, on disk; beside, the ids of those without one or without gold."""
        items, without, asked = MappedRecords(ReadingExample, self.work), list[str](), 0
        for block in blocks((q for q in queries if q.task in tasks), BLOCK):
            asked += len(block)
            without += [q.id for q in block if not q.answers()]
            answered = [q for q in block if q.answers()]
            for query, ids in zip(answered, self._shown(answered), strict=True):
                if self.context == "gold" and not ids:
                    without.append(query.id)
                else:
                    items.append(self._example(query, ids))
        if not asked:
            raise BadInput(f"there is no query of a task that is written ({', '.join(tasks)})")
        if not items:
            raise BadInput("no query has an answer and passages to learn from", ids=without)
        return items, without

    def _example(self, query: Query, ids: Sequence[str]) -> ReadingExample:
        known = self.benchmark.corpus.get(ids)
        first, *others = query.answers()
        return ReadingExample(
            query.id,
            query.input,
            "",
            "",
            first,
            others=tuple((answer, -1) for answer in others),
            source=str(query.attributes.get("dataset") or ""),
            task=query.task,
            context=tuple(titled(known[i].title, known[i].text) for i in ids),
        )

    @functools.cached_property
    def _bm25(self) -> Bm25:
        return Bm25.over(self.benchmark.corpus, self.work)

    def _shown(self, queries: Sequence[Query]) -> list[tuple[str, ...]]:
        if self.context == "none":
            return [()] * len(queries)
        if self.context == "gold":
            return [self._gold.choose(q).passages for q in queries]
        results = {q.id: self._ranked[q.id] for q in queries if q.id in self._ranked}
        if missing := [q for q in queries if q.id not in results]:
            for ranking in self._bm25.search([q.question() for q in missing], self.depth):
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


def reading_queries(
    plan: LearningPlan, seed: int, work: Path
) -> tuple[list[LearningSource[Query]], Sequence[Query]]:
    """Each source's benchmark with its training queries, and all queries that are never learned from."""
    sources, unseen = learned_sources(plan, seed, work)
    for source in sources:
        if source.benchmark is None:
            raise UsageError(
                "a reader learns from questions with answers over a corpus",
                where=source.name,
                hint="name a benchmark, or KILT's or EntityQuestions' files with --passages",
            )
        report_taken(source.taken)
    return sources, unseen
