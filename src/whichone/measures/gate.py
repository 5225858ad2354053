"""The gate: budgets against intervals, and a new run against an old one. One rule, one exit code.

A budget is *failed* when the whole interval lies beyond it, *passed* when the whole interval lies
within it, and *undecided* when the budget lies inside the interval: then more queries are needed,
not an opinion. Undecided passes, unless `strict`. A question without a result is never confused and
has no gap: where most questions got none, the gate fails whatever the budgets say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import UsageError
from whichone.measures.comparison import compare
from whichone.measures.intervals import REPLICATES, Estimate, cluster_sums
from whichone.measures.measure import parse_measure
from whichone.measures.scores import Scores, cluster, estimate

Verdict = Literal["passed", "failed", "undecided"]

FEW_SETS = 30
LEVEL = 0.05


class Check(msgspec.Struct, frozen=True):
    """One budget or one comparison, with what was found and what follows."""

    name: str
    verdict: Verdict
    found: Estimate
    budget: float | None = None
    message: str = ""


class GateReport(msgspec.Struct, frozen=True):
    system: str
    benchmark: str
    name_sets: int
    checks: list[Check]
    warnings: list[str]
    strict: bool = False

    @property
    def verdict(self) -> Verdict:
        verdicts = {check.verdict for check in self.checks}
        return (
            "failed"
            if "failed" in verdicts
            else "undecided"
            if "undecided" in verdicts
            else "passed"
        )

    @property
    def exit_code(self) -> int:
        return int(self.verdict == "failed" or (self.strict and self.verdict == "undecided"))


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """What may be at most (or must be at least); None is no budget."""

    max_tail_gap: float | None = None
    max_confusion: float | None = None
    max_tail_confusion: float | None = None
    min_accuracy: float | None = None
    min_tail_accuracy: float | None = None

    def names(self) -> list[str]:
        return [n for n in self.__struct_fields__ if getattr(self, n) is not None]


MEASURES = ("acc@1", "confused@20")


def check_budgets(
    scores: Scores,
    budgets: Budgets,
    *,
    baseline: Scores | None = None,
    strict: bool = False,
    seed: int = 0,
) -> GateReport:
    """Every budget that is set, and the baseline if there is one."""
    if not budgets.names() and baseline is None:
        raise UsageError(
            "nothing to check", hint="give a budget such as --max-confusion 0.2, or --baseline OLD"
        )
    for name in budgets.names():
        if not 0 <= getattr(budgets, name) <= 1:
            raise UsageError(f"--{name.replace('_', '-')} is a fraction from 0 to 1")
    checks = [_budget(name, getattr(budgets, name), scores, seed) for name in budgets.names()]
    if baseline is not None:
        checks += _against(scores, baseline, seed)
    checks += _results(scores)
    sets = len({q.name_set for q in scores.queries if q.name_set})
    warnings = scores.cautions()
    if sets < FEW_SETS:
        warnings.append(f"only {sets} name sets: intervals over fewer than {FEW_SETS} are rough")
    return GateReport(scores.system, scores.benchmark, sets, checks, warnings, strict)


def _budget(name: str, budget: float, scores: Scores, seed: int) -> Check:
    found = _FOUND[name](scores, seed)
    if found.value is None:
        return Check(
            name, "undecided", found, budget, "no query tells: the benchmark lacks what this needs"
        )
    at_least = name.startswith("min_")
    low = found.low if found.low is not None else 0.0
    high = found.high if found.high is not None else 1.0
    if at_least:
        verdict: Verdict = "failed" if high < budget else "passed" if low >= budget else "undecided"
    else:
        verdict = "failed" if low > budget else "passed" if high <= budget else "undecided"
    word = "at least" if at_least else "at most"
    asked = "wanted" if at_least else "allowed"
    message = f"{found.value:.3f} [{low:.3f}, {high:.3f}], {word} {budget:g} {asked}"
    return Check(name, verdict, found, budget, message)


def _results(scores: Scores) -> list[Check]:
    """Fails where most questions failed or got nothing; says nothing where at least half got something."""
    without = [q.id in scores.failed or q.id in scores.empty for q in scores.queries]
    if sum(without) * 2 <= len(without):
        return []
    found = Estimate(sum(without) / len(without), None, None, len(without))
    told = f"{scores.without_result()}, at most half may"
    return [Check("results", "failed", found, 0.5, told)]


def _rows(scores: Scores, role: str | None) -> npt.NDArray[np.int64]:
    chosen = [i for i, q in enumerate(scores.queries) if role is None or q.role == role]
    return np.array(chosen, np.int64)


def _mean(measure: str, role: str | None, scores: Scores, seed: int) -> Estimate:
    return estimate(scores, parse_measure(measure), _rows(scores, role), seed)


def tail_gap(scores: Scores, seed: int = 0) -> Estimate:
    """Head accuracy minus tail accuracy, both resampled together by cluster."""
    values = scores.values["acc@1"]
    clusters = np.array([":".join(cluster(q)) for q in scores.queries])
    role = np.array([q.role or "" for q in scores.queries])
    told = (role != "") & ~np.isnan(values)
    values, clusters, role = values[told], clusters[told], role[told]
    head, tail = role == "head", role == "tail"
    if not head.any() or not tail.any():
        return Estimate(None, None, None, len(values))
    value = float(values[head].mean() - values[tail].mean())
    pieces = [
        cluster_sums(np.where(mask, v, 0.0), clusters)[0]
        for mask, v in ((head, values), (tail, values), (head, 1.0), (tail, 1.0))
    ]
    size = len(pieces[0])
    if size < 2:
        return Estimate(value, None, None, len(values), size)
    drawn = np.random.default_rng(seed).integers(0, size, (REPLICATES, size))
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = [piece[drawn].sum(1) for piece in pieces]
        gaps = sums[0] / sums[2] - sums[1] / sums[3]
    low, high = np.nanquantile(gaps, [0.025, 0.975])
    return Estimate(value, float(low), float(high), len(values), size)


_FOUND: dict[str, Callable[[Scores, int], Estimate]] = {
    "max_tail_gap": tail_gap,
    "max_confusion": lambda s, seed: _mean("confused@20", None, s, seed),
    "max_tail_confusion": lambda s, seed: _mean("confused@20", "tail", s, seed),
    "min_accuracy": lambda s, seed: _mean("acc@1", None, s, seed),
    "min_tail_accuracy": lambda s, seed: _mean("acc@1", "tail", s, seed),
}


def _against(scores: Scores, baseline: Scores, seed: int) -> list[Check]:
    """Fails on a significant paired regression: worse than the baseline with p below 0.05 after Holm."""
    measures = [parse_measure(m) for m in MEASURES]
    checks = []
    compared = compare([baseline, scores], measures, seed=seed)
    if not compared:
        nothing = Estimate(None, None, None, 0)
        told = "no query tells: the benchmark lacks what this needs"
        return [Check("baseline", "undecided", nothing, None, told)]
    for found in compared:
        rises = found.measure.startswith("acc")
        difference = found.difference.value or 0.0
        worse = difference < 0 if rises else difference > 0
        verdict: Verdict = "failed" if worse and found.p_holm < LEVEL else "passed"
        checks.append(
            Check(
                f"baseline {found.measure}",
                verdict,
                found.difference,
                None,
                f"{found.value_b:.3f} against {found.value_a:.3f}, difference {difference:+.3f}, "
                f"p = {found.p_holm:.4f}",
            )
        )
    return checks


def describe(report: GateReport, checks: Sequence[Check] | None = None) -> list[dict[str, str]]:
    """Rows for a table."""
    return [
        {"check": c.name.replace("_", "-"), "verdict": c.verdict, "found": c.message}
        for c in (checks or report.checks)
    ]
