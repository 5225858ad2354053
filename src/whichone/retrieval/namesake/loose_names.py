"""Names in a question that are not written as the corpus has them: which may be meant?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from whichone.retrieval.namesake.spelling import folded, nicknames

MOST_WORDS = 5
MOST_KEYS = 24
MOST_PARTIAL = 16
"""A first or last name alone is looked up where no more names have it."""
_PARTICLES = frozenset(
    [
        "de",
        "van",
        "von",
        "der",
        "den",
        "da",
        "di",
        "del",
        "la",
        "le",
        "bin",
        "al",
        "of",
        "y",
        "e",
        "zu",
    ]
)
_JOINTS = frozenset([".", ",", "-", "'"])
_LEFT_OUT = 3
_MOST_WINDOWS = 16

Pages = tuple[int, ...]
Place = tuple[int, int]


class Variants(Protocol):
    """Names by their short forms, and words of names by how they are spelt."""

    def by_short_key(self, key: str, most: int) -> list[str]: ...

    def words_like(self, word: str, most: int = 8) -> list[str]: ...


@dataclass(frozen=True)
class Loose:
    """Words of a question from `start` to `end`, the pages meant, and how the name differs."""

    start: int
    end: int
    pages: Pages
    written: str


def loose_names(
    text: str,
    places: Sequence[Place],
    words: Sequence[str],
    taken: Sequence[bool],
    openers: frozenset[str],
    look_up: Callable[[Sequence[str]], dict[str, Pages]],
    variants: Variants,
) -> list[Loose]:
    """For every stretch that is written as a name and was not found as it is: the longest that may be one."""
    cased = any(c.isupper() for c in text[1:])
    runs = list(_runs(text, places, words, openers) if cased else _windows(words, openers))
    reader = _Reader(words, look_up, variants)
    results: list[Loose] = []
    used = list(taken)
    for start, end in runs:
        for first, last in _inside(start, end, words):
            if all(used[n] or not words[n].isalnum() for n in range(first, last)):
                continue
            if any(used[first:last]) and not cased:
                continue
            loose = reader.read(first, last)
            if loose is not None:
                results.append(loose)
                used[first:last] = [True] * (last - first)
    if not results and not any(taken) and cased:
        for start, end in runs:
            loose = reader.partial(start, end)
            if loose is not None:
                return [loose]
    return results


def _runs(
    text: str, places: Sequence[Place], words: Sequence[str], openers: frozenset[str]
) -> Iterator[Place]:
    """Stretches of words with a capital, joined by points, commas, hyphens and particles."""
    at = 0
    while at < len(words):
        capital = words[at].isalnum() and text[places[at][0]].isupper()
        if not capital or (words[at] in openers):
            at += 1
            continue
        end = at + 1
        for n in range(at + 1, len(words)):
            if words[n].isalnum() and text[places[n][0]].isupper() and words[n] not in openers:
                end = n + 1
            elif words[n] not in _JOINTS and words[n] not in _PARTICLES:
                break
        yield at, end
        at = end


def _windows(words: Sequence[str], openers: frozenset[str]) -> Iterator[Place]:
    """In a question without capitals any two or three words together may be a name."""
    count = 0
    for size in (3, 2):
        for at in range(len(words) - size + 1):
            if all(w.isalnum() and w not in openers for w in words[at : at + size]):
                yield at, at + size
                count += 1
                if count >= _MOST_WINDOWS:
                    return


def _inside(start: int, end: int, words: Sequence[str]) -> Iterator[Place]:
    """The stretch itself, then the same without its first or last words."""
    spans = [(start, end)]
    for cut in range(1, _LEFT_OUT):
        spans += [(start + cut, end), (start, end - cut)]
    for first, last in dict.fromkeys(spans):
        inner = [n for n in range(first, last) if words[n].isalnum()]
        if inner and len(inner) <= MOST_WORDS:
            yield inner[0], inner[-1] + 1


class _Reader:
    def __init__(
        self,
        words: Sequence[str],
        look_up: Callable[[Sequence[str]], dict[str, Pages]],
        variants: Variants,
    ) -> None:
        self._words = words
        self._look_up = look_up
        self._variants = variants

    def read(self, start: int, end: int) -> Loose | None:
        """What the words from start to end may mean, the likeliest way of writing first."""
        tokens = list(self._words[start:end])
        names = [token for token in tokens if token.isalnum()]
        for written, keys in self._ways(tokens, names):
            listed = list(dict.fromkeys(keys))[:MOST_KEYS]
            pages = sorted({page for own in self._look_up(listed).values() for page in own})
            if pages:
                return Loose(start, end, tuple(pages), written)
        return None

    def _ways(self, tokens: list[str], names: list[str]) -> Iterator[tuple[str, list[str]]]:
        if len(names) > 1:
            yield "order", [" ".join(names[1:] + names[:1]), " ".join(names[-1:] + names[:-1])]
        yield "spelling", list(self._respelt(tokens, plain=True))
        if len(names) > 1:
            yield "nickname", self._formal(names)
        if names[-1].endswith("s") and len(names[-1]) > 3:
            yield "possessive", [" ".join([*tokens[:-1], tokens[-1][:-1]])]
        yield "typo", list(self._respelt(tokens, plain=False))
        if len(names) > 1:
            first, last = folded(names[0]), folded(names[-1])
            if all(len(name) == 1 for name in names[:-1]):
                yield "initials", self._variants.by_short_key(f"{first[0]} {last}", MOST_KEYS)
            else:
                joined = " ".join(names)
                apart = [f"{names[0]} {names[-1]}"] if len(names) > 2 else []
                yield (
                    "in part",
                    [joined, *apart, *self._variants.by_short_key(f"{first} {last}", MOST_KEYS)],
                )
                if len(names) > 2 and any(len(name) == 1 for name in names[1:-1]):
                    yield "initials", self._variants.by_short_key(f"{first[0]} {last}", MOST_KEYS)

    def _formal(self, names: list[str]) -> list[str]:
        formal = nicknames().get(folded(names[0]), ())
        direct = [" ".join([full, *names[1:]]) for full in formal]
        last = folded(names[-1])
        return [
            *direct,
            *(k for f in formal for k in self._variants.by_short_key(f"{f} {last}", 4)),
        ]

    def _respelt(self, tokens: list[str], *, plain: bool) -> Iterator[str]:
        """Every word by one that is the same in plain letters; or one word by one an edit away."""
        near = {n: self._variants.words_like(t) for n, t in enumerate(tokens) if t.isalnum()}
        same = {
            n: [w for w in listed if folded(w) == folded(tokens[n])] or listed[:1]
            for n, listed in near.items()
        }
        if plain:
            forms = [same.get(n, [])[:2] or [token] for n, token in enumerate(tokens)]
            keys = [""]
            for choices in forms:
                keys = [f"{key} {choice}".strip() for key in keys for choice in choices][:MOST_KEYS]
            yield from keys
            return
        known = sum(tokens[n] in listed for n, listed in near.items())
        for n, listed in near.items():
            if tokens[n] in listed and known == len(near) == 1:
                continue  # a word of names by itself is not taken for another
            for word in listed:
                base = [same[m][0] if same.get(m) and m != n else t for m, t in enumerate(tokens)]
                yield " ".join([*base[:n], word, *base[n + 1 :]])

    def partial(self, start: int, end: int) -> Loose | None:
        """A first or a last name alone, where few names have it."""
        names = [word for word in self._words[start:end] if word.isalnum()]
        if len(names) != 1 or len(names[0]) < 3:
            return None
        keys = self._variants.by_short_key(folded(names[0]), MOST_PARTIAL + 1)
        if not keys or len(keys) > MOST_PARTIAL:
            return None
        pages = sorted({page for own in self._look_up(keys).values() for page in own})
        return Loose(start, end, tuple(pages), "in part") if pages else None
