"""What each measure of a leaderboard means, in a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from whichone import registry
from whichone.errors import WhichoneError
from whichone.measures.measure import OFFICIAL

_PLAIN = {
    "acc": "the right page is among the first {k}",
    "all_correct": "every query about a name has the right page among the first {k}",
    "confused": "a namesake's page among the first {k} comes before the right one (lower is better)",
    "rprec": "the share of right pages among as many results as there are right pages",
    "em": "the answer is exactly an accepted one",
    "f1": "the words that the answer shares with an accepted one",
    "accuracy": "the answer is the right one of the possible ones",
    "rouge_l": "the longest run of words in common with an accepted answer",
}


def definitions(measures: Iterable[str]) -> dict[str, str]:
    """A sentence for each measure; of those without one here, what their function says of itself."""
    return {name: _definition(name) for name in measures}


def _definition(name: str) -> str:
    start, _, depth = name.partition("@")
    if start in _PLAIN:
        return _PLAIN[start].format(k=depth or "1")
    try:
        described = inspect.getdoc(registry.find("measures", OFFICIAL.get(start, start)))
    except WhichoneError:
        return ""
    return (described or "").split("\n")[0].rstrip(".")
