"""What KILT's datasets are made of: the paper's Table 6, and how many datasets use a page (Figure 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import benchmark_of
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.record import KEPT
from whichone.records import Output, Query

LEGEND = (
    "APS: spans in a provenance set. APN: provenance sets a query. APP: pages in all of a query's "
    "provenance. AAN: different answers a query. Averages leave out queries that have none."
)


def is_kilt(queries: Iterable[Query]) -> bool:
    return any(KEPT in query.attributes for query in queries)


def table_6(queries: Iterable[Query]) -> list[dict[str, Any]]:
    """One row a dataset, in the paper's order; other datasets after them."""
    grouped: dict[str, list[Query]] = {}
    for query in queries:
        name = str(query.attributes.get("dataset") or benchmark_of(query))
        grouped.setdefault(name, []).append(query)
    order = {name: n for n, name in enumerate(datasets())}
    names = sorted(grouped, key=lambda name: (order.get(name, len(order)), name))
    return [_row(name, grouped[name]) for name in names]


def _row(name: str, queries: Sequence[Query]) -> dict[str, Any]:
    known = datasets().get(name)
    sets = [_sets(query.outputs) for query in queries]
    with_sets = [listed for listed in sets if listed]
    answered = [count for query in queries if (count := len(query.answers()))]
    sizes = Counter(str(query.attributes.get("split", "")) for query in queries)
    spans = [len(group) for listed in with_sets for group in listed]
    hops = sum(len({page for page, *_ in group}) > 1 for listed in with_sets for group in listed)
    return {
        "dataset": known.label if known else name,
        "multi-hop": known.multi_hop if known else hops > 0,
        "APS": _mean(spans),
        "APN": _mean([len(listed) for listed in with_sets]),
        "APP": _mean([len({entry[0] for g in listed for entry in g}) for listed in with_sets]),
        "AAN": _mean(answered),
        **{split: sizes.get(split, 0) for split in ("train", "dev", "test")},
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


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def datasets_per_page(queries: Iterable[Query]) -> dict[int, int]:
    """Figure 2: for 1, 2, ... datasets, how many pages hold knowledge for that many."""
    using: dict[str, set[str]] = {}
    for query in queries:
        for page in query.gold_pages():
            using.setdefault(page, set()).add(str(query.attributes.get("dataset", "")))
    counts = Counter(len(names) for names in using.values())
    return dict(sorted(counts.items()))


def board_measures(benchmark: Benchmark, of: str) -> list[str]:
    """What KILT's tables show beside the usual: Recall@5 of runs, ROUGE-L where a dataset asks for it."""
    if not is_kilt(benchmark.queries):
        return []
    if of == "rankings":
        return ["kilt_recall@5"]
    asked = {str(query.attributes.get("dataset", "")) for query in benchmark.queries}
    long = any(d.metric == "rougel" for name, d in datasets().items() if name in asked)
    return ["rouge_l"] if long else []
