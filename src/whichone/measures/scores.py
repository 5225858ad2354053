"""The table of scores: one value for each (system, query, measure), and its slices with intervals."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.benchmark_tables import asked_together, once, set_numbers
from whichone.benchmarks.several import BENCHMARK, benchmark_of
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, must_be_one, sample
from whichone.files.arrow_records import KeyedTable, OnDisk, Seen, Selection, blocks, lists_of, of_keys
from whichone.files.folder import Folder
from whichone.files.mapped import kept_mapped
from whichone.measures.absent import ABSENT_MEASURES, noted_nobody
from whichone.measures.intervals import SHALLOW, Estimate, clusters_of, interval, number_parts
from whichone.measures.measure import Answered, Measure, Retrieved, check_of, parse_measures
from whichone.measures.outcomes import OUTCOME_MEASURES, Judging
from whichone.records import Answer, Passage, Query, page_of
from whichone.runs.run import MARK, Answers, Run, more_than_corpus, of_many, sees, trace_of
from whichone.text import normalisers

READ_TOGETHER = 500  # Queries whose passages are in memory together


class PassageBlocks:
    """Looks passages up while queries are gone through; a page id is its first passage."""

    def __init__(self, corpus: Corpus, ranked: Mapping[str, Sequence[str]]) -> None:
        self._corpus = corpus
        self._ranked = ranked
        self._known: dict[str, Passage] = {}

    def going_through(self, queries: Iterable[Query]) -> Iterator[tuple[Query, Sequence[str]]]:
        """The queries with what was returned for each, its passages known while it is the current one."""
        for block in blocks(queries, READ_TOGETHER):
            lists = of_many(self._ranked, [query.id for query in block])
            self._known = self._fetch(list(dict.fromkeys(identity for ids in lists for identity in ids)))
            yield from zip(block, lists, strict=True)

    def __call__(self, identity: str) -> Passage:
        result = self._known.get(identity)
        return result if result is not None else self._fetch([identity])[identity]

    def _fetch(self, ids: list[str]) -> dict[str, Passage]:
        result = self._corpus.get(ids)
        pages = [identity for identity in ids if identity not in result]
        rows = [row for row in self._corpus.page_rows(pages) if row is not None]
        firsts = self._corpus.ids([self._corpus.rows_of(row).start for row in rows])
        by_id = self._corpus.get(firsts)
        return {**result, **{by_id[first].page: by_id[first] for first in firsts}}


_Floats = npt.NDArray[np.float64]

BLOCK = 1024  # Queries that measures of many at once are given together
COLUMNS = ("task", "role", "relation", "name", "name_set", "entity", "language", "mention")


@dataclass(frozen=True)
class Scores:
    """Per-query values of one system on one benchmark; NaN where a measure does not apply."""

    system: str
    benchmark: str
    queries: Sequence[Query]
    measures: Sequence[Measure]
    values: Mapping[str, _Floats]
    failed: frozenset[str] = frozenset()  # Queries at which the system failed; they score as wrong
    empty: frozenset[str] = frozenset()  # Queries to which it gave nothing
    unasked: frozenset[str] = frozenset()  # Queries that the system was not asked: they count nowhere
    learned: int = 0  # How many of the benchmark's questions the system was trained on
    # What the system was given, where it says so: "corpus", "knowledge base", "gold".
    sees: tuple[str, ...] = ()
    # How popular the one is whom a query is about, as its name set says.
    popularity: Callable[[Query], float | None] | None = field(default=None, repr=False, compare=False)
    # Measures deeper than the run: for how many queries more might have been found below its end.
    shallow: Mapping[str, int] = field(default_factory=dict)

    @functools.cached_property
    def clusters(self) -> npt.NDArray[np.integer[Any]]:
        """The cluster of each query as a number, in the order in which clusters come first."""
        return clusters_of(self.queries).numbers

    @functools.cached_property
    def set_numbers(self) -> npt.NDArray[np.integer[Any]]:
        """The name set of each query as the place of its first query; -1 for those without one."""
        return set_numbers(self.queries)

    def numbers_for(self, measure: Measure) -> npt.NDArray[np.integer[Any]]:
        """For each query the number of what it belongs to in the measure's population: cluster or name set."""
        return self.clusters if measure.population == "query" else self.set_numbers

    @property
    def marked(self) -> str:
        """The system's name, with a mark where it saw more than the corpus."""
        return f"{self.system} {MARK}" if more_than_corpus(self.sees) else self.system

    def without_result(self) -> str:
        """How many queries failed or got nothing, in words; empty where none did."""
        counted = {
            what: sum(q.id in among for q in self.queries) if among else 0
            for what, among in (("questions failed", self.failed), ("got no result", self.empty))
        }
        return " and ".join(f"{n:,} of {len(self.queries):,} {what}" for what, n in counted.items() if n)

    def cautions(self) -> list[str]:
        """Reasons not to quote these scores as they are."""
        cautions = []
        if missing := self.without_result():
            cautions.append(f"{self.system}: {missing}: these count as wrong, never as confused")
        if self.learned:
            cautions.append(
                f"{self.system} was trained on {self.learned:,} of these {len(self.queries):,} questions:"
                " what it finds there is no test"
            )
        if more := more_than_corpus(self.sees):
            cautions.append(f"{self.marked} saw more than the corpus: {', '.join(more)}")
        cautions += [
            f"{SHALLOW} {measure}: {count:,} of {int((~np.isnan(self.values[measure])).sum()):,} questions end above"
            " that depth in this run, and what they miss may be below; ask for more: retrieve -k"
            f" {measure.rpartition('@')[2]} (pages)"
            for measure, count in self.shallow.items()
        ]
        return cautions + self.left_out()

    def left_out(self) -> list[str]:
        """Measures that do not apply to some or any of the queries, and what those queries lack."""
        by_reason: dict[tuple[str, int], list[str]] = {}
        for measure in self.measures:
            without = int(np.isnan(self.values[str(measure)]).sum())
            if without and measure.needs:
                by_reason.setdefault((measure.needs, without), []).append(str(measure))
        total = len(self.queries)
        return [
            f"{', '.join(names)}: a dash, no question has {needs}"
            if without == total
            else f"{', '.join(names)}: over the {total - without:,} of {total:,} questions that have {needs}"
            for (needs, without), names in by_reason.items()
        ]

    def column(self, name: str) -> Callable[[Query], Any]:
        """Reads one of a query's own columns or attributes; the benchmark's name also where it is one alone.

        The popularity of a bearer is in its name set, where it is not an attribute of the query.
        """
        plain, _, parts = name.partition(":")
        own = plain != POPULARITY or any(POPULARITY in query.attributes for query in self.queries)
        if not own and self.popularity is not None:
            return number_parts(plain, self.popularity, self.queries, parts)
        if name == BENCHMARK and not any(map(benchmark_of, self.queries)):
            return lambda query: self.benchmark.rpartition("-")[0]
        return column(name, self.queries)

    def to_arrow(self) -> pa.Table:
        """The long table: system, query, measure, value; the benchmark where there are several."""
        names = [str(m) for m in self.measures]
        ids = [q.id for q in self.queries]
        asked = [benchmark_of(q) for q in self.queries]
        return pa.table(
            {
                "system": [self.system] * (len(ids) * len(names)),
                **({BENCHMARK: asked * len(names)} if any(asked) else {}),
                "query": ids * len(names),
                "measure": [n for n in names for _ in ids],
                "value": np.concatenate([self.values[n] for n in names]) if names else [],
            }
        )

    def rows(self) -> Iterable[dict[str, Any]]:
        several = any(map(benchmark_of, self.queries))
        for i, query in enumerate(self.queries):
            row: dict[str, Any] = {BENCHMARK: benchmark_of(query)} if several else {}
            row |= {"query": query.id, "name": query.name, "role": query.role}
            for measure in map(str, self.measures):
                value = float(self.values[measure][i])
                row[measure] = None if np.isnan(value) else value
            yield row


def subset(scores: Scores, chosen: Callable[[Query], bool]) -> Scores:
    keep = np.fromiter(map(chosen, scores.queries), np.bool_, len(scores.queries))
    return with_rows(scores, np.flatnonzero(keep))


def with_rows(scores: Scores, rows: npt.NDArray[np.int64]) -> Scores:
    every = scores.queries
    queries = Selection(every, rows) if isinstance(every, OnDisk) else [every[n] for n in rows]
    return replace(scores, queries=queries, values={n: v[rows] for n, v in scores.values.items()})


def _no_values(measures: Sequence[Measure], queries: int) -> dict[str, _Floats]:
    return dict(zip(map(str, measures), kept_mapped(np.full((len(measures), queries), np.nan)), strict=True))


def score_run(run: Run, benchmark: Benchmark, measures: Sequence[Measure]) -> Scores:
    """Every measure of every query of one run; a failed or missing query scores as wrong."""
    pages, failures, left_out = run.ranked_pages(), run.failures, run.left_out
    order = run.ranked_passages() if any(m.needs_text for m in measures) else {}
    lookup = PassageBlocks(benchmark.corpus, order)
    noted = noted_nobody(run) if any(m.name in ABSENT_MEASURES for m in measures) else {}
    values = _no_values(measures, len(benchmark.queries))
    single = [(m.value, values[str(m)]) for m in measures if m.batch is None]
    place, ranked = -1, 0
    empty: list[str] = []
    ends = _Ends(run, measures, len(benchmark.queries))
    for block in blocks(benchmark.queries, BLOCK):
        lists = of_many(pages, [query.id for query in block])
        ends.add(place + 1, block, lists)
        shown = lookup.going_through(block) if order else ((query, ()) for query in block)
        waiting: list[tuple[int, Retrieved]] = []
        for (query, passages), results, others in zip(shown, lists, benchmark.others_of(block), strict=True):
            place += 1
            if query.id in left_out:
                continue
            retrieved = Retrieved(
                query=query,
                pages=results,
                gold=query.gold_pages(),
                others=others,
                passages=passages,
                passage=lookup if order else None,
                failed=query.id in failures,
                declined=query.id in noted and noted[query.id].declines,
            )
            for measured, column in single:
                value = measured(retrieved)
                column[place] = np.nan if value is None else value
            if len(single) < len(measures):
                waiting.append((place, retrieved))
            if results:
                ranked += 1
            elif not retrieved.failed:
                empty.append(query.id)
        for measure in measures if waiting else ():
            if measure.batch is not None:
                all_values = measure.batch([retrieved for _, retrieved in waiting])
                for (row, _), value in zip(waiting, all_values, strict=True):
                    values[str(measure)][row] = np.nan if value is None else value
    if ranked < len(pages):
        strangers = strange_ids(pages, benchmark.queries)
        raise BadInput(f"the run names unknown queries: {sample(strangers)}", file=run.path)
    return Scores(
        run.name,
        benchmark.id,
        benchmark.queries,
        measures,
        values,
        frozenset(failures),
        frozenset(empty),
        frozenset(left_out),
        learned=int(run.folder.manifest.counts.get("learned_from", 0)),
        sees=sees(run.folder),
        popularity=benchmark.popularity_of,
        shallow=ends.shallow(values),
    )


class _Ends:
    """Counts the queries whose rankings end above the depth of a measure although there may be more."""

    def __init__(self, run: Run, measures: Sequence[Measure], queries: int) -> None:
        self._run = run
        self._measures = {str(m): m for m in measures if m.k is not None and m.of != "answers"}
        self._deepest = max((m.k or 0 for m in self._measures.values()), default=0)
        self._states = {name: np.zeros(queries, np.int8) for name in self._measures}
        self._lengths = functools.cache(run.lengths)

    def add(self, first: int, queries: Sequence[Query], lists: Sequence[Sequence[str]]) -> None:
        few = [
            (n, query, pages)
            for n, (query, pages) in enumerate(zip(queries, lists, strict=True), first)
            if len(pages) < self._deepest and query.id not in self._run.left_out
        ]
        if not few:
            return
        if self._run.counts_pages:
            full = [len(pages) if len(pages) >= self._run.depth else None for *_, pages in few]
        else:
            given = self._lengths().many([query.id for _, query, _ in few])
            full = [length if (length or 0) >= self._run.depth else None for length in given]
        for (n, query, pages), more in zip(few, full, strict=True):
            right = not query.gold_pages().isdisjoint(pages)
            for name, measure in self._measures.items():
                held = self._run.depth if measure.needs_text else len(pages)
                if held < (measure.k or 0) and not (right and measure.name in _DECIDED):
                    self._states[name][n] = _GIVEN_UP if more is None else _ENDED

    def shallow(self, values: Mapping[str, _Floats]) -> dict[str, int]:
        """The measures with such queries, counted where they apply.

        Of a run that counts pages, queries with fewer are complete, but for as many as the run itself says.
        """
        most = int(self._run.folder.manifest.counts.get("shallow", 0))
        counts = {}
        for name, states in self._states.items():
            _, ended, given_up = np.bincount(states[~np.isnan(values[name])], minlength=3).tolist()
            counts[name] = ended + min(most, given_up)
        return {name: count for name, count in counts.items() if count}


_ENDED, _GIVEN_UP = 1, 2
_DECIDED = ("acc", "all_correct", "confused")  # Measures that nothing below the first gold page changes


def strange_ids(questions: Iterable[str], queries: Iterable[Query]) -> list[str]:
    known = Seen()
    for block in blocks(queries, BLOCK):
        known.add([query.id for query in block], [0] * len(block))
    strangers: list[str] = []
    for ids in blocks(questions, BLOCK):
        strangers += [i for i, n in zip(ids, known.numbers_of(ids), strict=True) if n is None]
    return sorted(strangers)


def estimate(scores: Scores, measure: Measure, rows: npt.NDArray[np.int64]) -> Estimate:
    values, clusters = scores.values[str(measure)], scores.numbers_for(measure)
    if len(rows) < len(values):
        values, clusters = values[rows], clusters[rows]
    found = interval(*of_population(measure, values, clusters), bounds=measure.bounds)
    return msgspec.structs.replace(found, shallow=scores.shallow.get(str(measure), 0))


def of_population(
    measure: Measure, values: _Floats, clusters: npt.NDArray[np.integer[Any]]
) -> tuple[_Floats, npt.NDArray[np.integer[Any]]]:
    """One value for each member of a measure's population, with its cluster, from the values of queries.

    `clusters` are the queries' own, or the numbers of their name sets where the population is name sets
    (`Scores.numbers_for`); a name set has the lowest value of its queries and is a cluster of its own.
    """
    if measure.population == "query":
        return values, clusters
    lowest, known = np.full(int(clusters.max(initial=-1)) + 1, np.nan), clusters >= 0
    np.fmin.at(lowest, clusters[known], values[known])
    return lowest, np.arange(len(lowest))


def slice_scores(scores: Scores, by: Sequence[str] = ()) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
    """For every combination of the slicing columns: its values, and each measure with its interval."""
    rows = []
    for key, where in groups_of(scores.queries, [scores.column(name) for name in by]):
        estimates = {str(m): estimate(scores, m, where) for m in scores.measures}
        rows.append((dict(zip(by, key, strict=True)), estimates))
    return rows


def groups_of(
    queries: Sequence[Query], readers: Sequence[Callable[[Query], Any]]
) -> list[tuple[tuple[Any, ...], npt.NDArray[np.int64]]]:
    """The rows of the queries by what the readers read of each, in the order of these values."""
    if not len(queries) or not readers:
        return [((), np.arange(len(queries), dtype=np.int32))] if len(queries) else []
    places: dict[tuple[Any, ...], int] = {}
    groups = np.zeros(len(queries), np.int32)
    for i, query in enumerate(queries):
        groups[i] = places.setdefault(tuple(read(query) for read in readers), len(places))
    ends = np.cumsum(np.bincount(groups, minlength=len(places)))
    rows = dict(zip(places, np.split(np.argsort(groups, kind="stable"), ends[:-1]), strict=True))
    return [(k, rows[k]) for k in sorted(rows, key=lambda k: [(v is None, str(v)) for v in k])]


POPULARITY = "popularity"


def column(name: str, queries: Sequence[Query]) -> Callable[[Query], Any]:
    """Reads one of a query's own columns, or one of its attributes.

    Of an attribute with many numbers, its head or tail; of `name:4`, which quarter.
    """
    if name in COLUMNS:
        return lambda query: getattr(query, name)
    attributes = {key for query in queries for key in query.attributes}
    plain, _, parts = (name, "", "") if name in attributes else name.rpartition(":")
    plain = plain or name
    must_be_one(plain, {BENCHMARK, *COLUMNS, *attributes}, f"queries have no column {plain!r}")
    return number_parts(plain, lambda query: _plain(query.attributes.get(plain)), queries, parts)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# Scores of a folder of answers: one value for each (system, query, measure).


def score_answers(
    answers: Answers, benchmark: Benchmark, measures: Sequence[Measure], judge: Judging | None = None
) -> Scores:
    """Every measure of every query; a failed or missing one is wrong, one left out does not count.

    Outcomes are those of the rules unless there is a judge (`outcome_judge.judging`).
    """
    check_of(measures, "answers")
    values = _no_values(measures, len(benchmark.queries))
    measured = [(m.value, values[str(m)]) for m in measures]
    for place, answered in each_answered(answers, benchmark, judge):
        for measure, column in measured:
            value = measure(answered)
            column[place] = np.nan if value is None else value
    return Scores(
        answers.name,
        benchmark.id,
        benchmark.queries,
        measures,
        values,
        frozenset(answers.failures),
        unasked=frozenset(answers.left_out),
        sees=sees(answers.folder),
        popularity=benchmark.popularity_of,
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


def undecidable(query: Query) -> bool:
    """Whether no search can know who is meant: the question fits several bearers, or leaves out what would tell."""
    return query.attributes.get("resolvable") == "no" or bool(query.attributes.get("underspecified"))


def with_judgements(answers: Sequence[Answered], judge: Judging | None) -> Sequence[Answered]:
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
    kind = pa.list_(pa.string())
    return once(
        queries,
        "other values",
        lambda: KeyedTable.of_pairs(_other_values(queries), kind, lambda t: map(tuple, lists_of(t["value"]))),
    )


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


# The measures that are taken where a user names none: one list for each place that has its own.
RANKINGS = ("acc@1", "acc@5", "acc@20", "confused@20")  # Of a run
# What systems are compared by, in reports and by `evaluate`.
COMPARED = ("acc@1", "all_correct@1", "confused@20")
REPORTED = (*RANKINGS, "all_correct@1", "all_correct@20")  # What the tables of a report need
# The columns of a leaderboard, beside those that a paper adds.
BOARD = ("acc@1", "acc@5", "acc@20", "all_correct@1", "confused@20", "rprec")
ACTION_MEASURES = ("right_action", "wrong_action", "other_action", "deferred")
ANSWERS = {
    "act": (*ACTION_MEASURES, "failure"),
    "qa": ("em", "f1", *OUTCOME_MEASURES.values(), "failure"),
    "sf": ("em", "f1", *OUTCOME_MEASURES.values(), "failure"),
    "fc": ("accuracy", "refusal", "failure"),
    "el": ("accuracy", "refusal", "failure"),
    "ambigdocs": (
        "complete",
        "partial",
        "ambiguous",
        "merged",
        "no_answer",
        "answer_recall",
        "entity_answer_recall",
    ),
}


def usual_measures(benchmark: Benchmark) -> list[str]:
    """The measures that papers print for the tasks of this benchmark."""
    tasks = dict.fromkeys(query.task for query in benchmark.queries)
    return list(dict.fromkeys(m for task in tasks for m in ANSWERS.get(task, ANSWERS["qa"])))


def board_measures(benchmark: Benchmark) -> list[str]:
    return list(dict.fromkeys([*BOARD, *of_papers(benchmark, "rankings")]))


def of_papers(benchmark: Benchmark, of: str) -> list[str]:
    """What papers add to leaderboards of their benchmarks (`BOARD_MEASURES`)."""
    return [name for add in registry.every("board_measures").values() for name in add(benchmark, of)]


# Scoring a folder from its path and the measures' names.


def score_folder(
    path: str | Path,
    measures: Sequence[str] = (),
    *,
    benchmark: Where | None = None,
    judge: Judging | None = None,
) -> Scores:
    """Every measure of every query of a run, or of a folder of answers.

    Without measures the usual ones of the folder's kind and the benchmark's task are taken.
    """
    folder = Folder.open(path, ("run", "answers"))
    if folder.manifest.kind == "answers":
        answers = Answers(folder)
        base = answers.benchmark(benchmark)
        parsed = parse_measures(measures or usual_measures(base))
        return score_answers(answers, base, parsed, judge)
    if judge is not None:
        raise UsageError("a judge reads answers, and this is a run", where=str(path))
    run = Run(folder)
    parsed = parse_measures(measures or RANKINGS)
    check_of(parsed, "rankings")
    return score_run(run, run.benchmark(benchmark), parsed)


def slice_rows(scores: Scores, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    return [
        {**where, **{name: e.brief() for name, e in estimates.items()}}
        for where, estimates in slice_scores(scores, by)
    ]


def distinctly_named(scores: Sequence[Scores], paths: Sequence[str | Path]) -> list[Scores]:
    """Systems of one name get their folder's name in parentheses."""
    names = [s.system for s in scores]
    return [
        replace(s, system=f"{s.system} ({Path(path).name})") if names.count(s.system) > 1 else s
        for s, path in zip(scores, paths, strict=True)
    ]
