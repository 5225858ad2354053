"""Settings: which passages a reader is shown for a question.

`gold` is the oracle of AmbER's Table 7, `retrieved` its regular setting; `other-bearer` gives the page
of another bearer of the name instead of the gold one, which is what confusion does to a reader.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

import msgspec
from msgspec.structs import asdict

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import worded
from whichone.benchmarks.several import own_id
from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.folder import Folder
from whichone.files.lines import ODD_RECORD
from whichone.options import takes
from whichone.progress import talk
from whichone.protocols import USAGE, Reader
from whichone.records import Answer, NameSet, Query, ReadingTask
from whichone.runs.run import ANSWERS, ANSWERS_TIMING, FAILURES, LEFT_OUT, Answers, Run, begun
from whichone.runs.run_options import Passages, ShownOptions
from whichone.text import normalisers

KINDS: tuple[str, ...] = get_args(Passages)
AMBIGDOCS = "ambigdocs"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: AmbER reads 20 passages, BART+DPR 3, RAG 5, AmbigDocs at most 5 in any order."""

    passages: Passages = "gold"
    depth: int = 20
    """At most so many passages a question."""
    shuffled: bool = False
    """In a seeded order of its own for each question, instead of by rank."""
    page_passages: int = 1
    """How many passages represent a page that a page-level run returned; 0: all of them."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.passages not in KINDS:
            raise UsageError(f"--passages {self.passages}: one of {', '.join(KINDS)} is wanted")
        if self.depth < 1 or self.page_passages < 0:
            raise UsageError("--depth must be at least 1, --page-passages at least 0")

    @property
    def needs_run(self) -> bool:
        return "retrieved" in self.passages

    @property
    def hash(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]


@takes(ShownOptions, "shown")
def setting_for(benchmark: Benchmark, shown: ShownOptions, seed: int = 0) -> Setting:
    """The setting with a benchmark's own defaults: AmbigDocs shows five at most, in any order."""
    ambigdocs = all(q.task == AMBIGDOCS for q in benchmark.queries)
    return Setting(
        passages=shown.passages,
        depth=shown.depth if shown.depth is not None else 5 if ambigdocs else 20,
        shuffled=ambigdocs if shown.shuffled is None else shown.shuffled,
        page_passages=shown.page_passages,
        seed=seed,
    )


class Shown(msgspec.Struct, frozen=True):
    """The passages of one question, or why it is not asked at all."""

    passages: tuple[str, ...] = ()
    left_out: str | None = None
    cut: int = 0
    """How many passages there were beyond the depth."""


class Shows:
    """Chooses the passages of every query of a benchmark under one setting."""

    def __init__(self, benchmark: Benchmark, setting: Setting, run: Run | None = None) -> None:
        if setting.needs_run and run is None:
            raise UsageError(f"--passages {setting.passages} needs a run", hint="name it: --run RUN")
        if run is not None and run.benchmark_id != benchmark.id:
            raise BadInput(
                f"the run is over {run.benchmark_id}, the questions are of {benchmark.id}",
                file=run.path,
                hint="retrieve on this benchmark first",
            )
        self.setting = setting
        self.corpus = benchmark.corpus
        self._sets: Mapping[str, NameSet] = {s.id: s for s in benchmark.sets}
        self._ranked = run.ranked_passages() if run is not None and setting.needs_run else {}

    def choose(self, query: Query) -> Shown:
        if (kind := self.setting.passages) == "none":
            return Shown()
        if kind == "other-bearer":
            return self._other_bearer(query)
        passages, cut = self._gold(query) if "gold" in kind else ([], 0)
        if "retrieved" in kind:
            ranked = [p for p in self._retrieved(query) if p not in passages]
            passages += ranked[: self.setting.depth - len(passages)]
        return Shown(self._ordered(query, passages), cut=cut)

    def tasks(
        self, queries: Sequence[Query], shown: Mapping[str, Shown], *, in_words: bool = False
    ) -> list[ReadingTask]:
        """What the reader gets for these queries: the question, its passages and its dataset, nothing else.

        With `in_words` a slot is asked by one of its published template questions, where it has any.
        """
        passages = self.corpus.get(p for q in queries for p in shown[q.id].passages)
        return [
            ReadingTask(
                question=worded(q) if in_words else q.question(),
                passages=tuple(passages[p] for p in shown[q.id].passages),
                dataset=str(q.attributes.get("dataset") or ""),
            )
            for q in queries
        ]

    def _gold(self, query: Query) -> tuple[list[str], int]:
        """Gold passages where the gold names passages, else those of the gold pages.

        Of more named ones than fit a seeded sample is taken, as AmbigDocs does. Of a page longer
        than fits, passages that state an accepted answer go before the rest: an oracle without the
        answer would be none.
        """
        named: dict[str, None] = {}
        paged: dict[str, None] = {}
        for output in query.outputs:
            for group in output.provenance:
                for source in group:
                    if source.passage is not None and source.passage in self.corpus:
                        named.setdefault(source.passage)
                    else:
                        paged.update(dict.fromkeys(self.corpus.passages_of(source.page)))
        passages_of_gold = [*named, *(p for p in paged if p not in named)]
        depth = self.setting.depth
        if len(passages_of_gold) <= depth:
            return passages_of_gold, 0
        if not paged:
            return self._random(query, "gold").sample(passages_of_gold, depth), len(passages_of_gold) - depth
        answers = query.attributes.get("values") or query.answers()
        wanted = [tokens for a in answers if (tokens := normalisers.amber_tokens(str(a)))]

        def states(identity: str) -> bool:
            text = normalisers.amber_tokens(self.corpus.passage(identity).text)
            return any(normalisers.contains_answer(text, answer) for answer in wanted)

        kept = set(sorted(passages_of_gold, key=lambda p: not states(p))[:depth])
        return [p for p in passages_of_gold if p in kept], len(passages_of_gold) - depth

    def _retrieved(self, query: Query) -> list[str]:
        pages: dict[str, None] = {}
        for identity in self._ranked.get(query.id, ()):
            if identity in self.corpus:
                pages.setdefault(identity)
            else:
                most = self.setting.page_passages or None
                pages.update(dict.fromkeys(self.corpus.passages_of(identity)[:most]))
            if len(pages) >= 2 * self.setting.depth:
                break
        return list(pages)

    def _other_bearer(self, query: Query) -> Shown:
        """The most popular other bearer that has a page in the corpus: the one retrievers prefer."""
        own = query.gold_pages()
        names = self._sets.get(query.name_set or "")
        for bearer in names.bearers if names else ():
            if bearer.entity == query.entity or own.intersection(bearer.pages):
                continue
            if passages := [p for page in bearer.pages for p in self.corpus.passages_of(page)]:
                depth = self.setting.depth
                return Shown(self._ordered(query, passages[:depth]), cut=max(0, len(passages) - depth))
        return Shown(left_out="no other bearer of the name has a page")

    def _ordered(self, query: Query, values: Sequence[str]) -> tuple[str, ...]:
        order = list(values)
        if self.setting.shuffled:
            self._random(query, "order").shuffle(order)
        return tuple(order)

    def _random(self, query: Query, what: str) -> random.Random:
        """Its own for each question, so that no question's choice hangs on another's."""
        return random.Random(f"{self.setting.seed}\0{what}\0{own_id(query)}")


# The journal of a reading: one entry a question, kept as it comes, and the tables made of them.


_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an answer took: the columns of the timing's table."""

    seconds: float | None = None
    prompt_tokens: _Count | None = None
    tokens: _Count | None = None
    cost: float | None = None
    cached: bool | None = None


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: one question's answer, and what it took."""

    answer: Answer
    shown: tuple[str, ...] = ()
    usage: Usage = Usage()


def entry_of(task: ReadingTask, answer: Answer, seconds: float) -> Entry:
    """An entry that the tables can take; anything else is an error that names the question."""
    notes = dict(answer.notes)
    try:
        usage = msgspec.convert({"seconds": seconds, **notes.pop(USAGE, {})}, Usage)
        bare = msgspec.structs.replace(answer, notes=notes)
        entry = Entry(bare, tuple(p.id for p in task.passages), usage)
        msgspec.json.decode(msgspec.json.encode(entry), type=Entry)
    except ODD_RECORD as error:
        raise BadInput(f"an answer that cannot be kept: {error}", ids=[answer.question]) from error
    return entry


def begin(folder: Folder, identity: Mapping[str, Any]) -> dict[str, Entry]:
    """Answers that were already given, if they belong to this very work; failures not among them."""
    kept, useless = {}, 0
    for raw in begun(folder, identity):
        try:
            entry = msgspec.convert(raw, Entry)
        except msgspec.ValidationError:
            useless += 1
            continue
        if not entry.answer.error:
            kept[entry.answer.question] = entry
    if useless:
        talk(f"{folder.root}: {useless:,} answers cannot be used and are asked for again")
    if kept:
        talk(f"going on with {folder.root}: {len(kept):,} questions are answered")
    return kept


def finished_entries(answers: Answers) -> dict[str, Entry]:
    """What finished answers contain, without the questions that failed or got an empty reply."""
    usage = {r["question"]: msgspec.convert(r, Usage) for r in answers.folder.rows_of(ANSWERS_TIMING.name)}
    return {
        question: Entry(answer, shown, usage.get(question, Usage()))
        for (question, answer), shown in zip(answers.answers.items(), answers.shown.values(), strict=True)
        if answer.notes.get("form") != "empty"
    }


def write_tables(
    folder: Folder, queries: Sequence[Query], entries: Mapping[str, Entry], shown: Mapping[str, Shown],
    *, shows: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """The tables, from the journal's entries in the benchmark's order; what to count.

    Not `shows` is a setting that shows nobody anything: a closed book, or an agent that searches itself.
    """
    read = [entries[q.id] for q in queries if q.id in entries]
    good = [e for e in read if e.answer.error is None]
    answers = [
        {
            "question": e.answer.question,
            "text": e.answer.text,
            "asks": e.answer.asks,
            "passages": list(e.answer.passages),
            "shown": list(e.shown),
            "score": e.answer.score,
            "notes": msgspec.json.encode(e.answer.notes).decode() if e.answer.notes else None,
        }
        for e in good
    ]
    failures = [{"question": e.answer.question, "error": e.answer.error} for e in read if e.answer.error]
    left_out = [{"question": q, "reason": s.left_out} for q, s in shown.items() if s.left_out]
    folder.write(ANSWERS, ANSWERS.from_rows(answers))
    folder.write(FAILURES, FAILURES.from_rows(failures))
    folder.write(LEFT_OUT, LEFT_OUT.from_rows(left_out))
    timing = [{"question": e.answer.question, **asdict(e.usage)} for e in read if e.usage != Usage()]
    folder.write(ANSWERS_TIMING, ANSWERS_TIMING.from_rows(timing))
    return {
        "questions": len(queries),
        "answered": sum(e.answer.text is not None for e in good),
        "asked": sum(e.answer.asks is not None for e in good),
        "refused": sum(e.answer.text is None and e.answer.asks is None for e in good),
        "empty": sum(e.answer.text is not None and not e.answer.text.strip() for e in good),
        "failures": len(failures),
        "left_out": len(left_out),
        "shown_nothing": sum(not e.shown for e in read) if shows else 0,
        "passages_beyond_depth": sum(s.cut for q, s in shown.items() if q in entries),
    }


# Which tasks a reader can do and is asked; every other question is left out, with the reason.


# Tasks that are no plain questions; every other name (EntityQuestions, PopQA and so on) is of question answering.
OTHERS = frozenset({"fc", "sf", "el", "dialogue", "ambigdocs", "act"})


def kind_of(task: str) -> str:
    """What a reader is asked to do: one of the tasks above, or to answer a question (qa)."""
    return task if task in OTHERS else "qa"


def tasks_of(reader: Reader) -> tuple[str, ...]:
    """The tasks that a reader says it can do (its attribute `tasks`); none: any task."""
    known = getattr(reader, "tasks", None) or ()
    return (known,) if isinstance(known, str) else tuple(map(str, known))


def checked_tasks(wanted: Sequence[str], reader: Reader, benchmark: Benchmark) -> tuple[str, ...]:
    """The tasks asked for; refused where the benchmark has none of them, or the reader cannot do them."""
    there = list(dict.fromkeys(q.task for q in benchmark.queries))
    for task in wanted:
        if task not in there:
            raise UsageError(
                f"{benchmark.id} has no question of the task {task!r}, only of {sample(there)}",
                hint=did_you_mean(task, there),
            )
    able = tasks_of(reader)
    if beyond := [task for task in wanted if able and not {task, kind_of(task)} & set(able)]:
        name = getattr(reader, "name", type(reader).__name__)
        raise UsageError(f"the reader {name} cannot do the task {beyond[0]}, only {', '.join(able)}")
    return tuple(dict.fromkeys(wanted))


def not_for_reader(queries: Sequence[Query], reader: Reader, wanted: Sequence[str]) -> dict[str, str]:
    """By question: why it is not asked."""
    able = tasks_of(reader)
    unasked = {q.id: f"only the task {', '.join(wanted)} is asked" for q in queries if q.task not in wanted}
    beyond = [q.id for q in queries if able and not {q.task, kind_of(q.task)} & set(able)]
    return (unasked if wanted else {}) | dict.fromkeys(beyond, f"the reader can do {', '.join(able)} only")
