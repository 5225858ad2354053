"""Measures of one ranking against one query's gold pages and its namesakes' pages."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Set
from typing import Any, Literal

from whichone.measures.measure import Measure, Retrieved, needs_depth, no_depth


def first_rank(pages: Iterable[str], wanted: frozenset[str]) -> int | None:
    """The rank, from 1, of the first wanted page; None when there is none."""
    for rank, page in enumerate(pages, 1):
        if page in wanted:
            return rank
    return None


PageKind = Literal["gold", "namesake", "other"]


def kind_of_page(
    page: Hashable, gold: Container[Hashable], others: Container[Hashable]
) -> PageKind:
    """What a retrieved page is to a query: gold, a page of another bearer of the name, or neither."""
    if page in gold:
        return "gold"
    return "namesake" if page in others else "other"


def is_right(pages: Iterable[Hashable], gold: Set[Any]) -> bool:
    """A gold page is among the pages; without a gold page never."""
    return not gold.isdisjoint(pages)


def is_confused(
    pages: Iterable[Hashable], gold: Container[Hashable], others: Container[Hashable]
) -> bool:
    """A page of another bearer comes before the first gold page, which may be missing."""
    kinds = (kind_of_page(page, gold, others) for page in pages)
    return next((kind for kind in kinds if kind != "other"), "gold") == "namesake"


def accuracy(k: int | None) -> Measure:
    """A gold page is among the first k pages."""
    depth = needs_depth("acc", k)
    return Measure("acc", lambda r: float(is_right(r.pages[:depth], r.gold)), k)


def all_correct(k: int | None) -> Measure:
    """AmbER's all-correct: every query of the name set has a gold page among the first k."""
    depth = needs_depth("all_correct", k)
    return Measure(
        "all_correct", lambda r: float(is_right(r.pages[:depth], r.gold)), k, aggregate="all"
    )


def confused(k: int | None) -> Measure:
    """A page of another bearer ranks above the first gold page, within the first k pages.

    Gold that is not retrieved ranks at infinity; a page that is gold is no other. It does not apply
    to a query without a name set. The definition is ours: AmbER's paper describes entity confusion,
    its released program does not compute it.
    """

    def value(r: Retrieved) -> float | None:
        if r.query.name_set is None:
            return None
        return float(is_confused(r.pages[:k], r.gold, r.others))

    return Measure("confused", value, k)


def namesake_hit(k: int | None) -> Measure:
    """A page of another bearer is among the first k pages."""
    depth = needs_depth("namesake_hit", k)

    def value(r: Retrieved) -> float | None:
        return float(not r.others.isdisjoint(r.pages[:depth])) if r.others else None

    return Measure("namesake_hit", value, k)


def recall(k: int | None) -> Measure:
    """The share of the query's gold pages among the first k pages."""
    depth = needs_depth("recall", k)

    def value(r: Retrieved) -> float | None:
        return len(r.gold.intersection(r.pages[:depth])) / len(r.gold) if r.gold else None

    return Measure("recall", value, k)


def precision(k: int | None) -> Measure:
    """The share of gold among the first k places, filled or not."""
    depth = needs_depth("precision", k)
    return Measure("precision", lambda r: len(r.gold.intersection(r.pages[:depth])) / depth, k)


def reciprocal_rank(k: int | None) -> Measure:
    """One over the rank of the first gold page; 0 when it is not among the first k."""

    def value(r: Retrieved) -> float:
        rank = first_rank(r.pages if k is None else r.pages[:k], r.gold)
        return 1 / rank if rank else 0.0

    return Measure("rr", value, k)


def r_precision(k: int | None) -> Measure:
    """KILT's page-level R-precision: for the best output, the share of its R pages among the first R."""
    no_depth("rprec", k)

    def value(r: Retrieved) -> float:
        best = 0.0
        for output in r.query.outputs:
            for group in output.provenance:
                pages = {p.page for p in group}
                if pages:
                    best = max(best, len(pages.intersection(r.pages[: len(pages)])) / len(pages))
        return best

    return Measure("rprec", value)


def failure(k: int | None) -> Measure:
    """The system failed on this query (it also counts as wrong everywhere else)."""
    no_depth("failure", k)
    return Measure("failure", lambda r: float(r.failed), of="both")
