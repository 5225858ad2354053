"""The table of scores: one value for each (system, query, measure), and its slices with intervals."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.set_members import set_numbers
from whichone.benchmarks.several import BENCHMARK, benchmark_of
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.arrow_records import IN_MEMORY, OnDisk, Seen, Selection, blocks, numbers
from whichone.measures.clusters import clusters_of
from whichone.measures.intervals import Estimate, interval
from whichone.measures.measure import Measure, Retrieved
from whichone.records import Passage, Query
from whichone.runs.ranked import of_many
from whichone.runs.results import MARK, more_than_corpus, sees
from whichone.runs.run import Run

READ_TOGETHER = 500
"""Queries whose passages are in memory together."""


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
            wanted = dict.fromkeys(identity for ids in lists for identity in ids)
            self._known = self._fetch(list(wanted))
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


Floats = npt.NDArray[np.float64]

BLOCK = 1024
"""Queries that measures of many at once are given together."""
COLUMNS = ("task", "role", "relation", "name", "name_set", "entity", "language", "mention")


@dataclass(frozen=True)
class Scores:
    """Per-query values of one system on one benchmark; NaN where a measure does not apply."""

    system: str
    benchmark: str
    queries: Sequence[Query]
    measures: Sequence[Measure]
    values: Mapping[str, Floats]
    failed: frozenset[str] = frozenset()
    """Queries at which the system failed; they score as wrong."""
    empty: frozenset[str] = frozenset()
    """Queries to which it gave nothing."""
    learned: int = 0
    """How many of the benchmark's questions the system was trained on."""
    sees: tuple[str, ...] = ()
    """What the system was given, where it says so: "corpus", "knowledge base", "gold"."""

    @functools.cached_property
    def clusters(self) -> npt.NDArray[np.integer[Any]]:
        """The cluster of each query as a number; numbers are in the order of the clusters' names.

        Where there are too many queries to keep, the number is the place of the cluster's first query.
        """
        return clusters_of(self.queries).numbers

    @functools.cached_property
    def set_numbers(self) -> npt.NDArray[np.integer[Any]]:
        """The name set of each query as the place of its first query; -1 for those without one."""
        return set_numbers(self.queries)

    @property
    def marked(self) -> str:
        """The system's name, with a mark where it saw more than the corpus."""
        return f"{self.system} {MARK}" if more_than_corpus(self.sees) else self.system

    def without_result(self) -> str:
        """How many queries failed or got nothing, in words; empty where none did."""
        total = len(self.queries)
        failed = sum(q.id in self.failed for q in self.queries)
        empty = sum(q.id in self.empty for q in self.queries)
        reasons = [f"{failed:,} of {total:,} questions failed"] if failed else []
        reasons += [f"{empty:,} of {total:,} got no result"] if empty else []
        return " and ".join(reasons)

    def cautions(self) -> list[str]:
        """What of these scores is no fair figure: questions without a result, or that were learned from."""
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
        cautions += self.left_out()
        return cautions

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
        """Reads one of a query's own columns or attributes; the benchmark's name also where it is one alone."""
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
        """One row a query, a column for each measure."""
        several = any(map(benchmark_of, self.queries))
        for i, query in enumerate(self.queries):
            row: dict[str, Any] = {BENCHMARK: benchmark_of(query)} if several else {}
            row |= {"query": query.id, "name": query.name, "role": query.role}
            for measure in map(str, self.measures):
                value = float(self.values[measure][i])
                row[measure] = None if np.isnan(value) else value
            yield row


def subset(scores: Scores, chosen: Callable[[Query], bool]) -> Scores:
    """The same table for some of its queries."""
    keep = np.fromiter(map(chosen, scores.queries), np.bool_, len(scores.queries))
    return with_rows(scores, np.flatnonzero(keep))


def with_rows(scores: Scores, rows: npt.NDArray[np.int64]) -> Scores:
    """The same table for the queries at these places."""
    every = scores.queries
    queries = Selection(every, rows) if isinstance(every, OnDisk) else [every[n] for n in rows]
    return replace(scores, queries=queries, values={n: v[rows] for n, v in scores.values.items()})


def score_run(run: Run, benchmark: Benchmark, measures: Sequence[Measure]) -> Scores:
    """Every measure of every query of one run; a failed or missing query scores as wrong."""
    pages, failures = run.ranked_pages(), run.failures
    order = run.ranked_passages() if any(m.needs_text for m in measures) else {}
    lookup = PassageBlocks(benchmark.corpus, order)
    values = {str(m): numbers(len(benchmark.queries), np.float64, np.nan) for m in measures}
    single = [(m.value, values[str(m)]) for m in measures if m.batch is None]
    place = ranked = 0
    empty: list[str] = []
    for block in blocks(benchmark.queries, BLOCK):
        lists = of_many(pages, [query.id for query in block])
        shown = lookup.going_through(block) if order else ((query, ()) for query in block)
        waiting: list[tuple[int, Retrieved]] = []
        for (query, passages), results, others in zip(
            shown, lists, benchmark.others_of(block), strict=True
        ):
            retrieved = Retrieved(
                query=query,
                pages=results,
                gold=query.gold_pages(),
                others=others,
                passages=passages,
                passage=lookup if order else None,
                failed=query.id in failures,
            )
            for measured, column in single:
                value = measured(retrieved)
                if value is not None:
                    column[place] = value
            if len(single) < len(measures):
                waiting.append((place, retrieved))
            if results:
                ranked += 1
            elif not retrieved.failed:
                empty.append(query.id)
            place += 1
        _score_together(measures, waiting, values)
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
        int(run.folder.manifest.counts.get("learned_from", 0)),
        sees(run.folder),
    )


def strange_ids(questions: Iterable[str], queries: Iterable[Query]) -> list[str]:
    """The ids that no query has."""
    known = Seen()
    for block in blocks(queries, BLOCK):
        known.add([query.id for query in block], [0] * len(block))
    strangers: list[str] = []
    for ids in blocks(questions, BLOCK):
        strangers += [i for i, n in zip(ids, known.numbers(ids), strict=True) if n is None]
    return sorted(strangers)


def _score_together(
    measures: Sequence[Measure],
    waiting: Sequence[tuple[int, Retrieved]],
    values: Mapping[str, Floats],
) -> None:
    for measure in measures:
        if measure.batch is not None and waiting:
            all_values = measure.batch([retrieved for _, retrieved in waiting])
            for (i, _), value in zip(waiting, all_values, strict=True):
                if value is not None:
                    values[str(measure)][i] = value


def estimate(scores: Scores, measure: Measure, rows: npt.NDArray[np.int64]) -> Estimate:
    """One measure over some of the queries, with its interval."""
    every = len(rows) == len(scores.queries)  # then nothing is copied
    values = scores.values[str(measure)] if every else scores.values[str(measure)][rows]
    if measure.aggregate == "mean":
        clusters = scores.clusters if every else scores.clusters[rows]
        return interval(values, clusters, bounds=measure.bounds)
    sets = scores.set_numbers if every else scores.set_numbers[rows]
    lowest = numbers(int(sets.max(initial=-1)) + 1, np.float64, np.nan)
    for start in range(0, len(sets), IN_MEMORY):
        part = sets[start : start + IN_MEMORY]
        np.fmin.at(lowest, part[part >= 0], values[start : start + IN_MEMORY][part >= 0])
    return interval(lowest)


def slice_scores(
    scores: Scores, by: Sequence[str] = ()
) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
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
        return [((), _all_rows(len(queries)))] if len(queries) else []
    places: dict[tuple[Any, ...], int] = {}
    groups = numbers(len(queries), np.int32)
    for i, query in enumerate(queries):
        key = tuple(read(query) for read in readers)
        groups[i] = places.setdefault(key, len(places))
    order = numbers(len(queries), np.int64)
    order[:] = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=len(places)))
    rows = dict(zip(places, np.split(order, ends[:-1]), strict=True))
    return [(k, rows[k]) for k in sorted(rows, key=lambda k: [(v is None, str(v)) for v in k])]


def _all_rows(count: int) -> npt.NDArray[np.int64]:
    rows: npt.NDArray[np.int64] = numbers(count, np.int64)
    for start in range(0, count, IN_MEMORY):
        end = min(start + IN_MEMORY, count)
        rows[start:end] = np.arange(start, end)
    return rows


def column(name: str, queries: Sequence[Query]) -> Callable[[Query], Any]:
    """Reads one of a query's own columns, or one of its attributes."""
    if name in COLUMNS:
        return lambda query: getattr(query, name)
    attributes = {key for query in queries for key in query.attributes}
    if name not in attributes:
        raise UsageError(
            f"queries have no column {name!r}",
            hint=did_you_mean(name, {BENCHMARK, *COLUMNS, *attributes}),
        )
    return lambda query: _plain(query.attributes.get(name))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
