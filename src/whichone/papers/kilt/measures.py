"""KILT's gated measures: points for an answer only where its provenance is right."""

from __future__ import annotations

from whichone.measures.answers import (
    Maker,
    Value,
    accuracy_value,
    exact_value,
    f1_value,
    rouge_l_value,
    text_value,
)
from whichone.measures.measure import Answered, Measure, no_depth
from whichone.papers.kilt.record import UNKNOWN_PAGE


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
    for output in answered.query.outputs:
        for group in output.provenance:
            pages = {source.page for source in group if f":{UNKNOWN_PAGE}" not in source.page}
            if pages and pages == set(answered.pages[: len(pages)]):
                return True
    return False


kilt_accuracy = _gated("kilt_accuracy", accuracy_value)
"""KILT: accuracy, if the answer's first R pages are the R pages of an evidence set."""
kilt_exact_match = _gated("kilt_em", exact_value)
"""KILT: em, if the answer's first R pages are the R pages of an evidence set."""
kilt_f1 = _gated("kilt_f1", f1_value)
"""KILT: f1, if the answer's first R pages are the R pages of an evidence set."""
kilt_rouge_l = _gated("kilt_rouge_l", rouge_l_value)
"""KILT: rouge_l, if the answer's first R pages are the R pages of an evidence set."""
