"""Any retriever on corpora of three pages: each item of AmbER's Table 8 is searched on its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.bearer_labels import ThreeChoice
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import UsageError
from whichone.progress import progress
from whichone.protocols import Retriever
from whichone.records import NameSet
from whichone.retrieval.adapters.adapted import load_function
from whichone.retrieval.dense.encoder import encoders_kept
from whichone.runs.provenance import RankingCheck
from whichone.runs.retrieve import make_retriever


def rank_three(
    retriever: str,
    benchmark: Benchmark,
    items: Sequence[ThreeChoice],
    options: dict[str, Any] | None = None,
) -> dict[str, list[str]]:
    """For each item's query the three pages in the order in which the retriever finds them.

    The retriever is made anew for every three pages: words are rare or frequent among these alone.
    """
    kind = load_function(retriever) if ":" in retriever else registry.find("retrievers", retriever)
    if not hasattr(kind, "over"):
        raise UsageError(
            f"{retriever} cannot be given a corpus of three pages",
            hint="make a run with a deep -k and name the run; its ranking is cut to the three pages",
        )
    ranked: dict[str, list[str]] = {}
    with (
        encoders_kept(),
        tempfile.TemporaryDirectory(prefix="whichone-three-") as folder,
        progress("choosing", len(items), "items") as advance,
    ):
        for n, (small, members) in enumerate(_corpora(benchmark, items, Path(folder))):
            opened_retriever = make_retriever(
                retriever, small, Path(folder) / f"index-{n}", dict(options or {})
            )
            ranked.update(_ranked_pages(opened_retriever, small))
            advance(len(members))
    return ranked


def _ranked_pages(retriever: Retriever, small: Benchmark) -> Iterator[tuple[str, list[str]]]:
    check = RankingCheck(small.corpus)
    questions = small.questions()
    depth = len(small.corpus)
    rankings = [check.translate(r) for r in retriever.search(questions, depth)]
    check.infer(rankings)
    for question, ranking in zip(questions, rankings, strict=True):
        check.check(question, ranking, depth)
        yield question.id, list(dict.fromkeys(map(check.page, ranking.passages)))


def _corpora(
    benchmark: Benchmark, items: Sequence[ThreeChoice], folder: Path
) -> Iterator[tuple[Benchmark, list[ThreeChoice]]]:
    """A small benchmark for each three pages, with all the items that are asked of these."""
    groups: dict[tuple[str, ...], list[ThreeChoice]] = {}
    for item in items:
        groups.setdefault(tuple(sorted(item.pages)), []).append(item)
    wanted = {page for pages in groups for page in pages}
    rows: dict[str, list[int]] = {}
    for n, page in enumerate(benchmark.passages["page"].to_pylist()):
        if page in wanted:
            rows.setdefault(page, []).append(n)
    names = list(benchmark.corpus.further_names(wanted))
    queries = {query.id: query for query in benchmark.queries}
    sets = {name_set.id: name_set for name_set in benchmark.sets}
    for n, (pages, members) in enumerate(groups.items()):
        asked = [queries[item.query] for item in members]
        own = {query.name_set or "" for query in asked}
        yield (
            save_benchmark(
                folder / f"three-{n}",
                name=benchmark.name,
                queries=asked,
                passages=benchmark.passages.take([row for page in pages for row in rows[page]]),
                names=[(page, name) for page, name in names if page in pages],
                sets=[_among(sets[key], pages) for key in sorted(own & sets.keys())],
                allow_no_gold=True,
            ),
            members,
        )


def _among(name_set: NameSet, pages: Sequence[str]) -> NameSet:
    """The bearers whose pages are among the three."""
    kept = (
        msgspec.structs.replace(bearer, pages=tuple(p for p in bearer.pages if p in pages))
        for bearer in name_set.bearers
    )
    return msgspec.structs.replace(name_set, bearers=tuple(b for b in kept if b.pages))
