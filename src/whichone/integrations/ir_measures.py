"""Our measures inside ir_measures: `Confused(BENCH) @ 20` beside nDCG in one call.

from whichone.integrations.ir_measures import confused

Confused = confused("BENCH")
ir_measures.calc_aggregate([Confused @ 20, nDCG @ 10], qrels, run)
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.exports import exported_ids
from whichone.corpus.corpus import to_trec
from whichone.errors import needs
from whichone.measures.ranking_measures import is_confused
from whichone.records import Query, page_of


def confused(benchmark: str | Path | Benchmark) -> Any:
    """A measure of ir_measures: a page of another bearer of the name ranks above the first gold page.

    Who shares a name is the benchmark's; runs have the ids of its exports, passages or pages. A question without a
    name that others share, or without a gold page, is not counted.
    """
    with needs("ir_measures", "measures"):
        import ir_measures
    opened = Benchmark.open(benchmark)
    asked = {to_trec(query.id): query for query in opened.queries}
    pages = {theirs: page_of(ours) for ours, theirs in exported_ids(opened).items()}

    def value(query: Query, run: Any, k: int | None) -> float:
        if query.name_set is None or not query.gold_pages():
            return float("nan")
        ranked = run.sort_values(["score", "doc_id"], ascending=[False, False])["doc_id"]
        results = list(dict.fromkeys(pages.get(doc, doc) for doc in ranked))[:k]
        return float(is_confused(results, query.gold_pages(), opened.other_pages(query)))

    kind = type(ir_measures.define(lambda qrels, run: (), name="Confused"))

    class Confused(kind):  # type: ignore[misc, valid-type]
        """The first k pages decide, as everywhere here, not the first k documents."""

        def runtime_impl(self, qrels: Any, run: Any) -> Iterator[Any]:
            for identity, rows in run.groupby("query_id"):
                if identity in asked:
                    score = value(asked[identity], rows, self.params.get("cutoff"))
                    yield ir_measures.Metric(identity, self, score)

        def aggregator(self) -> Any:
            return _Mean()

    return Confused()


class _Mean:
    """The mean of the questions to which the measure applies."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def add(self, value: float) -> None:
        if not math.isnan(value):
            self._sum += value
            self._count += 1

    def result(self) -> float:
        return self._sum / self._count if self._count else float("nan")
