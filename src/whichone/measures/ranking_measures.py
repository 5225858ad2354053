"""Measures of one ranking against one query's gold pages and its namesakes' pages."""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, Literal

from whichone.benchmarks.exports import page_grades
from whichone.errors import missing_extra, needs
from whichone.measures.matchers import MatchedText, PreparedAnswers, find_matcher
from whichone.measures.measure import (
    Answered,
    Depth,
    Direction,
    Maker,
    Measure,
    Retrieved,
    as_measure,
    check_depth,
)
from whichone.records import Query, page_of

GOLD = "a gold page"


def first_rank(pages: Iterable[str], wanted: frozenset[str]) -> int | None:
    """The rank, from 1, of the first wanted page; None when there is none."""
    return next((rank for rank, page in enumerate(pages, 1) if page in wanted), None)


PageKind = Literal["gold", "namesake", "other"]


def kind_of_page(page: Hashable, gold: Container[Hashable], others: Container[Hashable]) -> PageKind:
    """What a retrieved page is to a query: gold, a page of another bearer of the name, or neither."""
    if page in gold:
        return "gold"
    return "namesake" if page in others else "other"


def is_right(pages: Iterable[Hashable], gold: Set[Any]) -> bool:
    """A gold page is among the pages; without a gold page never."""
    return not gold.isdisjoint(pages)


def is_confused(pages: Iterable[Hashable], gold: Container[Hashable], others: Container[Hashable]) -> bool:
    """A page of another bearer comes before the first gold page, which may be missing."""
    kinds = (kind_of_page(page, gold, others) for page in pages)
    return next((kind for kind in kinds if kind != "other"), "gold") == "namesake"


@as_measure("acc", depth="needed", needs=GOLD)
def accuracy(r: Retrieved, k: int) -> float | None:
    """The right page is among the first k; right is a gold page, of which there may be several."""
    return float(is_right(r.pages[:k], r.gold)) if r.gold else None


@as_measure("all_correct", depth="needed", aggregate="all", needs=GOLD)
def all_correct(r: Retrieved, k: int) -> float | None:
    """Every query about a name has the right page among the first k; AmbER's all-correct."""
    return float(is_right(r.pages[:k], r.gold)) if r.gold else None


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
    return Measure("confused", value, k, label, "lower", needs="a gold page and a name that others share")


@as_measure(depth="needed", direction="lower", needs="a page of another bearer of the name")
def namesake_hit(r: Retrieved, k: int) -> float | None:
    """A page of another bearer is among the first k pages."""
    return float(not r.others.isdisjoint(r.pages[:k])) if r.others else None


@as_measure(depth="needed", needs=GOLD)
def recall(r: Retrieved, k: int) -> float | None:
    """For the best set of gold pages, the share of it among the first k pages.

    Where all gold pages are needed they are one set, and this is the recall of trec_eval; where any of them is
    enough each is a set of its own.
    """
    return _best_share(r, lambda pages: k)


def _best_share(r: Retrieved, depth: Callable[[frozenset[str]], int]) -> float | None:
    groups = [frozenset(e.page for e in g) for o in r.query.outputs for g in o.provenance if g]
    if not groups:
        return None
    return max(len(pages.intersection(r.pages[: depth(pages)])) / len(pages) for pages in groups)


@as_measure(depth="needed", needs=GOLD)
def precision(r: Retrieved, k: int) -> float | None:
    """The share of gold among the first k places, filled or not."""
    return len(r.gold.intersection(r.pages[:k])) / k if r.gold else None


@as_measure("rr", depth="optional", needs=GOLD)
def reciprocal_rank(r: Retrieved, k: int | None) -> float | None:
    """One over the rank of the first gold page, 0 without one; with a depth among the first k."""
    if not r.gold:
        return None
    rank = first_rank(r.pages if k is None else r.pages[:k], r.gold)
    return 1 / rank if rank else 0.0


@as_measure("rprec", needs=GOLD)
def r_precision(r: Retrieved) -> float | None:
    """The share of right pages among as many results as there are right pages.

    KILT's page-level R-precision: for the best set of R gold pages, the share of it among the first R.
    """
    return _best_share(r, len)


@as_measure(direction="lower", of="both")
def failure(one: Retrieved | Answered) -> float:
    """The system failed on this query (it also counts as wrong everywhere else)."""
    return float(one.failed)


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
    return _prepared(query.answers(), "dpr-regex" if regular else "dpr").found_in(MatchedText(title, text))


def _hits(retrieved: Retrieved, k: int) -> Iterator[str]:
    """Pages of those among the first k passages that contain an answer."""
    assert retrieved.passage is not None
    for identity in retrieved.passages[:k]:
        passage = retrieved.passage(identity)
        if has_answer(retrieved.query, passage.title, passage.text):
            yield page_of(identity)


@as_measure(depth="needed", needs_text=True)
def answer_in_top(r: Retrieved, k: int) -> float | None:
    """One of the first k passages contains an answer (EntityQuestions' and DPR's top-k accuracy)."""
    return float(any(True for _ in _hits(r, k))) if r.query.answers() else None


@as_measure(depth="needed", needs_text=True)
def substring_in_top(r: Retrieved, k: int) -> float | None:
    """One of the first k passages contains an answer verbatim (the paper's comparison with REALM)."""
    if not r.query.answers():
        return None
    assert r.passage is not None
    prepared = _prepared(r.query.answers(), "substring")
    return float(any(prepared.found_in(MatchedText(p.title, p.text)) for p in map(r.passage, r.passages[:k])))


@as_measure(depth="needed", needs_text=True)
def right_page(r: Retrieved, k: int) -> float | None:
    """One of the first k passages contains an answer and is of a gold page."""
    return float(is_right(_hits(r, k), r.gold)) if r.gold and r.query.answers() else None


@as_measure(depth="needed", needs_text=True, direction="lower")
def namesake_answer(r: Retrieved, k: int) -> float | None:
    """One of the first k passages contains an answer and is of another bearer's page."""
    return float(is_right(_hits(r, k), r.others)) if r.others and r.query.answers() else None


@as_measure(depth="needed", needs_text=True, direction="lower")
def lucky_hit(r: Retrieved, k: int) -> float | None:
    """Of the queries with an answer in the first k passages: none of those passages is of a gold page."""
    hits = set(_hits(r, k)) if r.gold and r.query.answers() else ()
    return float(r.gold.isdisjoint(hits)) if hits else None


# The classic measures of TREC through ir_measures: nDCG, MAP, P, R, RR, bpref and judged, equal to trec_eval's.
# They count every gold page, whatever the gold rule, with its grade where the judgements are graded; pages that were
# judged not relevant matter to bpref and judged. Pages are ranked as everywhere, each at its best passage.


def _classic(
    name: str, theirs: str, about: str, depth: Depth = "optional", direction: Direction = "higher"
) -> Maker:
    def make(k: int | None) -> Measure:
        def batch(several: Sequence[Retrieved]) -> list[float | None]:
            return _calculated(theirs, k, several)

        check_depth(name, k, depth)
        return Measure(name, lambda r: batch([r])[0], k, direction=direction, needs=GOLD, batch=batch)

    make.__doc__ = about
    return make


ndcg = _classic("nDCG", "nDCG", "nDCG of the first k pages, or of all: gains are grades.")
average_precision = _classic("MAP", "AP", "Average precision, whose mean is MAP.")
classic_precision = _classic("P", "P", "The share of relevant pages among the first k places.", "needed")
classic_recall = _classic("R", "R", "The share of all relevant pages among the first k.", "needed")
classic_reciprocal_rank = _classic("RR", "RR", "One over the rank of the first relevant page.")
bpref = _classic(
    "bpref", "Bpref", "How seldom pages judged not relevant are ranked above relevant ones.", "none"
)
judged = _classic(
    "judged", "Judged", "The share of the first k pages that were judged at all.", "needed", "neither"
)


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
        figures |= {m.query_id: m.value for m in provider.iter_calc([measure], judgements, rankings)}
    return [figures.get(str(n)) for n in range(len(several))]


def _provider(name: str, k: int | None) -> tuple[Any, Any]:
    with needs("ir_measures", "measures"):
        import ir_measures
    measure = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
    provider = ir_measures.judged if name == "Judged" else ir_measures.pytrec_eval
    if not provider.is_available():
        raise missing_extra("pytrec_eval", "measures")
    return measure, provider
