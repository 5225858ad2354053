"""Fits the weights of `namesake`'s evidence and judges them on names they were not fitted on.

    python bench/namesake_evidence.py BENCHMARK ... --work FOLDER [--encoder NAME] [--judge FOLDER] [--write]

For every question with a shared name the bearers' evidence is collected. Names are dealt into halves by a hash: a
logistic model over the bearers of a name is fitted on one half (every benchmark counts the same), and
accuracy, calibration error and risk against coverage are measured on the other. A second logistic model tells
questions that can be resolved from those that cannot (`resolvable: no`, `underspecified`). `--write` puts the weights
into `evidence.json`, with the benchmarks and versions that they were made of.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import minimize

import namesake_prose
import whichone.retrieval.namesake as package
from namesake_worlds import TEXTS, invent
from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Query
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.retrieval.namesake.weights import Fit, calibrated, resolvable_features, softmax
from whichone.versions import versions

BASIC = (
    "bm25",
    "words",
    "proper",
    "kind",
    "other_kind",
    "says",
    "disambiguation",
    "attribute",
    "denied",
    "period",
    "longer",
)
FURTHER = {"words": (), "sentences": ("sentence",), "cross": ("pair",), "late": ("pair",)}
FITTED = ("middle initials",)
"""Of the further worlds that one is fitted on which has longer forms of names."""
LEAST = {"attribute": 3.0, "period": 2.0}
MOST = {"denied": -4.0}
"""Evidence that hardly any benchmark has: what it weighs at least, and what it takes off at least."""


@dataclass
class Case:
    """One question: its bearers' evidence, which of them are right, whether it can be resolved."""

    domain: str
    name: str
    values: list[dict[str, float]]
    right: list[bool]
    resolvable: bool | None


def resolvable(query: Query) -> bool | None:
    marked = query.attributes.get("resolvable")
    if "underspecified" in query.attributes:
        return not query.attributes["underspecified"]
    if marked in (False, "no"):
        return False
    return True if marked in (True, "yes") else None


def collect(
    domain: str, benchmark: Benchmark, retriever: NamesakeRetriever, most: int
) -> list[Case]:
    queries = sorted(benchmark.queries, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())
    cases = []
    for query in queries:
        gold = query.gold_pages()
        for bearers in retriever.weighed(query.question()):
            right = [any(retriever.page_id(p) in gold for p in b.pages) for b in bearers]
            if any(right) and not all(right):
                name = query.name or query.id
                values = [dict(b.values) for b in bearers]
                cases.append(Case(domain, name, values, right, resolvable(query)))
                break
        if len(cases) >= most:
            break
    return cases


def held_out(case: Case) -> bool:
    return hashlib.sha256(case.name.encode()).digest()[0] % 2 == 1


def fit(cases: list[Case], features: tuple[str, ...]) -> dict[str, float]:
    """Weights that make the right bearers likely; cases that cannot be resolved count too."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.domain] = counts.get(case.domain, 0) + 1
    blocks = [np.array([[v.get(f, 0.0) for f in features] for v in c.values]) for c in cases]
    shares = np.array([1 / counts[c.domain] for c in cases]) / len(counts)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.002 * float(weights @ weights), 0.004 * weights
        for case, block, share in zip(cases, blocks, shares, strict=True):
            p = np.array(softmax((block @ weights).tolist()))
            right = np.array(case.right)
            mass = max(float(p[right].sum()), 1e-12)
            total -= share * float(np.log(mass))
            inside = np.where(right, p / mass, 0.0)
            slope = slope - share * ((inside - p) @ block)
        return total, slope

    bounds = [
        (None, 0) if f in ("other_kind", "disambiguation", "denied", "longer") else (0, None)
        for f in features
    ]
    best = minimize(loss, np.zeros(len(features)), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = {f: round(float(w), 3) for f, w in zip(features, best.x, strict=True)}
    return {f: min(max(w, LEAST.get(f, w)), MOST.get(f, np.inf)) for f, w in weights.items()}


def scores(case: Case, weights: dict[str, float]) -> list[float]:
    return [sum(weights.get(f, 0.0) * x for f, x in v.items()) for v in case.values]


def judge(cases: list[Case], weights: dict[str, float], sure: dict[str, float]) -> dict[str, Any]:
    """Accuracy, expected calibration error in ten bins, and accuracy of the surest half."""
    best_shares, hit = [], []
    for case in cases:
        p = calibrated(scores(case, weights), case.values, Fit(weights, sure=sure))
        best = int(np.argmax(p))
        best_shares.append(p[best])
        hit.append(case.right[best])
    p, right = np.array(best_shares), np.array(hit, float)
    bins = np.minimum((p * 10).astype(int), 9)
    error = sum(
        abs(right[bins == b].mean() - p[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    )
    order = np.argsort(-p)
    risk = {
        f"{c:.0%}": round(1 - float(right[order[: max(1, int(c * len(p)))]].mean()), 3)
        for c in (0.25, 0.5, 0.75, 1)
    }
    return {
        "n": len(p),
        "acc@1": round(float(right.mean()), 3),
        "ece": round(float(error), 3),
        "risk": risk,
    }


def fit_top(cases: list[Case], weights: dict[str, float], *, hit: bool) -> dict[str, float]:
    """A logistic model: whether the best bearer is right, or whether a question can be resolved."""
    from sklearn.linear_model import LogisticRegression

    rows, labels, domains = [], [], []
    for case in cases:
        values = scores(case, weights)
        label = case.right[int(np.argmax(values))] if hit else case.resolvable
        if label is not None:
            rows.append(resolvable_features(case.values, values))
            labels.append(label)
            domains.append(case.domain)
    names = sorted({name for row in rows for name in row})
    x = np.array([[row.get(n, 0.0) for n in names] for row in rows])
    counts = {d: domains.count(d) for d in set(domains)}
    shares = np.array([len(domains) / len(counts) / counts[d] for d in domains])
    balance = None if hit else "balanced"
    model = LogisticRegression(C=1.0, class_weight=balance, max_iter=5_000)
    model.fit(x, np.array(labels), sample_weight=shares if hit else None)
    constant = float(model.intercept_[0])
    if not hit:  # so that it asks in one of 22 questions that can be resolved
        lines = x @ model.coef_[0] + constant
        constant -= float(np.quantile(lines[np.array(labels, bool)], 0.045))
    learned = {n: round(float(w), 3) for n, w in zip(names, model.coef_[0], strict=True)}
    return {**learned, "": round(constant, 3)}


def asks(cases: list[Case], weights: dict[str, float], model: dict[str, float]) -> dict[str, Any]:
    """How often it would ask back where a question cannot be resolved, and where it can."""
    shares: dict[str, Any] = {}
    for label, wanted in (("unresolvable", False), ("resolvable", True)):
        some = [c for c in cases if c.resolvable is wanted]
        asked = []
        for case in some:
            features = resolvable_features(case.values, scores(case, weights))
            asked.append(sum(model.get(n, 0.0) * x for n, x in features.items()) + model[""] < 0)
        shares[label] = (len(some), round(float(np.mean(asked)), 3) if some else None)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default="none")
    parser.add_argument("--judge", default=None)
    parser.add_argument("--kind", choices=list(FURTHER), default="words")
    parser.add_argument("--most", type=int, default=300, help="questions of a benchmark at most")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    worlds = [(f"world {k}", invent(k, options.work, seed=0)) for k in TEXTS]
    worlds += [(f"world {k}", namesake_prose.invent(k, options.work, seed=0)) for k in FITTED]
    worlds += [(Path(p).name, Benchmark.open(p)) for p in options.benchmarks]
    cases: list[Case] = []
    for domain, benchmark in worlds:
        more = {"judge": options.judge} if options.judge else {}
        work = options.work / benchmark.corpus.hash[:16]
        retriever = NamesakeRetriever.over(benchmark.corpus, work, encoder=options.encoder, **more)
        collected = collect(domain, benchmark, retriever, options.most)
        print(f"{domain}: {len(collected)} questions of shared names", flush=True)
        cases += collected
    features = (*BASIC, *FURTHER[options.kind])
    train = [c for c in cases if not held_out(c)]
    rest = [c for c in cases if held_out(c)]
    weights = fit(train, features)
    asking, sure = fit_top(train, weights, hit=False), fit_top(train, weights, hit=True)
    print("weights", weights, "\nresolvable", asking)
    print("on other names", judge(rest, weights, sure), "asks back", asks(rest, weights, asking))
    for domain in dict.fromkeys(c.domain for c in cases):
        here = [c for c in rest if c.domain == domain]
        apart = fit([c for c in train if c.domain != domain], features)
        print(
            f"{domain}: {judge(here, weights, sure)}; fitted without it {judge(here, apart, sure)['acc@1']}"
            f"; asks back {asks(here, weights, asking)}",
            flush=True,
        )
    if options.write:
        write(
            options.kind, Fit(weights, asking, sure), sorted({c.domain for c in cases}), len(train)
        )


def write(kind: str, fitted: Fit, domains: list[str], n: int) -> None:
    place = Path(package.__file__).with_name("evidence.json")
    model = json.loads(place.read_text())
    model["fits"][kind] = msgspec.to_builtins(fitted)
    model["made"] = {
        "by": "bench/namesake_evidence.py",
        **model.get("made", {}),
        kind: {"benchmarks": domains, "questions": n, "names": "half of them, by a hash"},
        "versions": {k: v for k, v in versions().items() if k in ("whichone", "numpy")},
    }
    place.write_text(json.dumps(model, indent=1) + "\n")


if __name__ == "__main__":
    main()
