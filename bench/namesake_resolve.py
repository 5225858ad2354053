"""Does `namesake` know when it does not know? Asks back, hears one answer, and is scored.

    python bench/namesake_resolve.py BENCHMARK ... --work FOLDER

A simulated user, who knows one attribute of the one that is meant, answers. Printed for each benchmark: how
often it asks where a question cannot be resolved (`resolvable: no`, `underspecified`) and where it can, and
how often it is right before and after at most one answer. Worlds are those of `namesake_worlds.py` with other names
than the evidence was fitted on.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np

from namesake_evidence import resolvable
from namesake_worlds import TEXTS, invent
from whichone.benchmarks.benchmark import Benchmark
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.runs.agent_runner import SimulatedUser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default="none")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--most", type=int, default=300)
    options = parser.parse_args()
    worlds = [(kind, invent(kind, options.work, seed=options.seed)) for kind in TEXTS]
    worlds += [(Path(path).name, Benchmark.open(path)) for path in options.benchmarks]
    print(
        "| world | asks, unresolvable | asks, resolvable | right at once | right after one answer |"
    )
    print("| --- | --- | --- | --- | --- |")
    every: dict[str, list[bool]] = {"no": [], "yes": [], "before": [], "after": []}
    for name, benchmark in worlds:
        work = options.work / benchmark.corpus.hash[:16]
        retriever = NamesakeRetriever.over(benchmark.corpus, work, encoder=options.encoder)
        here = measured(benchmark, retriever, options.most)
        print(f"| {name} | {shown(here)} |", flush=True)
        for key, values in here.items():
            every[key] += values
    print(f"| all | {shown(every)} |")


def measured(
    benchmark: Benchmark, retriever: NamesakeRetriever, most: int
) -> dict[str, list[bool]]:
    user = SimulatedUser(benchmark)
    asked: dict[str, list[bool]] = {"no": [], "yes": [], "before": [], "after": []}
    queries = sorted(benchmark.queries, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())
    for query in queries[:most]:
        question, gold = query.question(), query.gold_pages()
        believed = retriever.resolve(question)
        pages = {p for c in believed.bearers for p in [c.id]}
        if len(believed.bearers) < 2 or not gold & pages:
            continue
        label = resolvable(query)
        if label is not None:
            asked["yes" if label else "no"].append(not believed.resolvable)
        assert believed.best is not None
        asked["before"].append(believed.best.id in gold)
        if not believed.resolvable:
            believed = retriever.resolve(question, user(question, believed.question or ""))
            assert believed.best is not None
        asked["after"].append(believed.best.id in gold)
    return asked


def shown(asked: dict[str, list[bool]]) -> str:
    return " | ".join(
        f"{np.mean(values):.3f} ({len(values)})" if values else "-" for values in asked.values()
    )


if __name__ == "__main__":
    main()
