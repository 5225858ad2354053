"""KILT's own measures: answers that count only where their provenance is right, recall of evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from whichone.measures.answer_measures import (
    Maker,
    Value,
    accuracy_value,
    exact_value,
    f1_value,
    rouge_l_value,
    text_value,
)
from whichone.measures.measure import Answered, Measure, Retrieved, needs_depth, no_depth
from whichone.papers.kilt.record import UNKNOWN_PAGE
from whichone.papers.kilt.scores.ranking import completed_sets

LINKING = "el"


def _gated(name: str, value: Value) -> Maker:
    """KILT's version: points only where the first R pages are the R pages of an evidence set."""

    def gated(answered: Answered) -> float | None:
        points = text_value(answered, value)
        return points if points is None or provenance_found(answered) else 0.0

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, gated, of="answers")

    measure.__doc__ = (
        f"{name.removeprefix('kilt_')}, where the answer's first pages are gold (KILT)."
    )
    return measure


def provenance_found(answered: Answered) -> bool:
    """R-precision 1 for some evidence set: its R pages are the answer's first R pages.

    Evidence whose page has no id in KILT's files does not count, as in the official program.
    """
    given = _pages_given(answered)
    for output in answered.query.outputs:
        for group in output.provenance:
            pages = {source.page for source in group if f":{UNKNOWN_PAGE}" not in source.page}
            if pages and pages == set(given[: len(pages)]):
                return True
    return False


def _pages_given(answered: Answered) -> Sequence[str]:
    """The pages an answer rests on; in entity linking the answer is itself the title of a page."""
    if answered.query.task != LINKING or answered.cited:
        return answered.pages
    titles = {
        title.strip(): source.page
        for output in answered.query.outputs
        for group in output.provenance
        for source in group
        for title in (source.title, output.answer)
        if title
    }
    page = titles.get((answered.text or "").strip())
    return answered.pages if page is None else (page, *answered.pages)


def kilt_recall(k: int | None) -> Measure:
    """KILT's recall@k of a run: the share of the evidence sets that the first k places complete.

    A set takes the place of the last of its pages, so that it is not `recall@k`, the share of gold pages.
    """
    depth = needs_depth("kilt_recall", k)

    def value(retrieved: Retrieved) -> float | None:
        sets = [
            frozenset(source.page for source in group)
            for output in retrieved.query.outputs
            for group in output.provenance
        ]
        evidence = list(dict.fromkeys(sets))
        places = completed_sets(dict.fromkeys(retrieved.pages), evidence)
        return bisect_left(places, depth) / len(evidence) if evidence else None

    return Measure("kilt_recall", value, k)


kilt_accuracy = _gated("kilt_accuracy", accuracy_value)
"""KILT: accuracy, if the answer's first R pages are the R pages of an evidence set."""
kilt_exact_match = _gated("kilt_em", exact_value)
"""KILT: em, if the answer's first R pages are the R pages of an evidence set."""
kilt_f1 = _gated("kilt_f1", f1_value)
"""KILT: f1, if the answer's first R pages are the R pages of an evidence set."""
kilt_rouge_l = _gated("kilt_rouge_l", rouge_l_value)
"""KILT: rouge_l, if the answer's first R pages are the R pages of an evidence set."""
