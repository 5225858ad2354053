"""What a question asks of its entity, and whether a page is of a kind, and says things, that fit.

The table `relations.toml` names the relations; a page's kind is read off the parentheses of its
title and the opening of its text ("... is a 1990 film by ..."), so no knowledge base is needed.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from whichone.retrieval.bm25.analysis import stemmer

_WORD = re.compile(r"[^\W_]+")
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_BE = re.compile(r"\b(?:is|was|are|were|refers to)\b\s+(?:(?:a|an|the|one of the|both|also)\b)?")
_LIFE = re.compile(r"\(.{0,80}?(?:\bborn\b|\bdied\b|\bb\.\s|\d{3,4}\s*[–—-]\s*.{0,25}\d{3,4})")
_HEAD_ENDS = frozenset(
    [
        "by",
        "from",
        "in",
        "that",
        "who",
        "which",
        "whose",
        "where",
        "directed",
        "written",
        "starring",
        "based",
        "for",
        "with",
        "about",
        "released",
        "produced",
        "set",
        "created",
        "published",
        "performed",
        "recorded",
        "located",
        "on",
        "at",
    ]
)
_LISTS = re.compile(r"\b(?:may|might|can|could) (?:also )?refer to\b")
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
class RelationTable:
    """All relations and kinds, as stems."""

    relations: tuple[Relation, ...]
    kinds: Mapping[Stems, tuple[str, ...]]
    """From a word that names a kind to the kinds it may mean."""

    @classmethod
    @functools.cache
    def load(cls) -> RelationTable:
        raw = tomllib.loads(files(__package__).joinpath("relations.toml").read_text("utf-8"))
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
        return cls(relations, {word: tuple(k) for word, k in kinds.items()})

    def asked(self, remainder: Sequence[str]) -> list[Relation]:
        """The relations that the pieces of a question around its names ask for, the longest cue wins."""
        return self._asked(remainder)[0]

    def without_cue(self, remainder: Sequence[str]) -> str:
        """What the pieces say besides asking: "Who played Leia in" of a film leaves "Who Leia in"."""
        cue = self._asked(remainder)[1]
        words = [word for piece in remainder for word in _WORD.findall(piece)]
        return " ".join(word for word in words if _stem()(word.lower()) not in cue)

    def _asked(self, remainder: Sequence[str]) -> tuple[list[Relation], frozenset[str]]:
        """The relations asked for, and the stems of the words that ask."""
        pieces = [stems(piece) for piece in remainder]
        longest = 0
        found: list[Relation] = []
        words: set[str] = set()
        for relation in self.relations:
            cues = [a for a in relation.asks if any(contains(p, a) for p in pieces)]
            size = max(map(len, cues), default=0)
            if size > longest:
                longest, found, words = size, [], set()
            if size and size == longest:
                found.append(relation)
                words.update(word for cue in cues if len(cue) == size for word in cue)
        return found, frozenset(words)

    def kinds_of(self, title: str, text: str) -> frozenset[str]:
        """What a page says it is about: by its title's parentheses, else by its opening words."""
        inside = _PARENTHESES.findall(title)
        told = self._kinds_in(stems(inside[-1])) if inside else frozenset()
        return told or self._kinds_in(opening_head(text)) | (
            frozenset(["person"]) if _LIFE.search(text[:_OPENING]) else frozenset()
        )

    def _kinds_in(self, words: Stems) -> frozenset[str]:
        found: set[str] = set()
        for at in range(len(words)):
            for size in (2, 1):
                found.update(self.kinds.get(words[at : at + size], ()))
        return frozenset(found)


def lists_bearers(title: str, text: str) -> bool:
    """Whether a page is a disambiguation page: it lists who bears the name, and is none of them."""
    return title.endswith("(disambiguation)") or bool(_LISTS.search(text[:150]))


def opening_head(text: str) -> Stems:
    """The words between "is a" and the first "by", "in", "who" ... of a text's opening, as stems."""
    match = _BE.search(text[:_OPENING])
    if match is None:
        return ()
    words = []
    for word in _WORD.findall(text[match.end() : match.end() + _OPENING].lower())[:_HEAD_WORDS]:
        if word in _HEAD_ENDS:
            break
        words.append(word)
    return tuple(map(_stem(), words))


def stems(text: str) -> Stems:
    return tuple(map(_stem(), _WORD.findall(text.lower())))


def contains(words: Stems, phrase: Stems) -> bool:
    """Whether a phrase occurs among words, in order and together."""
    if len(phrase) == 1:
        return phrase[0] in words
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


@functools.cache
def _stem():  # type: ignore[no-untyped-def]
    return functools.lru_cache(100_000)(stemmer("porter"))
