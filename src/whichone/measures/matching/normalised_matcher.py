"""DPR's matcher for KILT: a substring once both sides are normalised as SQuAD does."""

from __future__ import annotations

import re
import string

import msgspec

from whichone.measures.matching.matcher import Passage
from whichone.text.normalisers import normalize

_RUN = re.compile(r"[a-z0-9]+")
_PUNCTUATION = string.punctuation.encode()
_NOT_BYTEWISE = ("\u0130", "\u212a")
"""Beyond ASCII, but with an ASCII letter in their lower case."""
_PARTS_OF_ARTICLES = frozenset({"t", "h", "e", "th", "he", "n"})


class DprKilt(msgspec.Struct, frozen=True):
    name: str = "dpr-kilt"
    about: str = "a substring of the text, both SQuAD-normalised"

    def prepare(self, answers: list[str]) -> NormalisedAnswers:
        return NormalisedAnswers([_sought(normalize(answer)) for answer in answers])

    def matches_everything(self, answer: str) -> bool:
        return not normalize(answer)


class Sought(msgspec.Struct, frozen=True):
    """A normalised answer; `run` must appear in a passage that contains it, `proof` shows that it does."""

    answer: str
    run: bytes
    proof: bytes | None


def _sought(answer: str) -> Sought:
    run = max(_RUN.findall(answer), key=len, default="")
    words = answer.split()
    # Where the answer begins or ends like an article, it may be one that is removed from the text.
    safe = bool(words) and answer.isascii() and _PARTS_OF_ARTICLES.isdisjoint(words)
    return Sought(answer, run.encode(), answer.encode() if safe else None)


class NormalisedAnswers(msgspec.Struct, frozen=True):
    answers: list[Sought]

    def found_in(self, passage: Passage) -> bool:
        text = passage.text
        if any(character in text for character in _NOT_BYTEWISE):
            return self._found(text, self.answers)
        # Normalising is slow, so most passages are recognised by their bytes: lower case, no punctuation.
        bare = text.encode("utf-8", "surrogatepass").lower().translate(None, _PUNCTUATION)
        possible = [sought for sought in self.answers if sought.run in bare]
        if any(sought.proof is not None and sought.proof in bare for sought in possible):
            return True
        return bool(possible) and self._found(text, possible)

    def _found(self, text: str, answers: list[Sought]) -> bool:
        normalised = normalize(text)
        return any(sought.answer in normalised for sought in answers)
