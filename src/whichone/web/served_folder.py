"""The benchmarks and runs that the pages show: found once on disk, named by their content.

A request names a benchmark or a run by a few hex digits that are looked up here; no text of a
request ever becomes a path.
"""

import contextlib
import functools
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.several import part_ids
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, WhichoneError
from whichone.files.folder import Folder, folder_kinds
from whichone.files.output import cache_folder
from whichone.names import fold
from whichone.records import grouped, page_of
from whichone.runs.run import ANSWERS_KIND as ANSWERS
from whichone.runs.run import KIND as RUN
from whichone.web.explorer.explorer_index import Indexes

_FRESH = 10.0  # Seconds before the folder is looked through again


@dataclass(frozen=True)
class ServedRun:
    key: str
    name: str
    folder: Folder

    @property
    def sees(self) -> str:
        """What the system was given beside the questions, as its manifest says."""
        sees = self.folder.manifest.parameters.get("sees") or self.folder.manifest.made.get("sees") or ()
        return sees if isinstance(sees, str) else ", ".join(map(str, sees))


@dataclass(frozen=True)
class ServedBenchmark:
    key: str
    id: str
    name: str
    folder: Folder
    runs: dict[str, ServedRun] = field(default_factory=dict)
    answers: list[Folder] = field(default_factory=list)

    def open(self) -> Benchmark:
        """Opened afresh, so that its tables leave memory with whoever asked for them."""
        return Benchmark(self.folder)

    @property
    def corpus(self) -> Corpus:
        """Its corpus; mapped, so that it may stay open."""
        return corpus_of(self.folder.root, self.key)

    def tasks(self) -> frozenset[str]:
        return _tasks(self.folder.path("queries.parquet"), self.key)

    def questions(self) -> frozenset[str]:
        """The words of every query, as `names.fold` compares them."""
        return _questions(self.folder.path("queries.parquet"), self.key)

    @property
    def gold(self) -> str:
        """One word for the questions, and so for their gold: the same for a copy under another name."""
        return _digest(self.questions())


@functools.lru_cache(256)
def _tasks(queries: Path, key: str) -> frozenset[str]:
    """`key` is the content's, so that a folder that was made again is read again."""
    return frozenset(pq.read_table(queries, columns=["task"])["task"].unique().to_pylist())


@functools.lru_cache(64)
def corpus_of(root: Path, key: str) -> Corpus:
    return Benchmark.open(root).corpus


@functools.lru_cache(64)
def _questions(queries: Path, key: str) -> frozenset[str]:
    return frozenset(map(fold, pq.read_table(queries, columns=["input"])["input"].to_pylist()))


@functools.lru_cache(64)
def _digest(questions: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(questions)).encode()).hexdigest()[:16]


class ServedFolder:
    """Everything below one folder or several, or the built-in benchmark when there is none."""

    def __init__(self, root: Path | None, *more: Path, cache: Path | None = None) -> None:
        self.root = root
        self._roots = [*([root] if root is not None else []), *more]
        self.indexes = Indexes((cache or cache_folder()) / "web")
        self._lock = threading.Lock()
        self._benchmarks: dict[str, ServedBenchmark] = {}
        # Runs whose benchmark is not below the folder, and folders that could not be opened.
        self.strays: list[str] = []
        self._looked = 0.0

    def benchmarks(self) -> dict[str, ServedBenchmark]:
        with self._lock:
            if time.monotonic() - self._looked > _FRESH or not self._looked:
                self._look()
            return self._benchmarks

    def look_again(self) -> None:
        with self._lock:
            self._looked = 0.0

    def benchmark(self, key: str) -> ServedBenchmark | None:
        return self.benchmarks().get(key)

    def named(self, identity: str) -> ServedBenchmark | None:
        return next((served for served in self.benchmarks().values() if served.id == identity), None)

    def benchmark_index(self, served: ServedBenchmark) -> Path:
        return self.indexes.of_benchmark(served.folder)

    def run_index(self, served: ServedBenchmark, run: ServedRun) -> Path:
        return self.indexes.of_run(run.folder, served.folder)

    def _look(self) -> None:
        benchmarks: dict[str, ServedBenchmark] = {}
        runs: list[Folder] = []
        strays: list[str] = []
        for place, kind in self._folders():
            if kind not in (BENCHMARK, RUN, ANSWERS):
                continue
            try:
                folder = Folder.open(place, kind)
            except WhichoneError as error:
                strays.append(f"{place.name}: {error.message}")
                continue
            if kind in (RUN, ANSWERS):
                runs.append(folder)
            else:
                served = _served_benchmark(folder)
                benchmarks.setdefault(served.key, served)
        for served in _builtin_benchmarks(runs):
            benchmarks.setdefault(served.key, served)
        for served in self._several_together(runs, list(benchmarks.values())):
            benchmarks.setdefault(served.key, served)
        names = Counter(served.name for served in benchmarks.values())
        for key, served in benchmarks.items():
            if names[served.name] > 1:  # what their folders are called tells versions apart
                benchmarks[key] = replace(served, name=f"{served.name} ({self._called(served.folder.root)})")
        by_id = {served.id: served for served in benchmarks.values()}
        for folder in runs:
            asked = folder.manifest.parents.get("benchmark", "")
            if (home := by_id.get(asked)) is None:
                strays.append(
                    f"{folder.root.name} ({folder.manifest.name}): its benchmark {asked} is not here;"
                    " put it below the folder that is served"
                )
            elif folder.manifest.kind == ANSWERS:
                home.answers.append(folder)
            else:
                _put(home, folder)
        self._benchmarks, self.strays, self._looked = benchmarks, strays, time.monotonic()

    def _called(self, place: Path) -> str:
        roots = [root for root in self._roots if place != root and place.is_relative_to(root)]
        return str(place.relative_to(roots[0])) if roots else place.name

    def _several_together(
        self, runs: Sequence[Folder], known: Sequence[ServedBenchmark]
    ) -> Iterator[ServedBenchmark]:
        """Benchmarks over one corpus as one: those that a run was asked, and those named at the start."""
        opened = {served.id: Benchmark(served.folder) for served in known}
        wanted: dict[str, Where] = {}
        for run in runs:
            if named := part_ids(run.manifest.parents):
                whole = all(part in opened for part in named)
                then = run.manifest.made.get("benchmark", [])
                wanted[" ".join(named)] = [opened[part] for part in named] if whole else then
        given = [b for b in opened.values() if b.folder.root in self._roots]
        if len(given) > 1:
            wanted[" ".join(b.id for b in given)] = given
        for parts in wanted.values():
            with contextlib.suppress(WhichoneError):  # its runs are listed without a benchmark
                yield _served_benchmark(Benchmark.open(parts).folder)

    def _folders(self) -> list[tuple[Path, str]]:
        if self._roots:
            return [result for root in self._roots for result in folder_kinds(root)]
        from whichone.benchmarks.by_name import builtin_benchmark

        return [(Path(builtin_benchmark("builtin/amber")), BENCHMARK)]


def _builtin_benchmarks(runs: Sequence[Folder]) -> Iterator[ServedBenchmark]:
    """The built-in benchmarks that some run says it was made on: they lie below no folder."""
    from whichone import registry
    from whichone.benchmarks.by_name import builtin_benchmark

    named = {str(run.manifest.made.get("benchmark")) for run in runs}
    for name in sorted(named.intersection(registry.names("builtins"))):
        yield _served_benchmark(Folder.open(builtin_benchmark(name), BENCHMARK))


def _served_benchmark(folder: Folder) -> ServedBenchmark:
    key, name = folder.content_hash[:12], folder.manifest.name
    return ServedBenchmark(key=key, id=f"{name}-{key}", name=name, folder=folder)


def _put(served: ServedBenchmark, folder: Folder) -> None:
    """Two runs with the same rankings keep their own places."""
    key, number = folder.content_hash[:12], 1
    while key in served.runs:
        number += 1
        key = f"{folder.content_hash[:12]}-{number}"
    names = {run.name for run in served.runs.values()}
    own = folder.manifest.name or folder.root.name
    name = own if own not in names else f"{own} ({folder.root.name})"
    served.runs[key] = ServedRun(key=key, name=name, folder=folder)


# Rankings and passages as they lie on disk, a few rows at a time.

TOP = 10
_LEAST_LETTERS = 40  # A passage shorter than this is not taken to be what a longer text is about


def _words(column: str) -> str:
    """SQL for a text's letters and digits, lower-case, one blank between and around words."""
    return f"' ' || trim(regexp_replace(lower({column}), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g')) || ' '"


class TableReader:
    """Reads single questions and pages out of Parquet tables; the engine's memory is bounded."""

    def __init__(self, memory: str = "256MB") -> None:
        self._memory = memory
        self._local = threading.local()

    @functools.cached_property
    def _engine(self) -> Any:
        """It starts when it is first asked: many visits need none."""
        import duckdb

        return duckdb.connect(config={"memory_limit": self._memory, "threads": 1})

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._engine.cursor()
        return list(self._local.cursor.execute(sql, values).fetchall())

    def top(
        self, rankings: Path, questions: Sequence[str], most: int = TOP
    ) -> dict[str, list[tuple[int, str, float]]]:
        """For each question its first results: rank, passage or page id, score."""
        if not questions:
            return {}
        marks = ", ".join("?" * len(questions))
        rows = self._rows(
            f"select question, rank, passage, score from read_parquet(?) "
            f"where question in ({marks}) and rank <= ? order by question, rank",
            [str(rankings), *questions, most],
        )
        return grouped((question, (rank, passage, score)) for question, rank, passage, score in rows)

    def answer(self, answers: Path, question: str) -> dict[str, Any] | None:
        """What a reader answered to a question: its text (None for a refusal), its passages, its notes."""
        asks = "asks" if "asks" in pq.read_schema(answers).names else "null as asks"
        rows = self._rows(
            f"select text, coalesce(passages, []), notes, {asks} from read_parquet(?) where question = ? limit 1",
            [str(answers), question],
        )
        names = ("text", "passages", "notes", "asks")
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def passages(self, corpus: Corpus, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Title and text by passage id; a page id gives the page's first passage."""
        wanted = sorted(set(ids))
        places = corpus.page_rows(wanted)
        first = {
            page: corpus.rows_of(place).start
            for page, place in zip(wanted, places, strict=True)
            if place is not None
        }
        known = {i: r for i, r in zip(wanted, corpus.rows(wanted), strict=True) if r is not None}
        rows = first | known
        texts = corpus.take(list(rows.values()), ["title", "text"]).to_pylist()
        return {i: (t["title"], t["text"]) for i, t in zip(rows, texts, strict=True)}

    def pages(self, corpus: Corpus, ids: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
        pages: dict[str, tuple[str, list[str]]] = {}
        for identity, title, text in self.passages_of(corpus, ids):
            pages.setdefault(page_of(identity), (title, []))[1].append(text)
        return pages

    def holding(self, corpus: Corpus, texts: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """For each text the passages (id, title) that contain its words, or whose words it contains."""
        if not texts:
            return {}
        cursor = self._engine.cursor()
        cursor.register("passages", corpus.passages)
        rows = cursor.execute(
            f"with corpus as (select id, page, n, title, {_words('text')} as words from passages), "
            f"wanted as (select t as text, {_words('t')} as words from (select unnest(?) as t)) "
            "select wanted.text, id, title from corpus, wanted where contains(corpus.words, wanted.words) "
            "or (length(corpus.words) > ? and contains(wanted.words, corpus.words)) order by page, n",
            [list(texts), _LEAST_LETTERS],
        ).fetchall()
        return grouped((text, (identity, title)) for text, identity, title in rows)

    def passages_of(self, corpus: Corpus, pages: Iterable[str]) -> list[tuple[str, str, str]]:
        places = [p for p in corpus.page_rows(sorted(set(pages))) if p is not None]
        rows = [row for place in places for row in corpus.rows_of(place)]
        table = corpus.take(rows, ["id", "title", "text"])
        return [(row["id"], row["title"], row["text"]) for row in table.to_pylist()]


# The passages that annotators have before them now, so that a click does not go to the corpus.

_MOST = 5000

_Text = tuple[str, str]  # Title and text


class PassageCache:
    def __init__(self, folder: ServedFolder, tables: TableReader) -> None:
        self._folder, self._tables = folder, tables
        self._held: dict[tuple[str, str], _Text] = {}

    def texts(self, benchmark: str, ids: Sequence[str]) -> dict[str, _Text]:
        texts = {i: known for i in ids if (known := self._held.get((benchmark, i)))}
        if missing := [i for i in ids if i not in texts]:
            read = self._tables.passages(benchmark_named(self._folder, benchmark).corpus, missing)
            if len(self._held) + len(read) > _MOST:
                self._held = {}
            self._held |= {(benchmark, i): text for i, text in read.items()}
            texts |= read
        return texts


def benchmark_named(folder: ServedFolder, benchmark: str) -> ServedBenchmark:
    if served := folder.named(benchmark):
        return served
    raise BadInput(f"the benchmark {benchmark} is not here any more")
