"""Who is not meant: "Ada Park, not the one in Leeds", by the structure of the sentence, in several languages.

The words are those of `denials.toml`. A denial says what the meant one is not. A negator whose scope is not understood denies
nothing, but what it covers is no evidence either: nobody is preferred for what a question may deny.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from whichone.retrieval.bm25.analysis import stemmer
from whichone.text.language import base_code, stemmer_of

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 8
# Of a denial without names and numbers the first words count: "not the singer from the village".
_PLAIN_WORDS = 3
_SENTENCE = re.compile(r"[^.?!]*(?:[.?!](?!\s|$)[^.?!]*)*[.?!]?")
_APART = re.compile(r"[,;:()\[\]]|\s[-–—]\s")
_FRAGMENT = 4
Span = tuple[int, int]
Clue = Callable[[str], bool | None]
_NEAR = r"(?:\W+[\w'’]+){0,3}?\W+"  # Up to three words between two that belong together


@dataclass(frozen=True)
class Denial:
    """A stretch of a text, with the words that introduce it, and what it says that the meant one is not."""

    start: int
    end: int
    words: tuple[str, ...]  # Nothing where it is not understood what is denied


class NameInText(Protocol):
    """A name at its place in a text."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class Denials:
    """How a language says who is not meant."""

    def __init__(self, language: str, raw: Mapping[str, Sequence[str]]) -> None:
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
            rf"|(?:^|[.,;:(!?–-]\s*|{joins})(?:{words('please')}\W+)?{words('excludes')}"
            rf"|(?:^|[.:;!?–]\s*){apart}"
            rf"|{words('anybody')}\W+(?:\w+\W+)?(?:{words('exceptions')}|{words('but')})"
        )
        rejects = _any_of([*raw["exceptions"], *raw["excludes"], *raw["aside"]])
        self._rejects = re.compile(rf"(?<!\w)(?i:{rejects})(?:\W+\w+){{0,3}}\W*$")
        self._aside, self._wrong, self._passive = (
            frozenset(raw[name]) for name in ("aside", "wrong", "passive")
        )
        corrects = "|".join(raw["corrects"]).replace(" ", r"\W+")
        self._corrects = re.compile(rf"(?<!\w)(?i:{corrects})(?!\w)")
        # "No.", "That is not her."
        self._only = re.compile(
            rf"\W*(?:(?:{negator}\W*)+|{words('refers')}(?=[^?]*{negator})(?:\W+[\w'’]+){{0,{_MOST_WORDS}}}[^?\w]*)$"
        )
        self._begins = re.compile(
            rf"\W*(?:{words('please')}\W+)?(?:{words('speakers') if raw['speakers'] else '(?!)'}\W+)?([\w'’]+)"
        )
        self._conjunction = re.compile(words("conjunctions"))
        self._after = re.compile(
            rf"\s*[,(;:–-]*\s*(?:{words('relatives')}{_NEAR}{negator}|{joins}?{words('exceptions')}|{anywhere})"
            rf"|\s*(?:[,(;:–-]+\s*{joins}?|{joins}){apart}"
        )
        apposed = rf"(?!{words('prepositions')})"  # "Ada Park of Leeds is not it" says nothing of her
        self._statement = re.compile(rf"(?:\W+{apposed}[\w'’]+){{0,2}}?\W+({negator})")
        self._pronoun = re.compile(rf"\s*{words('pronouns')}")
        self._answer = re.compile(rf"\s*(?:{negator}|{words('exceptions')}|{words('excludes')})\s*")
        self._end = re.compile(rf"[,;:?!()\[\]]|\s[-–]\s|\.(?:\s|$)|(?i:\b(?:{_any_of(raw['ends'])})\b)|$")
        self._that, self._it = frozenset(raw["that"]), frozenset(raw["it"])
        self._skip = frozenset(raw["skip"]) | frozenset(raw["means"])
        self._stem = stemmer(stemmer_of(language))
        self._neutral = frozenset(self._stem(word) for word in (*raw["neutral"], *raw["skip"], *raw["means"]))
        denies = (*raw["denies"], *raw["negators"], *raw["apart"], *raw["exceptions"], *raw["excludes"])
        listed = {
            "denies": denies,
            "relative": raw["relatives"],
            "preposition": raw["prepositions"],
            "article": raw["articles"],
            "whose": raw["whose"],
        }
        self._kinds = {word: kind for kind, words_of in listed.items() for word in words_of}
        tell = (
            "common",
            "negators",
            "relatives",
            "follows",
            "means",
            "excludes",
            "exceptions",
            "apart",
            "articles",
        )
        self.common = frozenset(word for name in tell for phrase in raw[name] for word in phrase.split())

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

    def find(self, text: str, name_ends: Sequence[int], names: Sequence[Span] = ()) -> list[Denial]:
        """Every denial of a text, in its order; `name_ends` are where its names end.

        `names` are where the name of the one who is meant stands, which no denial denies: "I do not mean the Ada Park in Leeds".
        """
        starts = [match.span() for match in self._anywhere.finditer(text)]
        starts += [m.span() for end in name_ends if (m := self._after.match(text, end)) is not None]
        starts += self._statements(text, name_ends)
        denials = list(self._apart(text, starts, names))
        return sorted([*denials, *self._unclear(text, denials)], key=lambda denial: denial.start)

    def answered(self, text: str) -> list[Denial]:
        """The same of an answer, which may begin with it: "not Leeds"."""
        match = self._answer.match(text)
        starts = [m.span() for m in self._anywhere.finditer(text)]
        return list(self._apart(text, [*starts, *([match.span()] if match is not None else [])], ()))

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
                if (match := self._statement.match(text, start, sentence.end())) is not None:
                    yield match.span(1)

    def _unclear(self, text: str, denials: Sequence[Denial]) -> Iterator[Denial]:
        """Negators that are part of no denial, with what they cover."""
        for match in self._negator.finditer(text):
            if any(d.start <= match.start() < d.end for d in denials):
                continue
            scope = self._end.search(text, match.end())
            yield Denial(match.start(), scope.start() if scope is not None else len(text), ())

    def _apart(self, text: str, starts: Sequence[Span], names: Sequence[Span]) -> Iterator[Denial]:
        reached = 0
        for start, begins in sorted(starts):
            if start < reached:
                continue
            scope, words = begins, list[str]()
            for _ in range(
                2
            ):  # a clause that has but the name goes on: "not Ada Park, the one in Leeds, but ..."
                found = self._end.search(text, scope + (scope > begins))
                scope = found.start() if found is not None else len(text)
                words = [text[slice(*place)] for place in self._words(text, begins, scope, names)]
                if words or not any(begins <= at < scope for at, _ in names):
                    break
            named = [w for w in words[:_MOST_WORDS] if not w[0].islower()]
            if said := tuple(named or words[:_PLAIN_WORDS]):
                reached = scope
                over = found.end() if found is not None and found.group()[:1].isalpha() else scope
                yield Denial(start, over, said)  # "but" after it denies nothing

    def _words(self, text: str, start: int, end: int, names: Sequence[Span]) -> Iterator[Span]:
        """The words of a stretch that say something, the names aside."""
        for match in _WORD.finditer(text, start, end):
            word = match.group()
            code = len(word) > 1 and word.isupper()  # "IN" is Indiana
            inside = any(at <= match.start() < to for at, to in names)
            if not inside and (code or word.casefold() not in self._skip):
                yield match.span()

    def strange(self, text: str, name: Span, clue: Clue) -> str:
        """What is said of the one who is meant and is not understood: "minus", "hardly", "left", "the elder".

        What such a word covers may be denied by it: "who left Oslo", "hardly the one in Oslo". `clue` says of a word whether some
        bearers have it (True), all have it or it asks (False), or none (None).
        """
        if (corrects := self._corrects.search(text)) and any(map(clue, _WORD.findall(text))):
            return corrects.group()  # "Ada Park of Leeds was the wrong one"
        for sentence in _SENTENCE.finditer(text):
            if sentence.start() > name[1] and self._only.match(sentence.group()):
                return sentence.group().strip()  # "Leeds? No.", "Leeds? That is not her."
            own = sentence.start() <= name[0] < sentence.end()
            starts = [
                sentence.start(),
                *(m.end() for m in _APART.finditer(text, sentence.start(), sentence.end())),
            ]
            spans = [*zip(starts, [*starts[1:], sentence.end()], strict=True)]
            if not own and len(_WORD.findall(sentence.group())) <= _MOST_WORDS:
                spans.append(sentence.span())  # "Leeds, that is wrong."
            for start, end in spans:
                if start <= name[0] < end:
                    found = self._strange_before(text, sentence.start(), start, name[0], clue)
                    begins = self._begins.match(text, start, name[0])
                    beside = "?" not in text[start:end] and "?" in text[end:]
                    if begins is not None and beside:
                        verb = begins[1]  # "Drop Ada Park of Leeds: which badge is left?"
                        found = found or verb * (self._kind(verb.lower(), clue) in ("strange", "denies"))
                    joint = self._conjunction.search(text, name[1], end)
                    found = found or self._strange_in(
                        text, name[1], joint.start() if joint else end, clue, beside=beside
                    )
                    if joint is not None and not found:  # "Ada Park when Leeds is excluded"
                        found = self._strange_in(text, joint.end(), end, clue, free=True)
                elif own or self._is_of_whom(text, start, end, clue):
                    found = self._strange_in(text, start, end, clue, free=True)
                else:
                    continue
                if found:
                    return found
        return ""

    def _is_of_whom(self, text: str, start: int, end: int, clue: Clue) -> bool:
        """Whether another sentence says something of the one who is meant: "She is in Oslo", "The Oslo one is wrong", "Far away." """
        words = [match.group() for match in _WORD.finditer(text, start, end)]
        if len(words) <= _FRAGMENT or self._pronoun.match(text, start) is not None:
            return True
        return any(self._kind(word, clue) == "clue" for word in words)

    def _strange_before(self, text: str, sentence: int, start: int, end: int, clue: Clue) -> str:
        """ "the non-Oslo Ada Park", "It is wrong that Ada Park ..." """
        stated = _WORD.findall(text, sentence, end)
        if stated and (stated[-1].casefold() in self._that or stated[0].casefold() in self._it):
            return next((w for w in stated[:-1] if self._kind(w, clue) in ("strange", "denies")), "")
        words = [match.group() for match in _WORD.finditer(text, start, end)]
        if (rejected := self._rejects.search(text[start:end])) is not None:
            return rejected.group().split()[0]
        if words and self._kind(words[-1], clue) == "denies":
            return words[-1]  # "the other Ada Park"
        said = False
        while words and self._kind(words[-1], clue) == "clue":
            words.pop()
            said = True
        return words[-1] if said and words and self._kind(words[-1], clue) in ("strange", "denies") else ""

    def _strange_in(
        self, text: str, start: int, end: int, clue: Clue, *, free: bool = False, beside: bool = False
    ) -> str:
        """`free` is a clause of its own, all of which is said of the one who is meant; `beside` is one after which a question comes.

        A noun between a preposition and what tells whom is its label, and so is one after a word that the pages have, or after
        "whose": "with the badge 17", "whose home town is Oslo".
        """
        words = [match.group() for match in _WORD.finditer(text, start, end)]
        kinds = [self._kind(word, clue) for word in words]
        if kinds[:1] == ["value"] and free:
            kinds[0] = "strange"  # the capital of a sentence
        free = free or kinds[:1] in (["relative"], ["whose"])
        predicate = kinds[:1] == ["neutral"]
        attached, strange, label, said = not predicate, "", "", False
        for n, (word, kind) in enumerate(zip(words, kinds, strict=True)):
            before = kinds[n - 1] if n else ""
            if kind == "clue":
                if strange and not (word[0].isdigit() and before == "strange"):
                    return strange
                said, label = True, ""
            elif kind == "value" and attached:
                return word
            elif kind == "preposition" and "neutral" not in kinds[:n]:
                strange, label = strange or label, ""  # "with disdain for Oslo"
            elif kind in ("strange", "denies"):
                if said:  # "leave Ada Park of Leeds out"
                    last = words[-1].casefold() in self._aside
                    wrong = self._wrong.intersection(map(str.casefold, words[n : n + _FRAGMENT]))
                    passive = beside and self._passive.intersection(map(str.casefold, words[:n]))
                    return word if free or last or wrong or passive else ""
                if attached and before == "article" and n == 1:
                    return word  # "the elder"
                known = before == "known" and words[n - 1].islower()  # "My Ada hates Leeds"
                if kind == "strange" and (known or before in ("preposition", "article", "clue", "whose")):
                    label = word
                else:
                    strange = strange or word
            attached = attached and kind in ("preposition", "article", "relative")
        return ""

    def _kind(self, word: str, clue: Clue) -> str:
        if (small := word.casefold()) in self._kinds:
            return self._kinds[small]
        if not (told := clue(word)) and self._stem(small) in self._neutral:
            return "neutral"
        if told is not None:
            return "clue" if told else "known"
        return "strange" if word.islower() else "value"


@functools.cache
def _tables() -> Mapping[str, Denials]:
    raw = tomllib.loads(files(__package__).joinpath("denials.toml").read_text("utf-8"))
    return {code: Denials(code, own) for code, own in raw.items()}


def blanked(text: str, denials: Sequence[Denial], kept: Sequence[NameInText]) -> str:
    """The text with blanks where it denies, so that places in it stay; what is kept is not denied."""
    left = text
    for denial in denials:
        left = left[: denial.start] + " " * (denial.end - denial.start) + left[denial.end :]
    for name in kept:
        left = left[: name.start] + text[name.start : name.end] + left[name.end :]
    return left


def _any_of(phrases: Sequence[str]) -> str:
    gap = r"(?:\w+\s+){1,3}"
    written = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\.\.\.\ ", gap).replace(r"\ ", r"\s+") for phrase in written)
