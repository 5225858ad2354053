"""Cases of `namesake`'s evidence, the fit of its weights, and their cross-validation over names and templates."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import minimize
from scipy.stats import beta

from whichone.retrieval.namesake.weights import (
    FEATURES,
    FLOORS,
    MOST_UNTOLD,
    EvidenceModel,
    Fit,
    about_it,
    among_all,
    calibrated,
    kind_of,
    lead_features,
)

PARTS = 3
PART_OPEN = -1.0
STRANGE_SURE, STRANGE_OPEN = -1.0, -12.0
CONFIDENCE, LEAST_RIGHT = 0.95, 0.98
"""Of a kind of evidence at least so many sure answers are right, with that confidence; else none is above MOST_UNTOLD."""
NEVER_FOR = {
    "other_kind", "no_kind", "claim_other", "disambiguation", "denied", "extra", "numbered", "respelt", "longer", "company", "nickname",
    "claim_agent", "claim_level", "claim_unnamed",
}  # fmt: skip
EITHER = {"unnamed", "contains", "share", "alone", "length", "claim_first", "qualified", "loosely", "near"}
"""Features whose weight may have either sign; all others speak for a candidate."""


@dataclass
class Case:
    """One question: what was weighed of each candidate, by name, and which of them are right."""

    set: str
    id: str
    name: str
    template: str
    resolvable: bool | None
    gold: bool
    """Whether a right candidate is among the bearers that `resolve` gives."""
    values: list[dict[str, float]]
    groups: list[int]
    """The name that each candidate bears; -1 for others."""
    right: list[bool]
    bearers: int
    seconds: float
    bm25: bool
    """Whether BM25's first is right."""
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))
    about: np.ndarray = field(default_factory=lambda: np.zeros(0))
    sure: float = 0.0
    sure_right: bool | None = None


def resolvable(query: Any) -> bool | None:
    marked = query.attributes.get("resolvable")
    if "underspecified" in query.attributes:
        return not query.attributes["underspecified"]
    if marked in (False, "no"):
        return False
    return True if marked in (True, "yes") else None


def template_of(query: Any) -> str:
    """The relation that is asked for, or how the question is worded."""
    text = query.input.replace(query.name, "NAME") if query.name else query.input
    wording = query.attributes.get("wording", "")
    return f"{query.task} {query.relation} {wording}" if query.relation else text


def collect(asked: Any, retriever: Any, bm25: Any) -> Iterator[Case]:
    """The evidence of every question of a set."""
    from whichone.records import page_of

    index = retriever.index
    for query in asked.queries:
        question, gold = query.question(), query.gold_pages()
        began = time.process_time()
        reading = retriever.weighed(question)
        seconds = time.process_time() - began
        number = {id(e): n for n, (_, own) in enumerate(reading.weighed) for e in own}
        read = [e for e in reading.candidates if "unread" not in e.values]
        right = [any(index.pages.id(page) in gold for page in e.pages) for e in read]
        meant = reading.meant[1] if reading.meant is not None else []
        first = next(iter(bm25.search([question], 1))).passages
        yield Case(
            set=asked.name,
            id=query.id,
            name=query.name or query.id,
            template=template_of(query),
            resolvable=resolvable(query),
            gold=any(index.pages.id(page) in gold for e in meant for page in e.pages),
            values=[dict(e.values) for e in read],
            groups=[number.get(id(e), -1) for e in read],
            right=right,
            bearers=len(meant),
            seconds=seconds,
            bm25=bool(first) and page_of(first[0]) in gold,
        )


def cases_of(sets: Iterable[Any], work: Path, *, judge: str | None) -> list[Case]:
    """The cases of all sets, each with its own index."""
    from whichone.retrieval.bm25 import Bm25
    from whichone.retrieval.namesake import NamesakeRetriever

    options = {"encoder": "none", **({"judge": judge} if judge else {})}
    cases: list[Case] = []
    for asked in sets:
        corpus = asked.benchmark.corpus
        place = work / corpus.hash[:16]
        retriever = NamesakeRetriever.over(corpus, place, **options)
        cases += collect(asked, retriever, Bm25.over(corpus, place))
        print(f"{asked.name}: {len(asked.queries)} questions", file=sys.stderr, flush=True)
    return cases


def features_at_hand(judge: str | None) -> list[str]:
    """What is weighed without an encoder."""
    return [f for f in FEATURES if f not in ("sentence", "dense", *(() if judge else READ))]


READ = ("pair", "pair_rank", "pair_share", "pair_plain")


def was_read(case: Case) -> bool:
    """Whether a reader was asked: where one name has several bearers, or several names have one."""
    return any("pair_rank" in values for values in case.values)


def part_of(text: str) -> int:
    return hashlib.sha256(f"part {text}".encode()).digest()[0] % PARTS


class Stacked:
    """Cases as one matrix."""

    def __init__(self, cases: Sequence[Case], features: Sequence[str]) -> None:
        self.cases = cases
        sizes = [len(c.values) for c in cases]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(int)
        self.owner = np.repeat(np.arange(len(cases)), sizes)
        self.x = np.array([[v.get(f, 0.0) for f in features] for c in cases for v in c.values])
        self.right = np.array([r for c in cases for r in c.right])
        counts: dict[str, int] = {}
        for case in cases:
            counts[case.set] = counts.get(case.set, 0) + 1
        self.share = np.array([1 / counts[c.set] for c in cases]) / len(counts)

    def shares(self, scores: np.ndarray) -> np.ndarray:
        top = np.maximum.reduceat(scores, self.starts)
        raised = np.exp(scores - top[self.owner])
        return raised / np.add.reduceat(raised, self.starts)[self.owner]


def fit_weights(cases: Sequence[Case], features: Sequence[str], strength: float = 0.0005) -> dict[str, float]:
    """Listwise: weights that make the right candidates of each question likely; every set counts the same."""
    usable = [c for c in cases if any(c.right) and not all(c.right)]
    if not usable:  # few questions of few sets: nothing to be learned
        return dict(EvidenceModel.load().fits["words"].weights)
    data = Stacked(usable, features)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        p = data.shares(data.x @ weights)
        mass = np.maximum(np.add.reduceat(np.where(data.right, p, 0.0), data.starts), 1e-12)
        inside = np.where(data.right, p, 0.0) / mass[data.owner]
        slope = data.x.T @ ((p - inside) * data.share[data.owner]) + 2 * strength * weights
        return float(-(data.share * np.log(mass)).sum() + strength * weights @ weights), slope

    bounds = [sign(name) for name in features]
    start = np.array([min(max(0.0, low or 0.0), high if high is not None else 0.0) if high is not None else (low or 0.0) for low, high in bounds])  # fmt: skip
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return {f: round(float(w), 3) for f, w in zip(features, best.x, strict=True) if round(w, 3)}


def sign(name: str) -> tuple[float | None, float | None]:
    if name in FLOORS:
        return FLOORS[name]
    if name in EITHER:
        return None, None
    return (None, 0.0) if name in NEVER_FOR else (0.0, None)


def scored(case: Case, weights: Mapping[str, float]) -> np.ndarray:
    return np.array([sum(weights.get(f, 0.0) * x for f, x in v.items()) for v in case.values])


def weigh(case: Case, weights: Mapping[str, float]) -> None:
    """The scores of its candidates, and what of them says which name a claim is about."""
    case.scores = scored(case, weights)
    parts = ({f: weights.get(f, 0.0) * x for f, x in v.items()} for v in case.values)
    case.about = np.array([about_it(own) for own in parts])


def meant(case: Case) -> list[int]:
    """The candidates of the name that the question is about, as `Reading.meant` chooses it."""
    groups: dict[int, list[int]] = {}
    for n, group in enumerate(case.groups):
        if group >= 0:
            groups.setdefault(group, []).append(n)
    several = [own for own in groups.values() if len(own) > 1] or list(groups.values())
    claim = any("claim" in values for values in case.values)
    chosen = case.about if claim else case.scores
    return max(several, key=lambda own: max(chosen[n] for n in own), default=[])


def values_of(case: Case, own: Sequence[int]) -> list[dict[str, float]]:
    """The values of a name's bearers, with what depends on the scores of all candidates."""
    others = [case.scores[n] for n, group in enumerate(case.groups) if group < 0]
    names = len({group for group in case.groups if group >= 0})
    return [case.values[n] | among_all(names, max(case.scores[n] for n in own), others) for n in own]


def tells(case: Case) -> bool:
    """Whether gold says who a name means: that of HotpotQA may be a page of another name."""
    return case.gold or "HotpotQA" not in case.set


def fit_leads(cases: Sequence[Case], *, hit: bool) -> dict[str, float]:
    """A logistic model: whether the best bearer is right, or whether a question can be resolved."""
    from sklearn.linear_model import LogisticRegression

    rows, labels = [], []
    for case in cases:
        own = meant(case)
        if len(own) < 2:
            continue
        best = max(own, key=lambda n: case.scores[n])
        label = case.right[best] if hit else case.resolvable
        if hit and not tells(case):
            continue
        if label is not None:
            rows.append(lead_features(values_of(case, own), [case.scores[n] for n in own]))
            labels.append(label)
    if len(set(labels)) < 2:  # few questions of few sets: nothing to be learned
        shipped = EvidenceModel.load().fits["words"]
        return dict(shipped.sure if hit else shipped.resolvable)
    names = sorted({name for row in rows for name in row})
    x = np.array([[row.get(n, 0.0) for n in names] for row in rows])
    scale = x.std(axis=0) + 1e-9
    model = LogisticRegression(
        C=0.1 if hit else 1.0, class_weight=None if hit else "balanced", max_iter=5_000
    )
    model.fit(x / scale if hit else x, np.array(labels))
    weights = model.coef_[0] / (scale if hit else 1.0)
    constant = float(model.intercept_[0])
    if not hit:  # so that it asks in one of 22 questions that can be resolved
        lines = x @ weights + constant
        constant -= float(np.quantile(lines[np.array(labels, bool)], 0.045))
    learned = {n: round(float(w), 3) for n, w in zip(names, weights, strict=True)}
    if not hit:  # hardly any set has names in part, which leave most open
        learned["loosely"] = min(learned["loosely"], PART_OPEN)
    strange = STRANGE_SURE if hit else STRANGE_OPEN
    learned["strange"] = min(learned["strange"], strange)  # hardly any set denies in words that are not known
    return {**learned, "": round(constant, 3)}


def judge(cases: Sequence[Case], fit: Fit) -> None:
    """Scores, probability of the first bearer, and whether it is right, into the cases."""
    for case in cases:
        weigh(case, fit.weights)
        own = meant(case)
        case.sure_right = None
        if len(own) > 1 and tells(case):
            scores = [float(case.scores[n]) for n in own]
            shares = calibrated(scores, values_of(case, own), fit)
            best = int(np.argmax(shares))
            case.sure, case.sure_right = shares[best], case.right[own[best]]


def whole_fit(cases: Sequence[Case], features: Sequence[str], leads: bool = True) -> Fit:
    """Weights, and then what is fitted on their scores: on those of the other part of the names."""
    weights = fit_weights(cases, features)
    if not leads:
        return Fit(weights)
    for part in range(PARTS):
        rest = [c for c in cases if part_of(c.name) != part]
        inner = fit_weights(rest, features)
        for case in cases:
            if part_of(case.name) == part:
                weigh(case, inner)
    fit = Fit(weights, fit_leads(cases, hit=False), fit_leads(cases, hit=True))
    return msgspec.structs.replace(fit, supported=supported(cases, fit.sure))


def supported(cases: Sequence[Case], sure: Mapping[str, float]) -> tuple[str, ...]:
    """The kinds of evidence whose answers above MOST_UNTOLD are right often enough, by a lower bound, to stay above it."""
    right: dict[str, list[bool]] = {}
    for case in cases:
        own = meant(case)
        if len(own) < 2 or not tells(case):
            continue
        scores, values = [float(case.scores[n]) for n in own], values_of(case, own)
        kind = kind_of(values, scores)
        shares = calibrated(scores, values, Fit({}, sure=sure, supported=(kind,) if kind else ()))
        if max(shares) > MOST_UNTOLD:
            right.setdefault(kind, []).append(case.right[own[int(np.argmax(shares))]])
    bounds = {k: float(beta.ppf(1 - CONFIDENCE, sum(r), len(r) - sum(r) + 1)) if any(r) else 0.0 for k, r in right.items()}  # fmt: skip
    return tuple(sorted(kind for kind, bound in bounds.items() if bound >= LEAST_RIGHT))


def cross_validate(cases: Sequence[Case], features: Sequence[str], leads: bool = True) -> None:
    """Every case judged by a fit that saw neither its name's part nor its template's."""
    if "pair" in features:  # what was not read is judged by words alone, as `namesake` does
        cross_validate(cases, [f for f in features if f not in READ], leads)
        cases = [c for c in cases if was_read(c)]
    fits = {}
    for names in range(PARTS):
        for templates in range(PARTS):
            rest = [c for c in cases if part_of(c.name) != names and part_of(c.template) != templates]
            fits[names, templates] = whole_fit(rest, features, leads)
    for (names, templates), fit in fits.items():
        judge([c for c in cases if part_of(c.name) == names and part_of(c.template) == templates], fit)
