"""A small self-contained corpus beside the full one: gold pages, namesakes' pages, hard distractors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import UsageError

Ranked = Mapping[str, Sequence[str]]


def small_corpus(
    benchmark: Benchmark,
    out: str | Path,
    ranked: Mapping[str, Ranked],
    *,
    k: int = 20,
    sources: Mapping[str, str] | None = None,
) -> Benchmark:
    """The same queries over fewer pages; distractors are the first k pages of each system's ranking.

    `ranked` contains for each system the pages of each query, best first; `sources` what the systems are.
    """
    if k < 1:
        raise UsageError("-k must be at least 1")
    gold = {page for query in benchmark.queries for page in query.gold_pages()} & benchmark.pages
    bearers = {p for s in benchmark.sets for b in s.bearers for p in b.pages} & benchmark.pages
    page_ids = {
        page
        for pages in ranked.values()
        for query in benchmark.queries
        for page in pages.get(query.id, ())[:k]
    } & benchmark.pages
    kept = gold | bearers | page_ids
    passages = benchmark.passages
    few = passages.filter(pc.is_in(passages["page"], value_set=pa.array(sorted(kept))))
    counts: dict[str, Any] = {
        "gold_pages": len(gold),
        "namesakes_pages": len(bearers - gold),
        "distractor_pages": len(page_ids - bearers - gold),
        "pages": len(kept),
        "pages_before": len(benchmark.pages),
        "passages": few.num_rows,
    }
    systems = ", ".join(ranked) or "no retriever"
    remark = (
        f"\nA small corpus of {len(kept):,} of the {len(benchmark.pages):,} pages of {benchmark.id}: "
        f"{len(gold):,} gold pages, {counts['namesakes_pages']:,} of their namesakes, and "
        f"{counts['distractor_pages']:,} more among the first {k} of {systems}. A retriever that is not "
        "one of these meets fewer distractors here than in the full corpus.\n"
    )
    return save_benchmark(
        out,
        name=f"{benchmark.name}-small",
        queries=benchmark.queries,
        sets=benchmark.sets,
        passages=few,
        card=benchmark.card + remark,
        parameters={"k": k, "distractors": list(ranked)},
        sources=benchmark.folder.manifest.sources,
        parents={"benchmark": benchmark.id, **(sources or {})},
        counts=counts,
        allow_no_gold=True,
    )
