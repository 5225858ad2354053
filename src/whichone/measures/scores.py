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
from whichone.benchmarks.several import BENCHMARK, benchmark_of
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.spool import blocks
from whichone.measures.intervals import Estimate, interval, interval_note
from whichone.measures.measure import Measure, Retrieved
from whichone.records import Passage, Query
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

    def going_through(self, queries: Sequence[Query]) -> Iterator[Query]:
        """The queries themselves, the passages of each known while it is the current one."""
        for block in blocks(queries, READ_TOGETHER):
            wanted = dict.fromkeys(i for q in block for i in self._ranked.get(q.id, ()))
            self._known = self._fetch(list(wanted))
            yield from block

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
    def clusters(self) -> npt.NDArray[np.int64]:
        """The cluster of each query as a number; numbers are in the order of the clusters' names."""
        names = [":".join(cluster(q)) for q in self.queries]
        numbers = {name: n for n, name in enumerate(sorted(set(names)))}
        return np.array([numbers[name] for name in names], np.int64)

    @functools.cached_property
    def set_numbers(self) -> npt.NDArray[np.int64]:
        """The name set of each query as a number, in the order of the queries; -1 for those without one."""
        numbers: dict[str, int] = {}
        sets = (q.name_set for q in self.queries)
        return np.array(
            [-1 if s is None else numbers.setdefault(s, len(numbers)) for s in sets], np.int64
        )

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
    keep = np.array([chosen(q) for q in scores.queries], bool)
    queries = [q for q, kept in zip(scores.queries, keep, strict=True) if kept]
    values = {name: v[keep] for name, v in scores.values.items()}
    return replace(scores, queries=queries, values=values)


def cluster(query: Query) -> tuple[str, str]:
    """What resampling draws together: name set, else entity, else gold page, else the query."""
    if query.name_set:
        return "name set", query.name_set
    if query.entity:
        return "entity", query.entity
    gold = query.gold_pages()
    return ("gold page", min(gold)) if gold else ("query", query.id)


def cluster_rule(queries: Sequence[Query]) -> str:
    """The kinds of clusters a set of queries has, for the line under a table."""
    kinds = [cluster(q)[0] for q in queries]
    return " and ".join(k for k in ("name set", "entity", "gold page", "query") if k in kinds)


def cluster_note(queries: Sequence[Query]) -> str:
    """The kind of the intervals over these queries, and of how many clusters they are."""
    return interval_note(cluster_rule(queries), len({cluster(q) for q in queries}))


def score_run(run: Run, benchmark: Benchmark, measures: Sequence[Measure]) -> Scores:
    """Every measure of every query of one run; a failed or missing query scores as wrong."""
    pages = run.ranked_pages()
    known = {q.id for q in benchmark.queries}
    strangers = sorted(pages.keys() - known)
    if strangers:
        raise BadInput(f"the run names unknown queries: {sample(strangers)}", file=run.path)
    failures = run.failures
    order = run.ranked_passages() if any(m.needs_text for m in measures) else {}
    lookup = PassageBlocks(benchmark.corpus, order) if order else None
    queries = lookup.going_through(benchmark.queries) if lookup else benchmark.queries
    values = {str(m): np.full(len(benchmark.queries), np.nan) for m in measures}
    single = [(m.value, values[str(m)]) for m in measures if m.batch is None]
    waiting: list[tuple[int, Retrieved]] = []
    for i, query in enumerate(queries):
        retrieved = Retrieved(
            query=query,
            pages=pages.get(query.id, ()),
            gold=query.gold_pages(),
            others=benchmark.other_pages(query),
            passages=order.get(query.id, ()),
            passage=lookup,
            failed=query.id in failures,
        )
        for measured, column in single:
            value = measured(retrieved)
            if value is not None:
                column[i] = value
        if len(single) < len(measures):
            waiting.append((i, retrieved))
            if len(waiting) == BLOCK:
                _score_together(measures, waiting, values)
                waiting = []
    _score_together(measures, waiting, values)
    empty = known - pages.keys() - failures.keys()
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
    values = scores.values[str(measure)][rows]
    if measure.aggregate == "mean":
        return interval(values, scores.clusters[rows], bounds=measure.bounds)
    sets = scores.set_numbers[rows]
    counted = (sets >= 0) & ~np.isnan(values)
    lowest = np.ones(int(sets.max(initial=-1)) + 1)
    np.minimum.at(lowest, sets[counted], values[counted])
    return interval(lowest[np.unique(sets[counted])])


def slice_scores(
    scores: Scores, by: Sequence[str] = ()
) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
    """For every combination of the slicing columns: its values, and each measure with its interval."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    readers = [scores.column(name) for name in by]
    for i, query in enumerate(scores.queries):
        groups.setdefault(tuple(read(query) for read in readers), []).append(i)
    rows = []
    for key in sorted(groups, key=lambda k: [(v is None, str(v)) for v in k]):
        where = np.array(groups[key])
        estimates = {str(m): estimate(scores, m, where) for m in scores.measures}
        rows.append((dict(zip(by, key, strict=True)), estimates))
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
