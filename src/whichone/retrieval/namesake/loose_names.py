"""Names in a question that are not written as the corpus has them: which may be meant?"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from whichone.names import plain_signs, without_parentheses
from whichone.retrieval.namesake.spelling import (
    GENERATIONS,
    HONORIFICS,
    PARTICLES,
    core_words,
    folded,
    foldings,
    nicknames,
    short_forms,
    squeezed,
)

MOST_WORDS = 5
MOST_KEYS = 24
MOST_PARTIAL = 16  # A first or last name alone is looked up where no more names have it
_WORD = re.compile(r"[^\W_]+")
_JOINTS = frozenset([".", ",", "-", "'"])
_LEFT_OUT = 3
_SHORTEST = 4
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
    runs = list(name_runs(text, places, words, openers) if cased else _windows(words, openers))
    runs = [_with_particles(words, run) if "," in words[slice(*run)] else run for run in runs]
    reader = _Reader(words, look_up, variants)
    results: list[Loose] = []
    used = list(taken)
    for start, end in runs:
        for first, last in _inside(start, end, words):
            if (first, last) == (0, 1) and any(taken) and cased:
                continue  # a capital because a sentence begins: "Send Ada Park the form"
            if all(used[n] or not words[n].isalnum() for n in range(first, last)):
                continue
            if any(used[first:last]) and not cased:
                continue
            longer = reader.extended(first, last) if (first, last) == (start, end) else None
            loose = longer or reader.read(first, last)
            if loose is not None:
                results.append(loose)
                used[loose.start : loose.end] = [True] * (loose.end - loose.start)
    if not results and not any(taken) and cased:
        for start, end in runs:
            loose = reader.partial(start, end)
            if loose is not None:
                return [loose]
    return results


def name_runs(
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
            elif words[n] not in _JOINTS and words[n] not in PARTICLES:
                break
        yield at, end
        at = end


def _with_particles(words: Sequence[str], run: Place) -> Place:
    """A name with a comma, and the particles around it: "von der Heide, Friedrich", "Beethoven, Ludwig van"."""
    start, end = run
    while start > 0 and words[start - 1] in PARTICLES:
        start -= 1
    while end < len(words) and words[end] in PARTICLES:
        end += 1
    return start, end


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
        self, words: Sequence[str], look_up: Callable[[Sequence[str]], dict[str, Pages]], variants: Variants
    ) -> None:
        self._words = words
        self._look_up = look_up
        self._variants = variants

    def read(self, start: int, end: int) -> Loose | None:
        """What the words from start to end may mean, the likeliest way of writing first."""
        tokens = list(self._words[start:end])
        loose = self._read(tokens, start, end)
        if loose is None and _may_be_genitive(tokens[-1]):
            loose = self._read([*tokens[:-1], tokens[-1][:-1]], start, end)
        return loose

    def extended(self, start: int, end: int) -> Loose | None:
        """A name that goes on in small letters, with other hyphens than it has: "X200 pump"."""
        for last in range(min(end + _LEFT_OUT, len(self._words)), end, -1):
            words = self._words[start:last]
            pages = self._pages(self._as_one_word(words)) if words[-1].isalnum() else ()
            if pages:
                return Loose(start, last, pages, "spelling")
        return None

    def _pages(self, keys: Sequence[str]) -> Pages:
        listed = list(dict.fromkeys(keys))[:MOST_KEYS]
        return tuple(sorted({page for own in self._look_up(listed).values() for page in own}))

    def _read(self, tokens: list[str], start: int, end: int) -> Loose | None:
        names = [token for token in tokens if token.isalnum()]
        for written, keys in self._ways(tokens, names):
            pages = self._pages(keys)
            if pages:
                return Loose(start, end, pages, written)
        return None

    def _as_one_word(self, tokens: Sequence[str]) -> list[str]:
        """Names that are the same but for blanks, hyphens, apostrophes, accents, "the" and "Inc."."""
        words = [token for token in tokens if token.isalnum()]
        plain = squeezed(core_words([folded(word) for word in words]))
        return self._variants.by_short_key(plain, MOST_KEYS) if len(plain) > _SHORTEST else []

    def _ways(self, tokens: list[str], names: list[str]) -> Iterator[tuple[str, list[str]]]:
        if len(names) > 1:
            yield "order", [" ".join(names[1:] + names[:1]), " ".join(names[-1:] + names[:-1])]
        if "," in tokens:
            comma = tokens.index(",")
            turned = [*tokens[comma + 1 :], *tokens[:comma]]
            yield "order", [" ".join(turned), *self._as_one_word(turned)]
        yield "spelling", self._as_one_word(tokens)
        yield "spelling", list(self._respelt(tokens, plain=True))
        if len(names) > 1:
            yield "nickname", self._formal(names)
        if _may_be_genitive(tokens[-1]):
            yield "possessive", [" ".join([*tokens[:-1], tokens[-1][:-1]])]
        typos = list(self._respelt(tokens, plain=False))
        yield "typo", typos
        if len(names) > 1:
            yield "typo", [k for typo in typos[:_LEFT_OUT] for k in self._as_one_word(typo.split())]
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
        return [*direct, *(k for f in formal for k in self._variants.by_short_key(f"{f} {last}", 4))]

    def _respelt(self, tokens: list[str], *, plain: bool) -> Iterator[str]:
        """Every word by one that is the same in plain letters; or one word by one an edit away."""
        near = {n: self._variants.words_like(t) for n, t in enumerate(tokens) if t.isalnum()}
        same = {
            n: [w for w in listed if set(foldings(w)) & set(foldings(tokens[n]))]
            for n, listed in near.items()
        }
        if plain:
            forms = [same.get(n, [])[:2] or [token] for n, token in enumerate(tokens)]
            keys = [""]
            for choices in forms:
                keys = [f"{key} {choice}".strip() for key in keys for choice in choices][:MOST_KEYS]
            yield from keys
            return
        same = {n: same[n] or listed[:1] for n, listed in near.items()}
        known = sum(tokens[n] in listed for n, listed in near.items())
        for n, listed in near.items():
            if tokens[n] in listed and known == len(near) == 1:
                continue  # a word of names by itself is not taken for another
            for word in listed:
                base = [same[m][0] if same.get(m) and m != n else t for m, t in enumerate(tokens)]
                yield " ".join([*base[:n], word, *base[n + 1 :]])

    def partial(self, start: int, end: int) -> Loose | None:
        """A first or a last name alone, where few names have it."""
        every = [word for word in self._words[start:end] if word.isalnum()]
        titled = [word for word in every if folded(word) in HONORIFICS]
        names = [w for w in every if w not in titled and not (len(every) > 1 and w in PARTICLES)]
        names = [name for name in names if len(name) > 2]
        if len(names) == 2 and _may_be_genitive(names[0]):  # "Frankfurts Bürgermeister"
            end = start + 1 + list(self._words[start:end]).index(names[0])
            names = [names[0][:-1]]
        if len(names) != 1:
            return None
        keys = self._short(names[0])
        if not keys and _may_be_genitive(names[0]):
            keys = self._short(names[0][:-1])
        pages = self._pages(keys)
        return Loose(start, end, pages, "in part") if pages else None

    def _short(self, word: str) -> list[str]:
        """The names that begin or end with a word, where they are few."""
        for form in foldings(word):
            keys = self._variants.by_short_key(form, MOST_PARTIAL + 1)
            if keys:
                return keys if len(keys) <= MOST_PARTIAL else []
        return []


def _may_be_genitive(word: str) -> bool:
    """ "Linds poems", "Frankfurts Bürgermeister": a genitive that has no apostrophe."""
    return word.endswith("s") and len(word) > 3


# Pages that have another form of a name of the question: "John F. Kennedy" or "Jack Kennedy" for "John Kennedy", "If...." for "If".


_MOST_ADDED = 2
_MOST_FORMS = 32
OTHER_FORMS = ("respelt", "longer", "nickname")

Words = tuple[str, ...]


@functools.lru_cache(20_000)
def name_words(name: str) -> Words:
    """The words of a person's name in plain letters, without "Jr." and what follows a comma."""
    bare = plain_signs(without_parentheses(name)).casefold().partition(",")[0]
    words = [folded(word) for word in _WORD.findall(bare)]
    while len(words) > 2 and words[-1] in GENERATIONS:
        words.pop()
    return tuple(words)


def other_forms(name: str, variants: Variants) -> dict[str, list[str]]:
    """The keys of names that may mean the same as a name, by how they differ from it."""
    words = name_words(name)
    if not words or len(words) > MOST_WORDS:
        return {}
    core = core_words(words)
    forms = {"respelt": [" ".join(core), *variants.by_short_key(squeezed(core), MOST_KEYS)]}
    if len(words) == 1 or not all(map(str.isalpha, words)):
        return forms
    shorter = [f"{words[0]} {words[-1]}"] if len(words) > 2 else []
    forms["longer"] = [*_longer(words, variants), *shorter]
    first, *rest = words
    forms["nickname"] = []
    for other in (*map(folded, nicknames().get(first, ())), *short_forms().get(first, ())):
        forms["nickname"] += [" ".join([other, *rest]), *_longer((other, *rest), variants)]
    return forms


def _longer(words: Words, variants: Variants) -> list[str]:
    keys = variants.by_short_key(f"{words[0]} {words[-1]}", _MOST_FORMS)
    return [key for key in keys if is_longer_form(name_words(key), words)]


def is_longer_form(longer: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words of a name, at least two, have others before them, or between the first and the last."""
    every = tuple(longer)
    added = len(every) - len(words)
    if len(words) < 2 or not 0 <= added <= _MOST_ADDED or not all(map(str.isalpha, every)):
        return False
    ends = every[-len(words) :] == tuple(words)
    around = len(words) == 2 and (every[0], every[-1]) == tuple(words)
    return ends or around
