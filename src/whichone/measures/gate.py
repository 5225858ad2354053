"""The gate: budgets against intervals, a floor, and a new run against an old one. One rule, one exit code.

A budget is *failed* when the whole interval is beyond it, *passed* when the whole interval is
within it, and *undecided* when the budget is inside the interval: then more queries are needed,
not an opinion. Undecided passes, unless `strict`. The gate fails closed: a budget that no query can
measure fails, and so does a system that finds gold in under half of the questions, that gives no
result to most of them, or that is worse than the floor, BM25 over the same corpus, by more than a margin. Questions
that no search can decide are left out; whether a system asked back about them is a figure of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import UsageError, WhichoneError, how_many
from whichone.files.folder import Folder
from whichone.files.output import cache_folder
from whichone.measures.absent import ABSENT_MEASURES, HANDED_OVER, REFUSED_PRESENT, has_absent
from whichone.measures.budgets import Budgets, GateOptions
from whichone.measures.comparison import LEVEL, Comparison, compare, slices
from whichone.measures.intervals import Estimate, cluster_sums, difference_of_means, interval
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.outcomes import Judging
from whichone.measures.scores import (
    ACTION_MEASURES,
    Scores,
    estimate,
    score_folder,
    score_run,
    subset,
    undecidable,
)
from whichone.measures.worst import Mistake, worst_answers, worst_mistakes
from whichone.options import takes
from whichone.records import Query
from whichone.runs.run import Answers, Run

_Verdict = Literal["passed", "failed", "undecided"]

FEW_SETS = 30
# A search that finds gold in fewer questions than this is broken, whatever else is asked of it.
LEAST_FOUND = 0.5
# How much worse than the most popular bearers the others may be served, unless a budget says else.
TAIL_GAP = 0.25
UNMEASURED = "no question can measure it"


class Check(msgspec.Struct, frozen=True):
    """One budget or one comparison, with the estimate and what follows."""

    name: str
    verdict: _Verdict
    estimate: Estimate
    budget: float | None = None
    message: str = ""


class GateReport(msgspec.Struct, frozen=True):
    system: str
    benchmark: str
    name_sets: int
    checks: list[Check]
    warnings: list[str]
    strict: bool = False
    figures: dict[str, Estimate] = {}
    worst: list[Mistake] = []

    @property
    def verdict(self) -> _Verdict:
        verdicts = {check.verdict for check in self.checks}
        return next((verdict for verdict in ("failed", "undecided") if verdict in verdicts), "passed")

    @property
    def exit_code(self) -> int:
        return int(self.verdict == "failed" or (self.strict and self.verdict == "undecided"))


def gate_depth(pages: int) -> int:
    """The depth of "found": 20, or less in a small corpus, where 20 drawn at random would do."""
    return max(1, min(20, pages // 10))


def gate_measures(depth: int) -> list[str]:
    return list(dict.fromkeys(["acc@1", f"acc@{depth}", "confused@20"]))


def check_budgets(
    scores: Scores,
    budgets: Budgets,
    *,
    baseline: Scores | None = None,
    floor: Scores | None = None,
    depth: int | None = None,
    strict: bool = False,
    seed: int = 0,
    margin: float = GateOptions().margin,
    worst: Sequence[Mistake] = (),
) -> GateReport:
    """Every budget that is set, the baseline and the floor if there are any, both within `margin`.

    Questions that no search can decide count for nothing but for whether the system asked (`min_asked`).

    With `depth` also what applies to every search: gold is found within it in half of the questions, and
    the tail gap is at most `TAIL_GAP` where no budget says else.
    """
    if not budgets.names() and baseline is None and floor is None and depth is None:
        raise UsageError(
            "nothing to check", hint="give a budget such as --max-confusion 0.2, or --baseline OLD"
        )
    Budgets.of(msgspec.structs.asdict(budgets))
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is a fraction from 0 to 1, not {margin!r}")
    every, open_questions = scores, sum(map(undecidable, scores.queries))
    if open_questions:
        scores = subset(scores, _decidable)
        baseline, floor = (s and subset(s, _decidable) for s in (baseline, floor))
    of_figure = {name: every if name == "min_asked" else scores for name in _FIGURES}
    checks = [_budget(name, getattr(budgets, name), of_figure[name]) for name in budgets.names()]
    if depth is not None:
        checks += _usual(scores, budgets, depth)
    for called, other in (("floor", floor), ("baseline", baseline)):
        checks += _against(scores, other, seed, called, margin) if other is not None else []
    checks += _results(every)
    sets = len({q.name_set for q in scores.queries if q.name_set})
    warnings = every.cautions()
    if open_questions:
        warnings.append(
            f"{open_questions:,} of {len(every.queries):,} questions fit several bearers: no search can decide them, "
            "and they count only for whether the system asked back"
        )
    if sets < FEW_SETS:
        warnings.append(f"only {how_many(sets, 'name set')}: intervals over fewer than {FEW_SETS} are rough")
    figures = {name: _measured(name, of_figure[name]) for name in _FIGURE_WORDS}
    return GateReport(
        scores.system,
        scores.benchmark,
        sets,
        checks,
        warnings,
        strict,
        {name: e for name, e in figures.items() if e.value is not None},
        list(worst),
    )


def check_slices(
    scores: Scores,
    budgets: Budgets,
    by: Sequence[str],
    *,
    baseline: Scores | None = None,
    floor: Scores | None = None,
    **options: Any,
) -> GateReport:
    """The same in every slice of the queries by these columns; each check is named with its slice.

    A budget that only some slices can measure is checked in those.
    """
    whole = check_budgets(scores, budgets, baseline=baseline, floor=floor, **options)
    if not by:
        return whole
    checks = []
    for where, chosen in slices(scores, by):
        part = check_budgets(
            subset(scores, chosen),
            budgets,
            baseline=subset(baseline, chosen) if baseline else None,
            floor=subset(floor, chosen) if floor else None,
            **options,
        )
        words = " ".join("none" if v is None else str(v) for v in where.values())
        checks += [(check, f"{words}: {check.name}") for check in part.checks]
    measured = {check.name for check, _ in checks if not check.message.startswith(UNMEASURED)}
    kept = [
        msgspec.structs.replace(check, name=named)
        for check, named in checks
        if check.name not in measured or not check.message.startswith(UNMEASURED)
    ]
    return msgspec.structs.replace(whole, checks=kept)


def _usual(scores: Scores, budgets: Budgets, depth: int) -> list[Check]:
    estimate = _mean(f"acc@{depth}", None, scores)
    share = estimate.value or 0.0
    message = (
        f"gold is among the first {depth} pages in {share:.0%} of {estimate.n:,} questions, "
        f"at least {LEAST_FOUND:.0%} wanted"
    )
    checks = [Check("found", "passed" if share >= LEAST_FOUND else "failed", estimate, None, message)]
    if budgets.max_tail_gap is None and tail_gap(scores).value is not None:
        checks.append(_budget("max_tail_gap", TAIL_GAP, scores))
    return checks


def _budget(name: str, budget: float, scores: Scores) -> Check:
    estimate = _measured(name, scores)
    if estimate.value is None:
        return Check(name, "failed", estimate, budget, f"{UNMEASURED}: {_FIGURES[name][2]}")
    low = 0.0 if estimate.low is None else estimate.low
    high = 1.0 if estimate.high is None else estimate.high
    if name.startswith("min_"):
        failed, passed, allowed = high < budget, low >= budget, f"at least {budget:g} wanted"
    else:
        failed, passed, allowed = low > budget, high <= budget, f"at most {budget:g} allowed"
    verdict: _Verdict = "failed" if failed else "passed" if passed else "undecided"
    known = estimate.low is not None
    spread = f"[{low:.3f}, {high:.3f}]" if known else f"(interval: {estimate.kind})"
    return Check(name, verdict, estimate, budget, f"{estimate.value:.3f} {spread}, {allowed}")


def _results(scores: Scores) -> list[Check]:
    """Fails where most questions failed or got nothing; says nothing where at least half got something."""
    without = [q.id in scores.failed or q.id in scores.empty for q in scores.queries]
    if sum(without) * 2 <= len(without):
        return []
    estimate = Estimate(sum(without) / len(without), None, None, len(without))
    return [Check("results", "failed", estimate, 0.5, f"{scores.without_result()}, at most half may")]


def _decidable(query: Query) -> bool:
    return not undecidable(query)


def _mean(measure: str, role: str | None, scores: Scores) -> Estimate:
    rows = [i for i, q in enumerate(scores.queries) if role is None or q.role == role]
    return estimate(scores, parse_measure(measure), np.array(rows, np.int64))


def tail_gap(scores: Scores) -> Estimate:
    role = np.array([q.role or "" for q in scores.queries])
    measured = (role != "") & ~np.isnan(scores.values["acc@1"])
    values, clusters = scores.values["acc@1"][measured], scores.clusters[measured]
    head, tail = role[measured] == "head", role[measured] == "tail"
    if not head.any() or not tail.any():
        return Estimate(None, None, None, len(values))
    of_head, of_tail = (
        (cluster_sums(np.where(mask, values, 0.0), clusters)[0],
         cluster_sums(mask.astype(np.float64), clusters)[0])
        for mask in (head, tail)
    )  # fmt: skip
    return difference_of_means(of_head, of_tail, n=len(values))


def not_found(scores: Scores) -> Estimate:
    """Neither gold nor a namesake is among the results: lost, which is something else than confused."""
    deepest = max((m for m in scores.measures if m.name == "acc"), key=lambda m: m.k or 0)
    hits, confused = scores.values[str(deepest)], np.nan_to_num(scores.values["confused@20"])
    return interval(np.where(np.isnan(hits), np.nan, (hits == 0) & (confused == 0)), scores.clusters)


def asked(scores: Scores) -> Estimate:
    """How often the system asked back where no search can decide who is meant."""
    back, user = scores.values["asked_back"], scores.values["asked_user"]
    open_ones = np.fromiter(map(undecidable, scores.queries), np.bool_, len(scores.queries))
    return interval(np.where(open_ones, np.where(np.isnan(back), user, back), np.nan), scores.clusters)


def _of(measure: str, role: str | None = None) -> Callable[[Scores], Estimate]:
    return lambda scores: _mean(measure, role, scores)


_RANKINGS = "a run of a search is needed, over questions about shared names"
_ROLES = "the benchmark does not say who is the most popular bearer of a name"
_ANSWERS = "a folder of answers is needed, to questions about shared names"
_ABSENT = "questions about bearers that the corpus does not have are needed (whichone build absent)"
_TASKS = "an agent's answers to tasks are needed (whichone build catalogue --tasks act)"
# What each budget is about, the measures that it needs, and why a benchmark may not have them.
_FIGURES: dict[str, tuple[Callable[[Scores], Estimate], set[str], str]] = {
    "max_tail_gap": (tail_gap, {"acc@1"}, _ROLES),
    "max_confusion": (_of("confused@20"), {"confused@20"}, _RANKINGS),
    "max_tail_confusion": (_of("confused@20", "tail"), {"confused@20"}, _ROLES),
    "max_not_found": (not_found, {"acc@1", "confused@20"}, _RANKINGS),
    "min_accuracy": (_of("acc@1"), {"acc@1"}, _RANKINGS),
    "min_tail_accuracy": (_of("acc@1", "tail"), {"acc@1"}, _ROLES),
    "max_answered_for_namesake": (_of("answered_for_namesake"), {"answered_for_namesake"}, _ANSWERS),
    "min_answer_accuracy": (_of("answer_right"), {"answer_right"}, _ANSWERS),
    "max_wrong_actions": (_of("wrong_action"), {"wrong_action"}, _TASKS),
    "max_other_actions": (_of("other_action"), {"other_action"}, _TASKS),
    "min_right_actions": (_of("right_action"), {"right_action"}, _TASKS),
    "max_handed_over": (_of(HANDED_OVER), {HANDED_OVER}, _ABSENT),
    "max_refused_present": (_of(REFUSED_PRESENT), {REFUSED_PRESENT}, _ABSENT),
    "min_asked": (
        asked,
        {"asked_back", "asked_user"},
        "answers are needed, to questions that fit several bearers (whichone build catalogue --underspecified 0.5)",
    ),
}


def _measured(name: str, scores: Scores) -> Estimate:
    figure, needed, _ = _FIGURES[name]
    return figure(scores) if needed <= scores.values.keys() else Estimate(None, None, None, 0)


def _against(scores: Scores, other: Scores, seed: int, called: str, margin: float) -> list[Check]:
    """Fails on a paired difference that is significant and matters: p below 0.05 after Holm, worse by more than the margin.

    As much worse than the floor without significance is undecided: a small benchmark proves nothing. It passes
    where gold is first significantly more often than for the floor.
    """
    known = [m for m in scores.measures if str(m) in other.values and m.sign]
    compared = compare([replace(other, system=f"{other.system} "), scores], known, seed=seed)
    compared = [comparison for comparison in compared if comparison.difference.value is not None]
    if not compared:
        return [Check(called, "failed", Estimate(None, None, None, 0), None, f"{UNMEASURED}: {_RANKINGS}")]
    checks = [_compared(comparison, called, margin) for comparison in compared]
    if called == "floor" and any(c.measure == "acc@1" and c.better == c.b for c in compared):
        checks = [
            msgspec.structs.replace(c, verdict="passed") if c.verdict == "undecided" else c for c in checks
        ]
    return checks


def _compared(comparison: Comparison, called: str, margin: float) -> Check:
    difference = comparison.difference.value or 0.0
    worse = (difference if comparison.direction == "lower" else -difference) > margin + 1e-12
    sure = comparison.p_holm < LEVEL
    return Check(
        f"{called} {comparison.measure}",
        "failed" if worse and sure else "undecided" if worse and called == "floor" else "passed",
        comparison.difference,
        None,
        f"{comparison.value_b:.3f} against {comparison.value_a:.3f} of {comparison.a.strip()}, "
        f"difference {difference:+.3f}, p = {comparison.p_holm:.4f}, {margin:g} worse allowed",
    )


def describe(report: GateReport, checks: Sequence[Check] | None = None) -> list[dict[str, str]]:
    return [
        {"check": c.name.replace("_", "-"), "verdict": c.verdict, "found": c.message}
        for c in (checks or report.checks)
    ]


def figures_line(report: GateReport) -> str:
    return ", ".join(
        f"{_FIGURE_WORDS[name]} {100 * (e.value or 0):.0f} %" for name, e in report.figures.items()
    )


_FIGURE_WORDS = {
    "min_accuracy": "right at 1",
    "max_confusion": "confused",
    "max_not_found": "not found at all",
    "max_tail_gap": "tail gap",
    "min_answer_accuracy": "answered right",
    "max_answered_for_namesake": "answered for a namesake",
    "max_wrong_actions": "acted on somebody else",
    "max_other_actions": "did something else",
    "min_right_actions": "did what was asked",
    "min_asked": "asked where it must",
    "max_handed_over": "handed over for somebody absent",
    "max_refused_present": "refused though there",
}


# The whole gate for a run: its scores, BM25 over the same corpus as a floor, and the worst mistakes.
FLOOR = "bm25"
ANSWER_MEASURES = (
    "answer_right",
    "answered_for_namesake",
    *ACTION_MEASURES,
    "failure",
    "asked_back",
    "asked_user",
)


@takes(GateOptions, "options")
def gate_folder(
    path: str | Path,
    budgets: Budgets,
    options: GateOptions,
    *,
    benchmark: Where | None = None,
    judge: Judging | None = None,
) -> GateReport:
    """The gate for a run or a folder of answers by its path; a judge decides outcomes of answers."""
    folder = Folder.open(path, ("run", "answers"))
    if folder.manifest.kind == "answers":
        how: dict[str, Any] = {"benchmark": benchmark, "judge": judge}
        old, answers = options.baseline, Answers(folder)
        asked = answers.benchmark(benchmark)
        measures = (*ANSWER_MEASURES, *(ABSENT_MEASURES if has_absent(asked) else ()))
        return check_slices(
            score_folder(path, measures, **how),
            budgets,
            options.by,
            baseline=score_folder(old, measures, **how) if old else None,
            strict=options.strict,
            seed=options.seed,
            margin=options.margin,
            worst=worst_answers(answers, asked, judge=judge),
        )
    if judge is not None:
        raise UsageError("a judge reads answers, and this is a run", where=str(path))
    run = Run(folder)
    return gate_run(run, run.benchmark(benchmark), budgets, options)


@takes(GateOptions, "options")
def gate_run(run: Run, benchmark: Benchmark, budgets: Budgets, options: GateOptions) -> GateReport:
    """Budgets, what applies to every search, the floor unless it is switched off, and the baseline."""
    depth = gate_depth(benchmark.corpus.page_count)
    absent = ABSENT_MEASURES if has_absent(benchmark) else ()
    measures = parse_measures([*gate_measures(depth), *absent])
    old = Run.open(options.baseline) if options.baseline else None
    return check_slices(
        score_run(run, benchmark, measures),
        budgets,
        options.by,
        baseline=score_run(old, benchmark, measures) if old else None,
        floor=floor_scores(benchmark, gate_measures(depth), run) if options.floor else None,
        depth=depth,
        strict=options.strict,
        seed=options.seed,
        margin=options.margin,
        worst=worst_mistakes(run, benchmark),
    )


def floor_scores(benchmark: Benchmark, measures: list[str], run: Run) -> Scores | None:
    """Scores of BM25 over the benchmark's corpus, asked as deep as the run; None without passages."""
    if not len(benchmark.corpus):
        return None
    k = run.description.get("k")
    depth, pages = k if isinstance(k, int) else 100, run.counts_pages
    place = cache_folder() / "floors" / benchmark.id / f"{depth}{'-pages' if pages else ''}"
    try:
        floor = Run.open(place)
    except WhichoneError:
        from whichone.runs.retrieve import default_index_folder, make_retriever
        from whichone.runs.runner import run_retriever

        retriever = make_retriever(FLOOR, benchmark, default_index_folder(benchmark.corpus), {})
        floor = run_retriever(retriever, benchmark, place, k=depth, pages=pages, name=FLOOR)
    return score_run(floor, benchmark, parse_measures(measures))
