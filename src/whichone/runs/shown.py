"""Settings: which passages a reader is shown for a question.

`gold` is the oracle of AmbER's Table 7, `retrieved` its regular setting; `other-bearer` gives the page
of another bearer of the name instead of the gold one, which is what confusion does to a reader.
"""

import hashlib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import asdict

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import worded
from whichone.benchmarks.several import own_id
from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.arrow_records import KeyedTable, MappedRecords, Seen, Selection, blocks
from whichone.files.folder import Folder
from whichone.files.lines import ODD_RECORD
from whichone.files.tables import TableSchema
from whichone.options import takes
from whichone.progress import talk
from whichone.protocols import USAGE, Reader
from whichone.records import Answer, Query, ReadingTask
from whichone.runs.run import ANSWERS, ANSWERS_TIMING, FAILURES, LEFT_OUT, Answers, Run, begun, of_many
from whichone.runs.run_options import Passages, ShownOptions
from whichone.text import normalisers

KINDS: tuple[str, ...] = get_args(Passages)
AMBIGDOCS = "ambigdocs"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: AmbER reads 20 passages, BART+DPR 3, RAG 5, AmbigDocs at most 5 in any order."""

    passages: Passages = "gold"
    depth: int = 20  # At most so many passages a question
    shuffled: bool = False  # In a seeded order of its own for each question, instead of by rank
    # How many passages represent a page that a page-level run returned; 0: all of them.
    page_passages: int = 1
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
    cut: int = 0  # How many passages there were beyond the depth


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
        self.setting, self.corpus, self._set_by_id = setting, benchmark.corpus, benchmark.set_by_id
        self._ranked = run.ranked_passages() if run is not None and setting.needs_run else {}

    def choose(self, query: Query) -> Shown:
        return next(self.choose_each([query]))

    def choose_each(self, queries: Iterable[Query]) -> Iterator[Shown]:
        for block in blocks(queries, _TOGETHER):
            yield from map(self._choose, block, of_many(self._ranked, [query.id for query in block]))

    def _choose(self, query: Query, ranked_of: Sequence[str]) -> Shown:
        if (kind := self.setting.passages) == "none":
            return Shown()
        if kind == "other-bearer":
            return self._other_bearer(query)
        passages, cut = self._gold(query) if "gold" in kind else ([], 0)
        if "retrieved" in kind:
            ranked = [p for p in self._retrieved(ranked_of) if p not in passages]
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

    def _retrieved(self, ranked: Sequence[str]) -> list[str]:
        pages: dict[str, None] = {}
        for identity in ranked:
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
        names = self._set_by_id(query.name_set or "")
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


class Entries:
    """The entries of a journal by question, on disk: all added, then read."""

    def __init__(self, near: Path | None = None) -> None:
        self._entries = MappedRecords(Entry, near)
        self._places = Seen()
        self.failures = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def add(self, entry: Entry) -> bool:
        """Whether its question had none yet; else nothing is added."""
        if self._places.add_one(entry.answer.question, len(self._entries)) is not None:
            return False
        self._entries.append(entry)
        self.failures += entry.answer.error is not None
        return True

    def has(self, questions: Sequence[str]) -> list[bool]:
        return [place is not None for place in self._places.numbers_of(questions)]

    def of(self, questions: Sequence[str]) -> list[Entry | None]:
        places = self._places.numbers_of(questions)
        known = self._entries.chosen(np.array([place for place in places if place is not None], np.int64))
        return [None if place is None else next(known) for place in places]


def begin(folder: Folder, identity: Mapping[str, Any]) -> Entries:
    """Answers that were already given, if they belong to this very work; failures not among them."""
    kept, useless = Entries(folder.root), 0
    for raw in begun(folder, identity):
        try:
            entry = msgspec.convert(raw, Entry)
        except msgspec.ValidationError:
            useless += 1
            continue
        if not entry.answer.error:
            kept.add(entry)
    if useless:
        talk(f"{folder.root}: {useless:,} answers cannot be used and are asked for again")
    if len(kept):
        talk(f"going on with {folder.root}: {len(kept):,} questions are answered")
    return kept


def finished_entries(answers: Answers) -> Iterator[Entry]:
    """What finished answers contain, without the questions that failed or got an empty reply."""
    took = KeyedTable(answers.folder.batches(ANSWERS_TIMING.name), ANSWERS_TIMING.schema, _usage)
    for block in blocks(zip(answers.answers.values(), answers.shown.values(), strict=True), _TOGETHER):
        for (answer, shown), usage in zip(block, took.many([a.question for a, _ in block]), strict=True):
            if answer.notes.get("form") != "empty":
                yield Entry(answer, shown, usage or Usage())


def _usage(table: pa.Table) -> Iterator[Usage]:
    return (msgspec.convert(row, Usage) for row in table.to_pylist())


_TOGETHER = 1_024
COUNTED = (
    *("answered", "asked", "refused", "empty", "failures", "left_out", "shown_nothing"),
    "passages_beyond_depth",
)


def write_tables(
    folder: Folder, queries: Sequence[Query], entries: Entries, shown: Sequence[Shown] | None = None,
    *, shows: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """The tables, from the journal's entries and what was shown in the benchmark's order; what to count.

    Not `shows` is a setting that shows nobody anything: a closed book, or an agent that searches itself.
    """
    ids = pa.array((query.id for query in queries), pa.string())
    order = pc.sort_indices(ids).to_numpy()

    def each() -> Iterator[list[tuple[str, Shown, Entry | None]]]:
        """In the order of the tables, so that they need no sorting."""
        for places in np.split(order, range(_TOGETHER, len(order), _TOGETHER)):
            some = ids.take(pa.array(places)).to_pylist()
            what = itertools.repeat(Shown(), len(some)) if shown is None else Selection(shown, places)
            yield list(zip(some, what, entries.of(some), strict=True))

    def write(schema: TableSchema, row: Callable[[Shown, Entry | None], dict[str, Any] | None]) -> None:
        made = ([(question, row(what, entry)) for question, what, entry in block] for block in each())
        rows = ([{"question": question, **given} for question, given in block if given] for block in made)
        batches = (batch for some in rows for batch in schema.from_rows(some).to_batches())
        folder.write(schema, pa.RecordBatchReader.from_batches(schema.schema, batches))

    write(ANSWERS, _answer_row)
    write(FAILURES, lambda _, e: {"error": e.answer.error} if e and e.answer.error else None)
    write(LEFT_OUT, lambda what, _: {"reason": what.left_out} if what.left_out else None)
    write(ANSWERS_TIMING, lambda _, e: asdict(e.usage) if e and e.usage != Usage() else None)
    counts = {"questions": len(queries)} | dict.fromkeys(COUNTED, 0)
    for _, what, entry in itertools.chain.from_iterable(each()):
        counts["left_out"] += what.left_out is not None
        if entry is not None:
            text, asks, error = entry.answer.text, entry.answer.asks, entry.answer.error
            counts["answered"] += text is not None
            counts["asked"] += asks is not None
            counts["refused"] += error is None and text is None and asks is None
            counts["empty"] += text is not None and not text.strip()
            counts["failures"] += bool(error)
            counts["shown_nothing"] += shows and not entry.shown
            counts["passages_beyond_depth"] += what.cut
    return counts


def _answer_row(_: Shown, entry: Entry | None) -> dict[str, Any] | None:
    if entry is None or entry.answer.error is not None:
        return None
    answer = entry.answer
    return {
        "text": answer.text,
        "asks": answer.asks,
        "passages": list(answer.passages),
        "shown": list(entry.shown),
        "score": answer.score,
        "notes": msgspec.json.encode(answer.notes).decode() if answer.notes else None,
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


def not_for_reader(query: Query, reader: Reader, wanted: Sequence[str]) -> str | None:
    """Why a question is not asked."""
    able, task = tasks_of(reader), query.task
    if able and not {task, kind_of(task)} & set(able):
        return f"the reader can do {', '.join(able)} only"
    return f"only the task {', '.join(wanted)} is asked" if wanted and task not in wanted else None
