"""Who is not meant: "Ada Park, not the one in Leeds", in several languages (`denials.toml`)."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from whichone.text.language import base_code

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 8
_PLAIN_WORDS = 3
"""Of a denial without names and numbers the first words count: "not the singer from the village"."""


@dataclass(frozen=True)
class Denial:
    """A stretch of a text, with the words that introduce it, and what it says that the meant one is not."""

    start: int
    end: int
    words: tuple[str, ...]


class Denials:
    """How a language says who is not meant."""

    def __init__(self, raw: Mapping[str, Sequence[str]]) -> None:
        follows = rf"(?=(?i:(?:{_any_of(raw['follows'])})\b)|[^\W\d_a-zà-ÿ]|\d|[\"'])"
        apart = rf"(?i:{_any_of(raw['apart'])})\s+{follows}"
        joins = rf"(?i:(?:{_any_of(raw['joins'])})\s+)"
        relative = rf"(?i:{_any_of(raw['relative'])})\b"
        anywhere = rf"(?i:{_any_of(raw['anywhere'])})\b"
        self._anywhere = re.compile(rf"(?<!\w){anywhere}|[(\[]\s*{apart}")
        self._after = re.compile(
            rf"\s*[,(;:-]*\s*(?:{relative}|{anywhere})"
            rf"|\s*(?:[,(;:-]+\s*{joins}?|{joins}){apart}"
        )
        self._answer = re.compile(rf"\s*(?i:{_any_of(raw['apart'])})\s+")
        self._end = re.compile(
            rf"[,;:?!()\[\]]|\s-\s|\.(?:\s|$)|(?i:\b(?:{_any_of(raw['ends'])})\b)|$"
        )
        self._skip = frozenset(raw["skip"])

    @classmethod
    @functools.cache
    def load(cls, language: str) -> Denials | None:
        """Those of a language; none where there is no table."""
        raw = tomllib.loads(files(__package__).joinpath("denials.toml").read_text("utf-8"))
        own = raw.get(base_code(language))
        return None if own is None else cls(own)

    def find(self, text: str, name_ends: Iterable[int]) -> list[Denial]:
        """Every denial of a text, in its order; `name_ends` are where its names end."""
        starts = [match.span() for match in self._anywhere.finditer(text)]
        after = (self._after.match(text, end) for end in name_ends)
        starts += [match.span() for match in after if match is not None]
        return list(self._apart(text, starts))

    def answered(self, text: str) -> list[Denial]:
        """The same of an answer, which may begin with it: "not Leeds"."""
        match = self._answer.match(text)
        starts = [m.span() for m in self._anywhere.finditer(text)]
        return list(self._apart(text, [*starts, *([match.span()] if match is not None else [])]))

    def _apart(self, text: str, starts: Sequence[tuple[int, int]]) -> Iterator[Denial]:
        reached = 0
        for start, begins in sorted(starts):
            if start < reached:
                continue
            scope = self._end.search(text, begins)
            end = scope.start() if scope is not None else len(text)
            words = [w for w in _WORD.findall(text[begins:end]) if w.casefold() not in self._skip]
            named = [w for w in words[:_MOST_WORDS] if not w[0].islower()]
            said = tuple(named or words[:_PLAIN_WORDS])
            if said:
                reached = end
                yield Denial(start, end, said)


def blanked(text: str, denials: Sequence[Denial]) -> str:
    """The text with blanks where it denies, so that places in it stay."""
    for denial in denials:
        gap = " " * (denial.end - denial.start)
        text = text[: denial.start] + gap + text[denial.end :]
    return text


def _any_of(phrases: Sequence[str]) -> str:
    gap = r"(?:\w+\s+){1,3}"
    written = sorted(phrases, key=len, reverse=True)
    return "|".join(
        re.escape(phrase).replace(r"\.\.\.\ ", gap).replace(r"\ ", r"\s+") for phrase in written
    )
