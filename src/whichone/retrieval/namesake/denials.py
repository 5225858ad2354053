"""Who is not meant: "Ada Park, not the one in Leeds", by the structure of the sentence, in several languages.

The words are those of `denials.toml`. A denial says what the meant one is not. A negator whose scope is not understood denies
nothing, but what it covers is no evidence either: nobody is preferred for what a question may deny.
"""

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
# Of a denial without names and numbers the first words count: "not the singer from the village".
_PLAIN_WORDS = 3
_SENTENCE = re.compile(r"[^.?!]*(?:[.?!](?!\s|$)[^.?!]*)*[.?!]?")
_NEAR = r"(?:\W+[\w'’]+){0,3}?\W+"  # Up to three words between two that belong together


@dataclass(frozen=True)
class Denial:
    """A stretch of a text, with the words that introduce it, and what it says that the meant one is not."""

    start: int
    end: int
    words: tuple[str, ...]
    """Nothing where it is not understood what is denied."""


class Denials:
    """How a language says who is not meant."""

    def __init__(self, raw: Mapping[str, Sequence[str]]) -> None:
        def words(name: str) -> str:
            return rf"(?<!\w)(?i:{_any_of(raw[name])})(?!\w)"

        follows = rf"(?=(?i:(?:{_any_of(raw['follows'])})\b)|[^\W\d_a-zà-ÿ]|\d|[\"'])"
        apart = rf"(?i:{_any_of(raw['apart'])})\s+{follows}"
        joins = rf"(?i:(?:{_any_of(raw['joins'])})\s+)"
        negator = rf"(?<!\w)(?i:{'|'.join(raw['negators'])})(?!\w)"
        means, anywhere = words("means"), words("anywhere")
        speaker = rf"{words('speakers')}{_NEAR}" if raw["speakers"] else ""
        self._negator = re.compile(negator)
        self._anywhere = re.compile(
            rf"{anywhere}|[(\[]\s*{apart}"
            rf"|{speaker}(?:{negator}{_NEAR}{means}|{means}(?:\W+[\w'’]+)?\W+{negator})"
            rf"|{negator}\W+(?:\w+\W+)?{means}(?=\W+{words('speakers') if raw['speakers'] else _WORD.pattern})"
            rf"|(?:^|[.,;:(!?–-]\s*|{joins}){words('excludes')}"
        )
        self._after = re.compile(
            rf"\s*[,(;:–-]*\s*(?:{words('relatives')}{_NEAR}{negator}|{joins}?{words('exceptions')}|{anywhere})"
            rf"|\s*(?:[,(;:–-]+\s*{joins}?|{joins}){apart}"
        )
        self._statement = re.compile(rf"(?:\W+[\w'’]+){{0,2}}?\W+{negator}")
        self._pronoun = re.compile(rf"\s*{words('pronouns')}")
        self._answer = re.compile(rf"\s*(?:{negator}|{words('exceptions')}|{words('excludes')})\s*")
        self._end = re.compile(rf"[,;:?!()\[\]]|\s[-–]\s|\.(?:\s|$)|(?i:\b(?:{_any_of(raw['ends'])})\b)|$")
        self._skip = frozenset(raw["skip"]) | frozenset(raw["means"])
        self.common = frozenset([*raw["common"], *raw["negators"], *raw["relatives"], *raw["follows"]])

    @classmethod
    @functools.cache
    def load(cls, language: str) -> Denials | None:
        """Those of a language; none where there is no table."""
        return _tables().get(base_code(language))

    @classmethod
    def of_text(cls, text: str, language: str) -> Denials:
        """Those of the language that most words of a text are of; in doubt of its index's, else of English."""
        words = [word.casefold() for word in _WORD.findall(text)]
        own = base_code(language)
        tables = _tables()

        def likely(code: str) -> tuple[int, bool, bool]:
            return sum(w in tables[code].common for w in words), code == own, code == "en"

        return tables[max(tables, key=likely)]

    def find(self, text: str, name_ends: Iterable[int]) -> list[Denial]:
        """Every denial of a text, in its order; `name_ends` are where its names end."""
        ends = list(name_ends)
        starts = [match.span() for match in self._anywhere.finditer(text)]
        starts += [m.span() for end in ends if (m := self._after.match(text, end)) is not None]
        starts += self._statements(text, ends)
        denials = list(self._apart(text, starts))
        return sorted([*denials, *self._unclear(text, denials)], key=lambda denial: denial.start)

    def answered(self, text: str) -> list[Denial]:
        """The same of an answer, which may begin with it: "not Leeds"."""
        match = self._answer.match(text)
        starts = [m.span() for m in self._anywhere.finditer(text)]
        return list(self._apart(text, [*starts, *([match.span()] if match is not None else [])]))

    def _statements(self, text: str, name_ends: Sequence[int]) -> Iterator[tuple[int, int]]:
        """ "Ada Park is not in Leeds. What is her badge?": a sentence beside the one that asks."""
        sentences = [match for match in _SENTENCE.finditer(text) if match.group().strip()]
        if len(sentences) < 2:
            return
        for sentence in sentences:
            if sentence.group().rstrip().endswith("?"):
                continue
            pronoun = self._pronoun.match(text, sentence.start())
            own = [end for end in name_ends if sentence.start() < end <= sentence.end()]
            for start in [*own, *([pronoun.end()] if pronoun is not None else [])]:
                match = self._statement.match(text, start, sentence.end())
                if match is not None:
                    yield match.span()

    def _unclear(self, text: str, denials: Sequence[Denial]) -> Iterator[Denial]:
        """Negators that are part of no denial, with what they cover."""
        for match in self._negator.finditer(text):
            if any(d.start <= match.start() < d.end for d in denials):
                continue
            scope = self._end.search(text, match.end())
            yield Denial(match.start(), scope.start() if scope is not None else len(text), ())

    def _apart(self, text: str, starts: Sequence[tuple[int, int]]) -> Iterator[Denial]:
        reached = 0
        for start, begins in sorted(starts):
            if start < reached:
                continue
            scope = self._end.search(text, begins)
            end = scope.start() if scope is not None else len(text)
            words = [w for w in _WORD.findall(text[begins:end]) if not self._is_skipped(w)]
            named = [w for w in words[:_MOST_WORDS] if not w[0].islower()]
            said = tuple(named or words[:_PLAIN_WORDS])
            if said:
                reached = end
                yield Denial(start, end, said)

    def _is_skipped(self, word: str) -> bool:
        code = len(word) > 1 and word.isupper()  # "IN" is Indiana
        return word.casefold() in self._skip and not code


@functools.cache
def _tables() -> Mapping[str, Denials]:
    raw = tomllib.loads(files(__package__).joinpath("denials.toml").read_text("utf-8"))
    return {code: Denials(own) for code, own in raw.items()}


def blanked(text: str, denials: Sequence[Denial]) -> str:
    """The text with blanks where it denies, so that places in it stay."""
    for denial in denials:
        gap = " " * (denial.end - denial.start)
        text = text[: denial.start] + gap + text[denial.end :]
    return text


def _any_of(phrases: Sequence[str]) -> str:
    gap = r"(?:\w+\s+){1,3}"
    written = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\.\.\.\ ", gap).replace(r"\ ", r"\s+") for phrase in written)
