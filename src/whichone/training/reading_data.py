"""The queries that readers learn from: training records alone, none that test data share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.files.arrow_records import OnDisk, Spool
from whichone.records import Query
from whichone.training.data import (
    Part,
    Plan,
    checked,
    taken_queries,
    test_queries,
    wanted_sources,
)
from whichone.training.sources import DPR, EXAMPLES, kind_of, source_benchmark
from whichone.training.splits import name_of
from whichone.training.taken import Taken


class AskedQuery(msgspec.Struct, frozen=True):
    """A query as training and test data are compared."""

    query: Query
    question: str
    name: str
    gold: tuple[str, ...]
    relation: str


class QueriesOf(OnDisk[Query]):
    """The queries alone."""

    def __init__(self, asked: Sequence[AskedQuery]) -> None:
        self._asked = asked

    def __len__(self) -> int:
        return len(self._asked)

    def _at(self, number: int) -> Query:
        return self._asked[number].query

    def __iter__(self) -> Iterator[Query]:
        return (asked.query for asked in self._asked)


class SourceQueries(msgspec.Struct, frozen=True):
    benchmark: Benchmark
    queries: Sequence[Query]
    taken: Taken


class ReadingData(msgspec.Struct, frozen=True):
    """Queries, which are on disk."""

    parts: list[SourceQueries]
    never_seen: Sequence[Query]


def reading_queries(plan: Plan, seed: int, work: Path) -> ReadingData:
    """Each source's benchmark with its training queries, refused or dropped as `plan` says."""
    benchmarks: list[Benchmark] = []
    parts: list[Part[AskedQuery]] = []
    for source in wanted_sources(plan):
        if kind_of(source) in (EXAMPLES, DPR):
            raise UsageError(
                "a reader learns from questions with answers over a corpus",
                where=source,
                hint="name a benchmark, or KILT's or EntityQuestions' files with --passages",
            )
        benchmark = source_benchmark(source, plan.corpus, work)
        result = taken_queries(source, benchmark, plan, seed, work)
        benchmarks.append(benchmark)
        asked = Spool(AskedQuery, work).extend(_asked(query) for query in result.examples)
        parts.append(Part(asked, result.taken, result.test, result.own_split))
    named = test_queries(plan)
    unseen = Spool(Query, work).extend(query for part in parts for query in part.test)
    unseen.extend(named)
    kept = checked(parts, named, plan)
    return ReadingData(
        [
            SourceQueries(benchmark, QueriesOf(part.examples), part.taken)
            for benchmark, part in zip(benchmarks, kept, strict=True)
        ],
        unseen,
    )


def _asked(query: Query) -> AskedQuery:
    return AskedQuery(
        query,
        query.input,
        name_of(query),
        tuple(sorted(query.gold_pages())),
        query.relation or "",
    )
