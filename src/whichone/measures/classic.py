"""The classic measures of TREC through ir_measures: nDCG, MAP, P, R, RR, bpref and judged, equal to trec_eval's.

They count every gold page, whatever the gold rule, with its grade where the judgements are graded; pages that were
judged not relevant matter to bpref and judged. Pages are ranked as everywhere, each at its best passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichone.benchmarks.exports import page_grades
from whichone.errors import missing_extra
from whichone.measures.measure import Measure, Retrieved, needs_depth, no_depth
from whichone.measures.retrieval import GOLD


def ndcg(k: int | None) -> Measure:
    """nDCG of the first k pages, or of all: gains are grades, as trec_eval's ndcg_cut and ndcg."""
    return _classic("nDCG", k, "nDCG")


def average_precision(k: int | None) -> Measure:
    """Average precision, whose mean is MAP; trec_eval's map, with a depth map_cut."""
    return _classic("MAP", k, "AP")


def precision(k: int | None) -> Measure:
    """The share of relevant pages among the first k places; trec_eval's P."""
    return _classic("P", needs_depth("P", k), "P")


def recall(k: int | None) -> Measure:
    """The share of all relevant pages among the first k; trec_eval's recall."""
    return _classic("R", needs_depth("R", k), "R")


def reciprocal_rank(k: int | None) -> Measure:
    """One over the rank of the first relevant page; trec_eval's recip_rank."""
    return _classic("RR", k, "RR")


def bpref(k: int | None) -> Measure:
    """How seldom pages judged not relevant are ranked above relevant ones; trec_eval's bpref."""
    no_depth("bpref", k)
    return _classic("bpref", None, "Bpref")


def judged(k: int | None) -> Measure:
    """The share of the first k pages that were judged at all."""
    return _classic("judged", needs_depth("judged", k), "Judged")


def _classic(name: str, k: int | None, theirs: str) -> Measure:
    def batch(several: Sequence[Retrieved]) -> list[float | None]:
        return _calculated(theirs, k, several)

    return Measure(name, lambda r: batch([r])[0], k, needs=GOLD, batch=batch)


def _calculated(name: str, k: int | None, several: Sequence[Retrieved]) -> list[float | None]:
    measure, provider = _provider(name, k)
    asked = {str(n): r for n, r in enumerate(several) if r.gold}
    judgements = {n: page_grades(r.query) for n, r in asked.items()}
    # scores fall with the rank, so that nothing is left to the order of ties
    rankings = {
        n: {page: float(len(r.pages) - rank) for rank, page in enumerate(r.pages)}
        for n, r in asked.items()
        if r.pages
    }
    figures: dict[str, float] = dict.fromkeys(asked, 0.0)
    if rankings:
        figures |= {
            m.query_id: m.value for m in provider.iter_calc([measure], judgements, rankings)
        }
    return [figures.get(str(n)) for n in range(len(several))]


def _provider(name: str, k: int | None) -> tuple[Any, Any]:
    try:
        import ir_measures
    except ImportError:
        raise missing_extra("ir_measures", "measures") from None
    measure = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
    provider = ir_measures.judged if name == "Judged" else ir_measures.pytrec_eval
    if not provider.is_available():
        raise missing_extra("pytrec_eval", "measures")
    return measure, provider
