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
from typing import NamedTuple, Protocol

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
Clue = Callable[[str], str]
_NEAR = r"(?:\W+[\w'’]+){0,3}?\W+"  # Up to three words between two that belong together


@dataclass(frozen=True)
class Denial:
    """A stretch of a text, with the words that introduce it, and what it says that the meant one is not."""

    start: int
    end: int
    words: tuple[str, ...]  # Nothing where it is not understood what is denied


class Word(NamedTuple):
    """A word of a clause, in small letters too, and what it does there."""

    text: str
    small: str
    kind: str


_TELLING, _UNKNOWN = ("name", "other", "clue"), ("strange", "value")
_LABELLED = ("preposition", "article", "whose")
_BEFORE_NOUNS = (*_LABELLED, *_TELLING, "known")


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
        self._speaks, self._asks, self._wh, self._like, self._refers, self._pronouns, self._joins = (
            frozenset(raw[name]) for name in ("speaks", "asks", "wh", "like", "refers", "pronouns", "joins")
        )
        corrects = "|".join(raw["corrects"]).replace(" ", r"\W+")
        self._corrects = re.compile(rf"(?<!\w)(?i:{corrects})(?!\w)")
        # "No.", "That is not her."
        self._only = re.compile(
            rf"\W*(?:(?:{negator}\W*)+|{words('refers')}(?=[^?]*{negator})(?:\W+[\w'’]+){{0,{_MOST_WORDS}}}[^?\w]*)$"
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
        self._skip = frozenset(raw["skip"]) | frozenset(raw["means"])
        self._stem = stemmer(stemmer_of(language))
        neutral = (*raw["neutral"], *raw["skip"], *raw["means"], *raw["asks"], *raw["wh"], *raw["speaks"])
        predicates = {self._stem(word): "predicate" for word in raw["predicates"]}
        self._frame = {**predicates, **{self._stem(word): "neutral" for word in neutral}}
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
            "common", "negators", "relatives", "follows", "means", "excludes", "exceptions", "apart", "articles", "neutral",
            "predicates", "asks", "prepositions", "wh", "denies", "joins",
        )  # fmt: skip
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

    def strange(
        self, text: str, placed: Sequence[tuple[Span, str]], clue: Clue, *, claim: bool = False
    ) -> str:
        """What stands beside the one who is meant and is not known to affirm: "minus", "left", "the elder", "bores me".

        Who is meant may be denied in more ways than any list has, so only frames that are known to affirm decide. `placed` says
        where its "name" stands, or an "other" one. `clue` says of a word that some bearers have it ("clue") or their texts
        do ("said"), that all have it or it asks ("known"), or nothing. A `claim` may say of the one who is meant what nobody knows.
        """
        if (corrects := self._corrects.search(text)) and any(map(clue, _WORD.findall(text))):
            return corrects.group()  # "Ada Park of Leeds was the wrong one"
        names = [span for span, kind in placed if kind == "name"]
        for sentence in _SENTENCE.finditer(text):
            said = sentence.group().strip()
            if names and sentence.start() > names[0][1] and self._only.match(said):
                return said  # "Leeds? No.", "Leeds? That is not her."
            joints = [m.start() for m in self._conjunction.finditer(text, *sentence.span())]
            joints = [at for at in joints if any(at > to for _, to in names)]
            starts = [*joints, *(m.end() for m in _APART.finditer(text, *sentence.span()))]
            starts = [sentence.start(), *sorted(starts)]
            clauses = [
                self._clause(text, start, end, placed, clue)
                for start, end in zip(starts, [*starts[1:], sentence.end()], strict=True)
            ]
            every = [word for clause in clauses for word in clause]
            named = any(word.kind == "name" for word in every)
            if (
                not any(word.kind in _TELLING for word in every)
                and len(every) > _FRAGMENT
                and every[0].small not in self._refers
            ):
                continue  # of something else
            for n, clause in enumerate(clauses):
                asks = said.endswith("?") and n == len(clauses) - 1
                if found := self._unplaced(clause, begins=not n, asks=asks, named=named, claim=claim):
                    return found
        return ""

    def _clause(
        self, text: str, start: int, end: int, placed: Sequence[tuple[Span, str]], clue: Clue
    ) -> list[Word]:
        words: list[Word] = []
        for match in _WORD.finditer(text, start, end):
            own = (kind for (at, to), kind in placed if at <= match.start() < to)
            kind = next(own, "")
            if not kind or (
                kind == "other" and not words and start and not text[:start].strip().endswith(",")
            ):
                kind = self._kind(match.group(), clue, words)  # Places may be called Dudo or Rien
            words.append(Word(match.group(), match.group().casefold(), kind))
        return words

    def _unplaced(self, clause: Sequence[Word], *, begins: bool, asks: bool, named: bool, claim: bool) -> str:
        """The first word of a clause that is not known to affirm; `asks`: the end of a question.

        Of what is asked any word may stand before the name: "the shoe size of Ada Park", "Which invoice did Ada Park ...?"
        """
        lead = next((n for n, word in enumerate(clause) if word.kind != "preposition"), len(clause))
        opens = any(word.small in self._wh and word.kind != "clue" for word in clause[lead : lead + 1])
        tells = [n for n, word in enumerate(clause) if word.kind in _TELLING]
        capitals = {word.kind for word in clause if word.kind in _TELLING and not word.text.islower()}
        if tells and "name" not in capitals and not begins and clause[lead].kind in ("relative", "whose"):
            opens = False  # "who left Leeds"
        elif opens and capitals and "name" not in capitals and ("clue" in capitals or not named):
            return clause[lead].text  # "Who needs the one in Leeds?"
        over = (
            tells[-1] if tells and opens and asks else len(clause)
        )  # "Why does the printer of Ada Park not print?"
        denies = next(
            (
                w.text
                for n, w in enumerate(clause)
                if w.kind == "denies" and not (n > over and self._negator.fullmatch(w.text))
            ),
            "",
        )
        if not tells:
            return denies or next((w.text for w in clause if w.kind in _UNKNOWN and not (opens or asks)), "")
        first = next((n for n in tells if clause[n].kind != "clue" or not opens), tells[0])
        speakers = [  # "for me", "interests me" affirm
            n for n, (word, before) in enumerate(zip(clause, [None, *clause], strict=False))
            if word.small in self._speaks and word.kind == "neutral"
            and not (before and ((opens and before.kind == "preposition") or before.small in self._asks))
        ]  # fmt: skip
        wants = any(
            word.small in self._asks for word in clause
        )  # "I need the badge of Ada Park", and nothing else
        wants = wants and all(word.kind != "predicate" or word.small in self._asks for word in clause)
        if denies or (speakers and (speakers[-1] > first or not (opens or wants))):
            return denies or clause[speakers[-1]].text
        before = [n for n in range(first) if clause[n].kind != "article"]
        if clause[first].kind == "name" and before and clause[before[-1]].small in self._like:
            return clause[before[-1]].text
        article = next((n for n in range(first) if clause[n].kind == "article"), first)
        of = bool(before) and clause[before[-1]].kind == "preposition"
        subject = next(
            (
                n for n, word in enumerate(clause[:first])
                if word.kind in ("relative", "whose") or word.small in self._pronouns
            ),
            first,
        )  # fmt: skip
        for n, word in enumerate(clause):
            if n < first:
                unknown = word.kind in _UNKNOWN and not (of and article < n)
                if not opens and (unknown or (word.kind == "predicate" and n < min(subject, article))):
                    return word.text
            elif word.kind in _UNKNOWN:
                # "with the home town Leeds", not "with disdain for Leeds"
                at = n - 1 - (clause[n - 1].kind == "neutral" and n > 1)  # "with the time zone"
                label = clause[at].kind in (*_LABELLED, "known") and not clause[at].text.istitle()
                inside = n < tells[-1] and clause[n + 1].kind not in ("relative", "preposition")
                stated = claim and (
                    label or word.kind == "value"
                )  # "plays the trombone", "was written by Alec Coppel"
                past = n > over and word.kind != "value"  # "Where does Ada Park of Payroll live?"
                if not ((label and inside and word.kind == "strange") or past or stated):
                    return word.text
        return ""

    def _kind(self, text: str, clue: Clue, before: Sequence[Word]) -> str:
        """What a word does after those before it: what only texts say tells whom where a noun stands, "of optics", not "is out"."""
        small, known, proper = text.casefold(), clue(text), not text.islower()
        if small in self._kinds and not (proper and before and known in ("clue", "said")):
            return self._kinds[small]
        noun = before and (before[-1].kind in _BEFORE_NOUNS or before[-1].small in self._joins)
        frame = self._frame.get(self._stem(small))
        noun = noun or (proper and not (frame and not before)) or not (before or proper or frame)
        if known == "clue" or (known == "said" and noun):
            return "clue"
        return frame or known.replace("said", "") or ("value" if proper and before else "strange")


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
