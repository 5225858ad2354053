"""Measures of one ranking against one query's gold pages and its namesakes' pages."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, Literal

from whichone.benchmarks.exports import page_grades
from whichone.errors import missing_extra
from whichone.measures.matchers import Passage, PreparedAnswers, find_matcher
from whichone.measures.measure import Direction, Measure, Retrieved, needs_depth, no_depth
from whichone.records import Query, page_of

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
    value = _any_gold(needs_depth("acc", k))
    label = f"the right page is among the first {k}"
    return Measure("acc", value, k, label, needs=GOLD)


def all_correct(k: int | None) -> Measure:
    """AmbER's all-correct: every query of the name set has a gold page among the first k."""
    depth = needs_depth("all_correct", k)
    label = f"every query about a name has the right page among the first {k}"
    return Measure("all_correct", _any_gold(depth), k, label, aggregate="all", needs=GOLD)


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

    label = f"a namesake's page{f' among the first {k}' if k else ''} comes before the right one"
    needs = "a gold page and a name that others share"
    return Measure("confused", value, k, label, "lower", needs=needs)


def namesake_hit(k: int | None) -> Measure:
    """A page of another bearer is among the first k pages."""
    depth = needs_depth("namesake_hit", k)

    def value(r: Retrieved) -> float | None:
        return float(not r.others.isdisjoint(r.pages[:depth])) if r.others else None

    needs = "a page of another bearer of the name"
    return Measure("namesake_hit", value, k, direction="lower", needs=needs)


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
    """One over the rank of the first gold page, 0 without one; with a depth among the first k."""

    def value(r: Retrieved) -> float | None:
        if not r.gold:
            return None
        rank = first_rank(r.pages if k is None else r.pages[:k], r.gold)
        return 1 / rank if rank else 0.0

    return Measure("rr", value, k, needs=GOLD)


def r_precision(k: int | None) -> Measure:
    """KILT's page-level R-precision: for the best set of R gold pages, the share of it among the first R."""
    no_depth("rprec", k)
    label = "the share of right pages among as many results as there are right pages"
    return Measure("rprec", lambda r: _best_share(r, len), label=label, needs=GOLD)


def failure(k: int | None) -> Measure:
    """The system failed on this query (it also counts as wrong everywhere else)."""
    no_depth("failure", k)
    return Measure("failure", lambda r: float(r.failed), direction="lower", of="both")


# Is the answer in a retrieved passage, and is that passage about the right one?
# Answer-in-passage counts a namesake's page as a hit when it happens to hold the answer. These measures
# look at the first k passages (not pages) and tell such luck from success.


REGULAR_EXPRESSIONS = "regular expressions"


@lru_cache(maxsize=4096)
def _prepared(answers: tuple[str, ...], matcher: str) -> PreparedAnswers:
    """The answers that have something to look for: one without tokens would be in every passage."""
    chosen = find_matcher(matcher)
    return chosen.prepare([answer for answer in answers if not chosen.matches_everything(answer)])


def has_answer(query: Query, title: str, text: str) -> bool:
    """DPR's rule: the answer's tokens in the text, or its regular expression where it is one."""
    regular = query.attributes.get("answers_are") == REGULAR_EXPRESSIONS
    prepared = _prepared(query.answers(), "dpr-regex" if regular else "dpr")
    return prepared.found_in(Passage(title, text))


def _hits(retrieved: Retrieved, k: int) -> Iterator[str]:
    """Pages of those among the first k passages that contain an answer."""
    assert retrieved.passage is not None
    for identity in retrieved.passages[:k]:
        passage = retrieved.passage(identity)
        if has_answer(retrieved.query, passage.title, passage.text):
            yield page_of(identity)


def _measure(
    name: str,
    k: int | None,
    value: Callable[[Retrieved, int], float | None],
    direction: Direction = "higher",
) -> Measure:
    depth = needs_depth(name, k)

    def of(retrieved: Retrieved) -> float | None:
        return value(retrieved, depth) if retrieved.query.answers() else None

    return Measure(name, of, k, direction=direction, needs_text=True)


def answer_in_top(k: int | None) -> Measure:
    """One of the first k passages contains an answer (EntityQuestions' and DPR's top-k accuracy)."""
    return _measure("answer_in_top", k, lambda r, depth: float(any(True for _ in _hits(r, depth))))


def substring_in_top(k: int | None) -> Measure:
    """One of the first k passages contains an answer verbatim (the paper's comparison with REALM)."""

    def value(r: Retrieved, depth: int) -> float:
        assert r.passage is not None
        prepared = _prepared(r.query.answers(), "substring")
        shown = (r.passage(identity) for identity in r.passages[:depth])
        return float(any(prepared.found_in(Passage(p.title, p.text)) for p in shown))

    return _measure("substring_in_top", k, value)


def right_page(k: int | None) -> Measure:
    """One of the first k passages contains an answer and is of a gold page."""

    def value(r: Retrieved, depth: int) -> float | None:
        return float(any(page in r.gold for page in _hits(r, depth))) if r.gold else None

    return _measure("right_page", k, value)


def namesake_answer(k: int | None) -> Measure:
    """One of the first k passages contains an answer and is of another bearer's page."""

    def value(r: Retrieved, depth: int) -> float | None:
        return float(any(page in r.others for page in _hits(r, depth))) if r.others else None

    return _measure("namesake_answer", k, value, "lower")


def lucky_hit(k: int | None) -> Measure:
    """Of the queries with an answer in the first k passages: none of those passages is of a gold page."""

    def value(r: Retrieved, depth: int) -> float | None:
        hits = set(_hits(r, depth))
        return float(hits.isdisjoint(r.gold)) if hits and r.gold else None

    return _measure("lucky_hit", k, value, "lower")


# The classic measures of TREC through ir_measures: nDCG, MAP, P, R, RR, bpref and judged, equal to trec_eval's.
# They count every gold page, whatever the gold rule, with its grade where the judgements are graded; pages that were
# judged not relevant matter to bpref and judged. Pages are ranked as everywhere, each at its best passage.


def ndcg(k: int | None) -> Measure:
    """nDCG of the first k pages, or of all: gains are grades, as trec_eval's ndcg_cut and ndcg."""
    return _classic("nDCG", k, "nDCG")


def average_precision(k: int | None) -> Measure:
    """Average precision, whose mean is MAP; trec_eval's map, with a depth map_cut."""
    return _classic("MAP", k, "AP")


def classic_precision(k: int | None) -> Measure:
    """The share of relevant pages among the first k places; trec_eval's P."""
    return _classic("P", needs_depth("P", k), "P")


def classic_recall(k: int | None) -> Measure:
    """The share of all relevant pages among the first k; trec_eval's recall."""
    return _classic("R", needs_depth("R", k), "R")


def classic_reciprocal_rank(k: int | None) -> Measure:
    """One over the rank of the first relevant page; trec_eval's recip_rank."""
    return _classic("RR", k, "RR")


def bpref(k: int | None) -> Measure:
    """How seldom pages judged not relevant are ranked above relevant ones; trec_eval's bpref."""
    no_depth("bpref", k)
    return _classic("bpref", None, "Bpref")


def judged(k: int | None) -> Measure:
    """The share of the first k pages that were judged at all."""
    return _classic("judged", needs_depth("judged", k), "Judged", "neither")


def _classic(name: str, k: int | None, theirs: str, direction: Direction = "higher") -> Measure:
    def batch(several: Sequence[Retrieved]) -> list[float | None]:
        return _calculated(theirs, k, several)

    return Measure(name, lambda r: batch([r])[0], k, direction=direction, needs=GOLD, batch=batch)


def _calculated(name: str, k: int | None, several: Sequence[Retrieved]) -> list[float | None]:
    measure, provider = _provider(name, k)
    asked = {str(n): r for n, r in enumerate(several) if r.gold}
    judgements = {n: page_grades(r.query) for n, r in asked.items()}
    # scores fall with the rank, so that nothing is left to the order of ties; trec_eval's recip_rank has no depth
    rankings = {
        n: {page: float(len(r.pages) - rank) for rank, page in enumerate(r.pages[:k])}
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
