"""Does a retrieved passage hold the answer? The published matchers, by name."""

from __future__ import annotations

from whichone.errors import UsageError, did_you_mean
from whichone.measures.matching.character_matchers import (
    DprRegex,
    StoredFlag,
    Substring,
    TitlePrefix,
)
from whichone.measures.matching.matcher import Matcher, Passage, PreparedAnswers
from whichone.measures.matching.normalised_matcher import DprKilt
from whichone.measures.matching.token_matchers import TokenMatcher

__all__ = ["MATCHERS", "Matcher", "Passage", "PreparedAnswers", "find_matcher"]

_ALL: tuple[Matcher, ...] = (
    TokenMatcher("dpr", "tokens of the answer in the text, both decomposed (NFD)", True),
    TokenMatcher("dpr-title", "as dpr, over title, ' . ' and text", True, " . "),
    TokenMatcher("entityquestions", "tokens of the answer in the text, only the answer NFD", False),
    TokenMatcher("string-title", "as entityquestions, over title, a blank and text", False, " "),
    DprRegex(),
    DprKilt(),
    TitlePrefix(),
    Substring(),
    StoredFlag(),
)

MATCHERS: dict[str, Matcher] = {matcher.name: matcher for matcher in _ALL}


def find_matcher(name: str) -> Matcher:
    if name not in MATCHERS:
        raise UsageError(f"there is no matcher called {name!r}", hint=did_you_mean(name, MATCHERS))
    return MATCHERS[name]
