"""`namesake` beside BM25 and, where they are named, encoders and a judge, on questions with gold pages.

    python bench/namesake.py BENCHMARK --work FOLDER [--encoder NAME] [--judge FOLDER]

Printed by dataset: acc@1 / acc@5 on unique names, and on shared names of which the evidence was not fitted (half of
them, by the hash that `namesake_evidence.py` deals by), with wins and losses against BM25. A judge reads only the
questions of shared unseen names.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Query, page_of
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense import Dense
from whichone.retrieval.namesake import NamesakeRetriever


def hits(system: Any, queries: Sequence[Query]) -> np.ndarray:
    """For each question whether a gold page is first, and among the first five."""
    right = []
    for query, ranking in zip(
        queries, system.search([q.question() for q in queries], 5), strict=True
    ):
        pages = list(dict.fromkeys(map(page_of, ranking.passages)))
        gold = query.gold_pages()
        right.append((bool(gold & set(pages[:1])), bool(gold & set(pages[:5]))))
    return np.array(right)


def unseen(query: Query) -> bool:
    return hashlib.sha256((query.name or query.id).encode()).digest()[0] % 2 == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default=None)
    parser.add_argument("--judge", default=None)
    options = parser.parse_args()
    benchmark = Benchmark.open(options.benchmark)
    corpus = benchmark.corpus
    work = options.work / corpus.hash[:16]
    systems: dict[str, Any] = {
        "bm25": Bm25.over(corpus, work),
        "namesake": NamesakeRetriever.over(corpus, work, encoder="none"),
    }
    if options.encoder:
        systems["dense"] = Dense.over(corpus, work, encoder=options.encoder)
        systems["namesake, sentences"] = NamesakeRetriever.over(
            corpus, work, encoder=options.encoder
        )
    if options.judge:
        systems["namesake, judge"] = NamesakeRetriever.over(
            corpus, work, encoder="none", judge=options.judge
        )
    datasets = sorted({str(q.attributes.get("dataset", "all")) for q in benchmark.queries})
    for dataset in datasets:
        here = [q for q in benchmark.queries if str(q.attributes.get("dataset", "all")) == dataset]
        slices = {
            "unique": [q for q in here if not q.attributes.get("shared_name")],
            "shared, unseen": [q for q in here if q.attributes.get("shared_name") and unseen(q)],
        }
        for name, queries in slices.items():
            base = None
            for system, retriever in systems.items():
                if not queries or (system == "namesake, judge" and name == "unique"):
                    continue
                right = hits(retriever, queries)
                base = right if base is None else base
                wins = int((right[:, 0] & ~base[:, 0]).sum())
                losses = int((base[:, 0] & ~right[:, 0]).sum())
                one, five = right.mean(0)
                print(
                    f"{dataset}, {name} ({len(queries)}): {system} {one:.3f} / {five:.3f}"
                    f" +{wins} -{losses}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
