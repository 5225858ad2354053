"""When PopQA calls an output correct."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.measures.answer_measures import of_text


def correct(answers: Sequence[str], prediction: str) -> bool:
    """An answer verbatim, in lower case, or with only its first letter capital is a substring.

    The prediction keeps its case: "POLITICIAN" does not hold "politician".
    """
    return any(
        form in prediction
        for answer in answers
        for form in (answer, answer.lower(), answer.capitalize())
    )


def first_line(prediction: str) -> str:
    """The first line with anything on it, which is what PopQA's own program scores."""
    return next((line for line in prediction.splitlines() if line.strip()), "")


def _value(text: str, golds: set[str]) -> float:
    return float(correct(sorted(golds), first_line(text)))


popqa = of_text("popqa", _value)
"""An accepted answer appears in the first line (PopQA)."""
