"""What a question asks of its entity, and whether a page is of a kind, and says things, that fit.

The table `relations.toml` names the relations; a page's kind is read off the parentheses of its
title and the opening of its text ("... is a 1990 film by ..."), so no knowledge base is needed.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from whichone.retrieval.bm25.analysis import stemmer
from whichone.text.language import base_code, stemmer_of

_WORD = re.compile(r"[^\W_]+")
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_YEARS = r"\d{3,4}\s*[–—-]\s*.{0,25}\d{3,4}"
LANGUAGES = ("en", "de", "fr", "es")
"""Languages with a table of their own; pages of others have no known kinds."""
_OPENING = 300
_HEAD_WORDS = 14

Stems = tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """One relation: the words that ask for it, the kinds that have it, the words that state it."""

    name: str
    asks: tuple[Stems, ...]
    kinds: tuple[str, ...]
    says: tuple[Stems, ...]


@dataclass(frozen=True)
class Language:
    """How pages open and questions are asked in a language."""

    stem: Callable[[str], str]
    be: re.Pattern[str]
    head_ends: frozenset[str]
    openers: frozenset[str]
    lists: re.Pattern[str]
    life: re.Pattern[str]

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Language:
        def any_of(texts: Sequence[str]) -> str:
            return (
                "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
                or r"(?!)"
            )

        articles = any_of(raw.get("articles", ()))
        born = "|".join(
            rf"\b{re.escape(m)}" if m[0].isalpha() else re.escape(m) for m in raw.get("born", ())
        )
        return cls(
            functools.lru_cache(100_000)(stemmer(raw["stemmer"])),
            re.compile(rf"\b(?:{any_of(raw.get('be', ()))})\b\s+(?:(?:{articles})\b)?"),
            frozenset(raw.get("head_ends", ())),
            frozenset(raw.get("openers", ())),
            re.compile(any_of(raw.get("lists", ()))),
            re.compile(rf"[(,].{{0,80}}?(?:{born or r'(?!)'}|{_YEARS})"),
        )

    def stems(self, text: str) -> Stems:
        return tuple(map(self.stem, _WORD.findall(text.lower())))

    def opening_head(self, text: str) -> Stems:
        """The words between "is a" and the first "by", "in", "who" ... of a text's opening, as stems."""
        match = self.be.search(text[:_OPENING])
        if match is None:
            return ()
        words = []
        for word in _WORD.findall(text[match.end() : match.end() + _OPENING].lower())[:_HEAD_WORDS]:
            if word in self.head_ends:
                break
            words.append(word)
        return tuple(map(self.stem, words))


@dataclass(frozen=True)
class RelationTable:
    """All relations and kinds, as stems."""

    relations: tuple[Relation, ...]
    kinds: Mapping[Stems, tuple[str, ...]]
    """From a word that names a kind to the kinds it may mean."""
    language: Language

    @classmethod
    @functools.cache
    def load(cls, language: str = "en") -> RelationTable:
        """The table of a language; an empty one where there is none, so that no kind counts."""
        code = base_code(language)
        if code not in LANGUAGES:
            return cls((), {}, Language.of({"stemmer": stemmer_of(code)}))
        file = "relations.toml" if code == "en" else f"relations.{code}.toml"
        raw = tomllib.loads(files(__package__).joinpath(file).read_text("utf-8"))
        own = Language.of(raw["language"])
        stems = own.stems
        relations = tuple(
            Relation(
                name,
                tuple(map(stems, row["asks"])),
                tuple(row["kinds"]),
                tuple(map(stems, row["says"])),
            )
            for name, row in raw["relations"].items()
        )
        kinds: dict[Stems, list[str]] = {}
        for kind, words in raw["kinds"].items():
            for word in words:
                kinds.setdefault(stems(word), []).append(kind)
        return cls(relations, {word: tuple(k) for word, k in kinds.items()}, own)

    @functools.cached_property
    def _cues(self) -> dict[str, list[tuple[int, Stems]]]:
        """What asks for a relation, by its first stem, with the relation's number."""
        cues: dict[str, list[tuple[int, Stems]]] = {}
        for number, relation in enumerate(self.relations):
            for cue in relation.asks:
                cues.setdefault(cue[0], []).append((number, cue))
        return cues

    def asked(self, remainder: Sequence[str]) -> list[Relation]:
        """The relations that the pieces of a question around its names ask for, the longest cue wins."""
        return self._asked(remainder)[0]

    def without_cue(self, remainder: Sequence[str]) -> str:
        """What the pieces say besides asking: "Who played Leia in" of a film leaves "Who Leia in"."""
        cue = self._asked(remainder)[1]
        words = [word for piece in remainder for word in _WORD.findall(piece)]
        return " ".join(word for word in words if self.language.stem(word.lower()) not in cue)

    def _asked(self, remainder: Sequence[str]) -> tuple[list[Relation], frozenset[str]]:
        """The relations asked for, and the stems of the words that ask."""
        pieces = [self.language.stems(piece) for piece in remainder]
        cues: dict[int, list[Stems]] = {}
        for stem in {stem for piece in pieces for stem in piece}:
            for number, cue in self._cues.get(stem, ()):
                if any(contains(piece, cue) for piece in pieces):
                    cues.setdefault(number, []).append(cue)
        longest = max((len(cue) for own in cues.values() for cue in own), default=0)
        asked = [
            self.relations[number]
            for number in sorted(cues)
            if any(len(cue) == longest for cue in cues[number])
        ]
        words = {
            stem for own in cues.values() for cue in own if len(cue) == longest for stem in cue
        }
        return asked, frozenset(words)

    def kinds_of(self, title: str, text: str) -> frozenset[str]:
        """What a page says it is about: by its title's parentheses, else by its opening words."""
        inside = _PARENTHESES.findall(title)
        inner = self._kinds_in(self.language.stems(inside[-1])) if inside else frozenset()
        return inner or self._kinds_in(self.language.opening_head(text)) | (
            frozenset(["person"]) if self.language.life.search(text[:_OPENING]) else frozenset()
        )

    def _kinds_in(self, words: Stems) -> frozenset[str]:
        kinds: set[str] = set()
        for at in range(len(words)):
            for size in (2, 1):
                kinds.update(self.kinds.get(words[at : at + size], ()))
        return frozenset(kinds)

    def lists_bearers(self, title: str, text: str) -> bool:
        """Whether a page is a disambiguation page: it lists who has the name, and is none of them."""
        if title.endswith(
            ("(disambiguation)", "(Begriffsklärung)", "(homonymie)", "(desambiguación)")
        ):
            return True
        return bool(self.language.lists.search(text[:150].lower()))


def stems(text: str) -> Stems:
    """Stems of English words."""
    return RelationTable.load().language.stems(text)


def contains(words: Stems, phrase: Stems) -> bool:
    """Whether a phrase occurs among words, in order and together."""
    size = len(phrase)
    if size and phrase[0] not in words:
        return False
    return size == 1 or any(words[at : at + size] == phrase for at in range(len(words) - size + 1))
