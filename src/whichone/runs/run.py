"""A run on disk: rankings of all questions, failures, timing, and how it was made."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import KIND as CORPUS_KIND
from whichone.corpus.corpus import Corpus, remember
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.arrow_records import KeyedTable, blocks, lists_of, of_keys
from whichone.files.folder import Folder, folder_kinds
from whichone.files.manifest import MANIFEST, decode_manifest
from whichone.files.mapped import run_starts
from whichone.files.tables import ROW_GROUP, TableSchema
from whichone.progress import talk
from whichone.records import Answer, Query, Trace

T = TypeVar("T")

# What a system returned for each question, looked up many at once.


def _results(column: str) -> pa.Schema:
    return pa.schema([("question", pa.string()), (column, pa.list_(RANKINGS.schema.field(column).type))])


def _each_question(folder: Folder, column: str) -> Iterator[pa.RecordBatch]:
    """Each question of the rankings with the values of a column in their order."""
    rows = RANKINGS.empty().select(["question", column])
    for batch in folder.batches(RANKINGS.name, ["question", column], ROW_GROUP):
        rows = pa.concat_tables([rows, pa.Table.from_batches([batch])]).combine_chunks()
        last = int(run_starts(rows["question"].chunk(0))[-1])  # which may go on in the next batch
        yield _by_question(rows.slice(0, last), column)
        rows = rows.slice(last)
    yield _by_question(rows, column)


def _by_question(rows: pa.Table, column: str) -> pa.RecordBatch:
    questions, values = (column.combine_chunks() for column in rows.columns)
    starts = run_starts(questions)
    lists = pa.ListArray.from_arrays(pa.array([*starts.tolist(), len(questions)], pa.int32()), values)
    return pa.record_batch([questions.take(pa.array(starts)), lists], schema=_results(column))


def beside(queries: Iterable[Query], *records: Mapping[str, Any]) -> Iterator[tuple[Query, *tuple[Any, ...]]]:
    """Each query with its record in every mapping, None where it has none; they are looked up many at once."""
    for block in blocks(queries, _TOGETHER):
        ids = [query.id for query in block]
        yield from zip(block, *(of_keys(known, ids) for known in records), strict=True)


_TOGETHER = 1024


def of_many(ranked: Mapping[str, Sequence[T]], questions: Sequence[str]) -> list[Sequence[T]]:
    """The values of each question, none where it has none."""
    return [values or () for values in of_keys(ranked, questions)]


# A folder of results over a benchmark: what a run and a folder of answers have in common, and what their system saw.


MARK = "‡"
NOTE = f"{MARK} saw more than the corpus"
_OF_THE_BENCHMARK = ("gold", "bearer")  # Settings of reading that show passages chosen by who is asked about


def sees(folder: Folder) -> tuple[str, ...]:
    """As the run's or answers' manifest has it; empty where nothing is said."""
    parameters, created = folder.manifest.parameters, folder.manifest.made
    said = parameters.get("sees") or created.get("sees") or ()
    reader, setting = (
        part if isinstance(part := parameters.get(name), dict) else {} for name in ("reader", "setting")
    )
    results: list[str] = []
    for named in (said, reader.get("sees") or ()):
        results += [named] if isinstance(named, str) else map(str, named)
    if any(word in str(setting.get("passages", "")) for word in _OF_THE_BENCHMARK):
        results.append("gold")
    return tuple(dict.fromkeys(results))


def more_than_corpus(seen: tuple[str, ...]) -> tuple[str, ...]:
    """What a fair comparison over the corpus alone would not have."""
    return tuple(word for word in seen if word not in ("corpus", "questions"))


FAILURES = TableSchema.of("failures", ("question",), ("question", pa.string()), ("error", pa.string()))
LEFT_OUT = TableSchema.of("left_out", ("question",), ("question", pa.string()), ("reason", pa.string()))


class Results:
    """What one system gave to the questions of one benchmark, and the questions it failed at."""

    kind: ClassVar[str]

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Self:
        return cls(Folder.open(path, cls.kind))

    @property
    def path(self) -> Path:
        return self.folder.root

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def description(self) -> dict[str, Any]:
        return self.folder.manifest.parameters

    @property
    def benchmark_id(self) -> str:
        return self.folder.manifest.parents["benchmark"]

    @functools.cached_property
    def failures(self) -> dict[str, str]:
        """Questions that could not be answered, with the error."""
        return {row["question"]: row["error"] for row in self.folder.rows_of(FAILURES.name)}

    @functools.cached_property
    def left_out(self) -> dict[str, str]:
        """Questions that were not asked, with the reason."""
        if not self.folder.has(LEFT_OUT.file):
            return {}
        return {r["question"]: r["reason"] for r in self.folder.rows_of(LEFT_OUT.name)}

    def benchmark(self, where: Where | None = None) -> Benchmark:
        """The benchmark these are over: where it was when they were made, or where it is said.

        Of several the places of all are named.
        """
        place: Where | None = where or self.folder.manifest.made.get("benchmark")
        if place is None:
            hint = "name it with --benchmark"
            raise BadInput("it does not say where its benchmark is", file=self.path, hint=hint)
        benchmark = Benchmark.open(place)
        if benchmark.id != self.benchmark_id:
            named = place if isinstance(place, str | Path) else benchmark.place
            raise BadInput(
                f"the {self.kind} is over {self.benchmark_id}, but {named} is {benchmark.id}",
                file=self.path,
                hint="name the benchmark it was made on with --benchmark, or make it again",
            )
        return benchmark


# Rankings of all questions, failures, timing, and how they were made.


KIND = "run"

RANKINGS = TableSchema.of(
    "rankings",
    ("question", "rank"),
    ("question", pa.string()),
    ("rank", pa.int32()),  # from 1
    ("passage", pa.string()),  # a passage id, or a page id for page-level systems
    ("page", pa.string()),
    ("score", pa.float64()),
)
NOTES = TableSchema.of("notes", ("question",), ("question", pa.string()), ("notes", pa.string()))
TIMING = TableSchema.of("timing", ("question",), ("question", pa.string()), ("seconds", pa.float64()))


COUNTS = "counts"  # Parameter of a run: "pages" where k of them were asked for; else k counts passages


class Run(Results):
    """Rankings of every question of one benchmark by one system."""

    kind = KIND

    @property
    def counts_pages(self) -> bool:
        return bool(self.description.get(COUNTS) == "pages")

    @functools.cached_property
    def depth(self) -> int:
        """How many results, or pages, were asked for; of rankings made elsewhere how many there are at most."""
        k = self.description.get("k")
        if isinstance(k, int):
            return k
        with pq.ParquetFile(self.folder.path(RANKINGS.file)) as file:
            batches = file.iter_batches(columns=["rank"])
            return max((int(pc.max(b["rank"]).as_py()) for b in batches if b.num_rows), default=0)

    def lengths(self) -> KeyedTable[int]:
        """How many passages each question got."""
        return self._ranked("page").decoded(lambda table: pc.list_value_length(table["page"]).to_pylist())

    @functools.cached_property
    def rankings(self) -> pa.Table:
        return self.folder.table("rankings")

    @functools.cached_property
    def _ranked(self) -> Callable[[str], KeyedTable[list[Any]]]:
        def table(column: str) -> KeyedTable[list[Any]]:
            return KeyedTable(_each_question(self.folder, column), _results(column), _LISTS[column])

        return functools.cache(table)

    def ranked_pages(self) -> Mapping[str, Sequence[str]]:
        """For each question the pages in order of their best passage, each once."""
        return self._ranked("page")

    def ranked_passages(self) -> Mapping[str, Sequence[str]]:
        """For each question what the system returned, best first."""
        return self._ranked("passage")

    def ranked_scores(self) -> Mapping[str, Sequence[float]]:
        """For each question the scores of what the system returned."""
        return self._ranked("score")

    def firsts(self, questions: Sequence[str]) -> dict[str, tuple[str, str]]:
        """What came first for each of a few questions, and its page; only their part of the table is read."""
        rows = self.rows_of(questions, 1).to_pylist()
        return {row["question"]: (row["passage"], row["page"]) for row in rows}

    def rows_of(self, questions: Sequence[str], depth: int) -> pa.Table:
        """The rankings of a few questions down to a depth; only their part of the table is read."""
        if not questions:
            return RANKINGS.empty()
        wanted = [("question", "in", sorted(questions)), ("rank", "<=", depth)]
        return pq.read_table(self.folder.path(RANKINGS.file), filters=wanted, pre_buffer=False)


_LISTS: dict[str, Callable[[pa.Table], Iterable[list[Any]]]] = {
    "page": lambda table: (list(dict.fromkeys(pages)) for pages in lists_of(table["page"])),
    "passage": lambda table: lists_of(table["passage"]),
    "score": lambda table: lists_of(table["score"]),
}


# Answers on disk: what a reader said to every question, naming its run, reader and setting.


ANSWERS_KIND = "answers"

ANSWERS = TableSchema.of(
    "answers",
    ("question",),
    ("question", pa.string()),
    ("text", pa.string()),  # null is a refusal, or a question back
    ("asks", pa.string()),  # the question back
    ("passages", pa.list_(pa.string())),  # those the answer rests on
    ("shown", pa.list_(pa.string())),  # those the reader was shown, in their order
    ("score", pa.float64()),
    ("notes", pa.string()),  # JSON
)
ANSWERS_TIMING = TableSchema.of(
    "timing",
    ("question",),
    ("question", pa.string()),
    ("seconds", pa.float64()),
    ("prompt_tokens", pa.int64()),
    ("tokens", pa.int64()),
    ("cost", pa.float64()),
    ("cached", pa.bool_()),
)


class Answers(Results):
    """What one reader said to the questions of one benchmark under one setting."""

    kind = ANSWERS_KIND

    @functools.cached_property
    def shown(self) -> Mapping[str, tuple[str, ...]]:
        """The passages each question was shown with, in their order."""
        return self._rows.decoded(lambda table: map(tuple, lists_of(table["shown"])))

    @functools.cached_property
    def answers(self) -> Mapping[str, Answer]:
        """By question; failed ones and those that were not asked are not among them."""
        return self._rows.decoded(lambda table: map(_answer, table.to_pylist()))

    @functools.cached_property
    def _rows(self) -> KeyedTable[Any]:
        return KeyedTable(self.folder.batches(ANSWERS.name), ANSWERS.schema, pa.Table.to_pylist)


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        question=row["question"],
        text=row["text"],
        asks=row["asks"],
        passages=tuple(row["passages"] or ()),
        score=row["score"],
        notes=msgspec.json.decode(row["notes"]) if row["notes"] else {},
    )


def begun(folder: Folder, identity: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the journal of a folder has of this very work; what was begun of other work is removed."""
    folder.journal.mend()
    entries = iter(folder.journal)
    if (first := next(entries, None)) == identity:
        return entries
    if first is not None:
        talk(f"{folder.root}: what was begun there was other work; starting over")
    shutil.rmtree(folder.partial)
    folder.partial.mkdir()
    folder.journal.append(identity)
    return iter(())


# Opens a corpus where its folder, or a benchmark that has one, is named.


def open_corpus(where: str | Path) -> Corpus:
    """A corpus folder, or the corpus of a benchmark (also a built-in one)."""
    builtin = str(where).startswith("builtin/")
    if builtin or Folder.open(where, (CORPUS_KIND, BENCHMARK)).manifest.kind == BENCHMARK:
        return Benchmark.open(where).corpus
    corpus = Corpus.open(where)
    remember(corpus)
    return corpus


# The runs over a benchmark that a question about it is answered from.


def pilot_runs(folders: Sequence[str]) -> tuple[str | None, list[str]]:
    """A benchmark's place, where one is among the folders, and the runs; without runs, those stored beside it."""
    manifests = {folder: Path(folder) / MANIFEST for folder in folders}
    kinds = {folder: decode_manifest(m).kind for folder, m in manifests.items() if m.is_file()}
    places = [folder for folder in folders if kinds.get(folder) == BENCHMARK]
    runs = [folder for folder in folders if folder not in places]
    if len(places) > 1:
        raise UsageError(f"{len(places)} benchmarks are named, one is wanted")
    if runs or not places:
        return (places[0] if places else None), runs
    (place,) = places
    benchmark = Benchmark.open(place)
    runs = [
        str(path)
        for path, kind in folder_kinds(Path(place).resolve().parent)
        if kind == KIND and Run.open(path).benchmark_id == benchmark.id
    ]
    if len(runs) < 2:
        raise Missing(
            f"{len(runs) or 'no'} runs over {benchmark.name} are stored beside it, two or more are wanted",
            where=place,
            hint=f"whichone retrieve {place} RUN_A --retriever bm25, another RUN_B, then power {place} RUN_A RUN_B",
        )
    talk(f"from {len(runs)} runs: {', '.join(Path(run).name for run in runs)}")
    return place, runs


TRACE = "trace"  # The note of an answer in which an agent's trace is kept


def trace_of(answer: Answer) -> Trace | None:
    trace = answer.notes.get(TRACE)
    return msgspec.convert(trace, Trace) if trace else None
