"""Measures of one ranking against one query's gold pages and its namesakes' pages."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Set
from typing import Any, Literal

from whichone.measures.measure import Measure, Retrieved, needs_depth, no_depth

GOLD = "a gold page"


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
    return Measure("acc", _any_gold(needs_depth("acc", k)), k, needs=GOLD)


def all_correct(k: int | None) -> Measure:
    """AmbER's all-correct: every query of the name set has a gold page among the first k."""
    depth = needs_depth("all_correct", k)
    return Measure("all_correct", _any_gold(depth), k, aggregate="all", needs=GOLD)


def _any_gold(depth: int) -> Callable[[Retrieved], float | None]:
    return lambda r: float(is_right(r.pages[:depth], r.gold)) if r.gold else None


def confused(k: int | None) -> Measure:
    """A page of another bearer ranks above the first gold page, within the first k pages.

    Gold that is not retrieved ranks at infinity; a page that is gold is no other. It does not apply
    to a query without a name set or a gold page. The definition is ours: AmbER's paper describes entity confusion,
    its released program does not compute it.
    """

    def value(r: Retrieved) -> float | None:
        if r.query.name_set is None or not r.gold:
            return None
        return float(is_confused(r.pages[:k], r.gold, r.others))

    return Measure("confused", value, k, needs="a gold page and a name that others share")


def namesake_hit(k: int | None) -> Measure:
    """A page of another bearer is among the first k pages."""
    depth = needs_depth("namesake_hit", k)

    def value(r: Retrieved) -> float | None:
        return float(not r.others.isdisjoint(r.pages[:depth])) if r.others else None

    return Measure("namesake_hit", value, k, needs="a page of another bearer of the name")


def recall(k: int | None) -> Measure:
    """For the best set of gold pages, the share of it among the first k pages.

    Where all gold pages are needed they are one set, and this is the recall of trec_eval; where any of them is
    enough each is a set of its own.
    """
    depth = needs_depth("recall", k)
    return Measure("recall", lambda r: _best_share(r, lambda pages: depth), k, needs=GOLD)


def _best_share(r: Retrieved, depth: Callable[[frozenset[str]], int]) -> float | None:
    groups = [frozenset(e.page for e in g) for o in r.query.outputs for g in o.provenance if g]
    if not groups:
        return None
    return max(len(pages.intersection(r.pages[: depth(pages)])) / len(pages) for pages in groups)


def precision(k: int | None) -> Measure:
    """The share of gold among the first k places, filled or not."""
    depth = needs_depth("precision", k)

    def value(r: Retrieved) -> float | None:
        return len(r.gold.intersection(r.pages[:depth])) / depth if r.gold else None

    return Measure("precision", value, k, needs=GOLD)


def reciprocal_rank(k: int | None) -> Measure:
    """One over the rank of the first gold page; 0 when it is not among the first k."""

    def value(r: Retrieved) -> float | None:
        if not r.gold:
            return None
        rank = first_rank(r.pages if k is None else r.pages[:k], r.gold)
        return 1 / rank if rank else 0.0

    return Measure("rr", value, k, needs=GOLD)


def r_precision(k: int | None) -> Measure:
    """KILT's page-level R-precision: for the best set of R gold pages, the share of it among the first R."""
    no_depth("rprec", k)
    return Measure("rprec", lambda r: _best_share(r, len), needs=GOLD)


def failure(k: int | None) -> Measure:
    """The system failed on this query (it also counts as wrong everywhere else)."""
    no_depth("failure", k)
    return Measure("failure", lambda r: float(r.failed), of="both")
