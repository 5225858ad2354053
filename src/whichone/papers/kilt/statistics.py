"""What KILT's datasets are made of: the paper's Table 6, and how many datasets use a page (Figure 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import benchmark_of
from whichone.files.arrow_records import Seen, blocks
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.record import KEPT
from whichone.records import Output, Query

_BLOCK = 4_096
LEGEND = (
    "APS: spans in a provenance set. APN: provenance sets a query. APP: pages in all of a query's "
    "provenance. AAN: different answers a query. Averages leave out queries that have none."
)


def is_kilt(queries: Iterable[Query]) -> bool:
    return any(KEPT in query.attributes for query in queries)


def table_6(queries: Iterable[Query]) -> list[dict[str, Any]]:
    """One row a dataset, in the paper's order; other datasets after them."""
    counted: dict[str, _Row] = {}
    for query in queries:
        name = str(query.attributes.get("dataset") or benchmark_of(query))
        counted.setdefault(name, _Row()).add(query)
    order = {name: n for n, name in enumerate(datasets())}
    names = sorted(counted, key=lambda name: (order.get(name, len(order)), name))
    return [counted[name].figures(name) for name in names]


class _Mean:
    """A mean of whole numbers, counted as they come."""

    def __init__(self) -> None:
        self.total = self.count = 0

    def add(self, value: int) -> None:
        self.total += value
        self.count += 1

    def value(self) -> float | None:
        return self.total / self.count if self.count else None


class _Row:
    """What is counted of one dataset."""

    def __init__(self) -> None:
        self.spans, self.sets, self.pages, self.answers = (_Mean() for _ in range(4))
        self.hops = 0
        self.sizes: Counter[str] = Counter()

    def add(self, query: Query) -> None:
        listed = _sets(query.outputs)
        self.sizes[str(query.attributes.get("split", ""))] += 1
        if count := len(query.answers()):
            self.answers.add(count)
        if not listed:
            return
        self.sets.add(len(listed))
        self.pages.add(len({span[0] for group in listed for span in group}))
        for group in listed:
            self.spans.add(len(group))
            self.hops += len({page for page, *_ in group}) > 1

    def figures(self, name: str) -> dict[str, Any]:
        known = datasets().get(name)
        return {
            "dataset": known.label if known else name,
            "multi-hop": known.multi_hop if known else self.hops > 0,
            "APS": self.spans.value(),
            "APN": self.sets.value(),
            "APP": self.pages.value(),
            "AAN": self.answers.value(),
            **{split: self.sizes.get(split, 0) for split in ("train", "dev", "test")},
        }


Span = tuple[str, int | None, int | None, int | None, int | None]


def _sets(outputs: Sequence[Output]) -> list[frozenset[Span]]:
    """The different provenance sets of a query, each a set of spans; empty ones are none."""
    sets = {
        frozenset(
            (e.page, e.start_paragraph, e.start_character, e.end_paragraph, e.end_character)
            for e in group
        )
        for output in outputs
        for group in output.provenance
        if group
    }
    return list(sets)


class PagesInDatasets:
    """How many datasets need each page."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._pages, pairs = Seen(), Seen()
        self.counts = np.zeros(_BLOCK, np.int16)
        for block in blocks(queries, _BLOCK):
            needed = dict.fromkeys(
                (page, str(query.attributes.get("dataset", "")))
                for query in block
                for page in sorted(query.gold_pages())
            )
            before = pairs.add(["\t".join(pair) for pair in needed], [0] * len(needed))
            new = [page for (page, _), known in zip(needed, before, strict=True) if known is None]
            self._count(new)
        self.counts = self.counts[: len(self._pages)]

    def _count(self, pages: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(pages))
        known = self._pages.numbers(distinct)
        new = [page for page, number in zip(distinct, known, strict=True) if number is None]
        self._pages.add(new, range(len(self._pages), len(self._pages) + len(new)))
        while len(self.counts) < len(self._pages):
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        np.add.at(self.counts, [n for n in self._pages.numbers(pages) if n is not None], 1)

    def of(self, pages: Sequence[str]) -> list[int]:
        """The number of datasets that need each page."""
        return [0 if n is None else int(self.counts[n]) for n in self._pages.numbers(pages)]


def datasets_per_page(queries: Iterable[Query]) -> dict[int, int]:
    """Figure 2: for 1, 2, ... datasets, how many pages hold knowledge for that many."""
    counts = np.bincount(PagesInDatasets(queries).counts)
    return {n: int(count) for n, count in enumerate(counts) if n and count}


def board_measures(benchmark: Benchmark, of: str) -> list[str]:
    """What KILT's tables show beside the usual: Recall@5 of runs, ROUGE-L where a dataset asks for it."""
    if not is_kilt(benchmark.queries):
        return []
    if of == "rankings":
        return ["kilt_recall@5"]
    asked = {str(query.attributes.get("dataset", "")) for query in benchmark.queries}
    long = any(d.metric == "rougel" for name, d in datasets().items() if name in asked)
    return ["rouge_l"] if long else []
