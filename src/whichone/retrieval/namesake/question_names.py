"""Which names does a question contain, and who has them?"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from whichone.corpus.page_names import Bearing
from whichone.names import plain_signs, token_key, token_places, without_parentheses
from whichone.retrieval.namesake.knowledge_evidence import RelationTable
from whichone.retrieval.namesake.spelling import (
    GENERATIONS,
    HONORIFICS,
    PARTICLES,
    alike,
    core_words,
    folded,
    foldings,
    nicknames,
    places_in,
    short_forms,
    squeezed,
)

LONGEST = 24  # Of a question at most so many words and signs together are looked up as a name
_ITEM = re.compile(r"\s*(?:[\n;•*|:]|\.\s)\s*(?:[-–]\s+)?")
_MOST_ITEMS = 64
Place = tuple[int, int]


@dataclass(frozen=True)
class Mention:
    """A name at its place in a question, with the pages that bear it."""

    name: str
    start: int
    end: int
    pages: tuple[int, ...]
    proper: bool  # It is written like a name there: with a capital, a digit, or between quotation marks
    whole: bool = True  # No further name-like word appears beside it: "Paul" in "Paul Walker" is not whole
    # How it differs from the name it was found by: "typo", "initials"; empty where it does not.
    written: str = ""


SEPARATOR = " [SEP] "  # Between subject and relation of a slot-filling question


def subject(text: str) -> str:
    """What comes before [SEP]; the whole text where there is none."""
    return text.partition(SEPARATOR)[0]


class NameLookup(Protocol):
    """Names of a corpus, or of several: for each `token_key` the pages it points at."""

    def look_up(self, keys: Sequence[str]) -> dict[str, list[Bearing]]: ...


class PageNames:
    """From names to the pages of a corpus that bear them; pages are numbers.

    The names are a corpus' own, and further ones, such as a knowledge base's, in memory. Where
    `knowledge.name_index` finds every name of a knowledge base in a text, on disk and however it is
    written, this one reads questions: it tells a name from ordinary words by how it is written there.
    """

    def __init__(
        self,
        names: Iterable[tuple[str, int]] = (),
        corpus: NameLookup | None = None,
        is_place: Callable[[int], bool] = bool,
        variants: Variants | None = None,
        openers: frozenset[str] | None = None,
        before: PageNames | None = None,
    ) -> None:
        """`before` has the same further names, over an earlier state of the corpus."""
        # words that open a question or hold it together; alone and unquoted they name nobody
        self.openers = RelationTable.load().language.openers if openers is None else openers
        self._variants = variants
        self._corpus = corpus
        self._is_place = is_place
        self._spelt: set[str] = set()
        self._pages: Mapping[str, tuple[int, ...]] = {}
        if before is not None:
            self._spelt, self._pages = before._spelt, before._pages
            return
        held: dict[str, set[int]] = {}
        for name, page in names:
            if mostly_small(name):
                self._spelt.add(plain_signs(name))
            held.setdefault(token_key(name), set()).add(page)
        held.pop("", None)
        self._pages = {name: tuple(sorted(pages)) for name, pages in held.items()}

    def bearers(self, name: str) -> tuple[int, ...]:
        key = token_key(name)
        return self._look_up([key]).get(key, ((), frozenset()))[0]

    def other_forms(self, name: str) -> dict[int, str]:
        """Pages that have another form of a name, and how it differs."""
        if self._variants is None:
            return {}
        pages: dict[int, str] = {}
        core = core_words(name_words(name))
        for how, keys in other_forms(name, self._variants).items():
            asked = [key for key in dict.fromkeys(keys) if key != token_key(name)]
            for key, (own, _) in self._look_up(asked).items():
                added = how == "respelt" and core_words(name_words(key)) != core
                for page in own:  # "Vertigo Records" has a further word, "Apple Inc." has not
                    pages.setdefault(page, "company" if added else how)
        return pages

    def listed(self, texts: Sequence[str]) -> dict[int, None]:
        """The pages whose titles begin the items of a page that only lists them."""
        items = [item for text in texts for item in _ITEM.split(plain_signs(text))][:_MOST_ITEMS]
        keys = []
        for item in items:
            words = token_key(item[:120]).split()[:LONGEST]
            keys.append([" ".join(words[:n]) for n in range(len(words), 0, -1)])
        pages = self._look_up(list(dict.fromkeys(itertools.chain(*keys))))
        first = (next((key for key in own if key in pages), None) for own in keys)
        return {page: None for key in first if key is not None for page in pages[key][0]}

    def _look_up(self, keys: Sequence[str]) -> dict[str, tuple[tuple[int, ...], frozenset[str]]]:
        """For each key that is a name its pages, and how the name is written in small letters."""
        bearers: dict[str, tuple[tuple[int, ...], frozenset[str]]] = {}
        bearers |= {key: (self._pages[key], frozenset()) for key in keys if key in self._pages}
        if self._corpus is None:
            return bearers
        for key, bearings in self._corpus.look_up(keys).items():
            if kept := [bearing for bearing in bearings if names_page(bearing, self._is_place)]:
                pages = {*bearers.get(key, ((),))[0], *(bearing.page for bearing in kept)}
                small = frozenset(plain_signs(b.name) for b in kept if mostly_small(b.name))
                bearers[key] = (tuple(sorted(pages)), small)
        return bearers

    def find(self, text: str) -> list[Mention]:
        """Every name in a text, in its order; of two that overlap, the proper one, then the longer.

        Of a slot-filling question only the subject is looked at: it is a name, however written.
        """
        text = plain_signs(text)
        if SEPARATOR in text:
            text = subject(text)
            if bearers := self.bearers(text):
                return [Mention(text, 0, len(text), bearers, True)]
        places = token_places(text)
        words = [text[start:end].casefold() for start, end in places]
        shouting = not any(c.islower() for c in text)
        cased = not shouting and any(c.isupper() for c in text[1:])
        keys = [words]  # of one word, of two, ...; each list is by the place of its first word
        for more in range(1, min(LONGEST, len(words))):
            keys.append([f"{key} {word}" for key, word in zip(keys[-1], words[more:], strict=False)])
        named = self._look_up(list(dict.fromkeys(itertools.chain(*keys))))
        spans = [
            (start, start + length, *named[key])
            for length, own in enumerate(keys, 1)
            for start, key in enumerate(own)
            if key in named
        ]
        mentions = []
        for start, end, pages, small in spans:
            opens = start == 0 and end == 1
            if not opens or words[0] not in self.openers or _is_genitive(text, places, words):
                stated = opens and text[:1].isupper() and "?" not in text
                written = end - start > 1 or words[start].isdigit() or stated
                spelt = self._spelt | small
                proper = _proper(text, places, words, start, end, spelt, self.openers) if cased else written
                mentions.append((start, end, pages, proper))
        mentions.sort(key=lambda f: (not f[3], places[f[0]][0] - places[f[1] - 1][1], f[0]))
        taken = [False] * len(words)
        kept = []
        for start, end, pages, proper in mentions:
            if not any(taken[start:end]):
                taken[start:end] = [True] * (end - start)
                at, to = places[start][0], places[end - 1][1]
                whole = not cased or _whole(text, places, words, start, end, self.openers)
                kept.append(Mention(text[at:to], at, to, pages, proper, whole))
        if self._variants is not None:
            kept = self._with_loose(text, places, words, kept)
        return sorted(kept, key=lambda m: m.start)

    def _with_loose(
        self, text: str, places: Sequence[Place], words: Sequence[str], kept: list[Mention]
    ) -> list[Mention]:
        """Names that are written in another way, where no whole name was found at that place."""
        assert self._variants is not None
        sure = [m for m in kept if m.whole and m.proper]
        taken = [any(m.start <= at and to <= m.end for m in sure) for at, to in places]

        def pages(keys: Sequence[str]) -> dict[str, tuple[int, ...]]:
            return {key: own for key, (own, _) in self._look_up(keys).items()}

        added = [
            Mention(text[(at := places[start][0]) : (to := places[end - 1][1])], at, to, own, True, True, how)
            for start, end, own, how in loose_names(
                text, places, words, taken, self.openers, pages, self._variants
            )
        ]
        exact = {(m.start, m.end) for m in kept if m.whole}
        added = [a for a in added if (a.start, a.end) not in exact]
        rest = [m for m in kept if not any(a.start < m.end and m.start < a.end for a in added)]
        return [*rest, *added]


def names_page(bearing: Bearing, is_place: Callable[[int], bool]) -> bool:
    """Whether a name of the corpus may mean its page in a question.

    The text of a link may be any word; it counts where it is written as a name and used twice.
    Titles of places tell namesakes apart by a comma: "Raymond, Maine" is a Raymond.
    """
    if bearing.kind == "anchor":
        return bearing.count > 1 and not mostly_small(bearing.name)
    return bearing.kind != "before comma" or is_place(bearing.page)


def _proper(
    text: str,
    places: Sequence[Place],
    words: Sequence[str],
    start: int,
    end: int,
    spelt: set[str],
    openers: frozenset[str],
) -> bool:
    at, to = places[start][0], places[end - 1][1]
    if text[at - 1 : at] == '"' and text[to : to + 1] == '"':
        return True
    significant = [n for n in range(start, end) if _signifies(places, words, n, openers)]
    if not significant:  # "It" within a question is a title, "I" is not
        inside = start > 0 and words[start - 1].isalnum() and words[start] != "i"
        inside = inside or (start == 0 and _is_genitive(text, places, words))
        return text[at].isupper() and (inside or (end - start > 1 and start > 0))
    upper = [n for n in significant if not text[places[n][0]].islower()]
    opens = significant[0] == 0 and len(significant) == 1 and "?" in text
    if significant[0] not in upper or opens:
        return False  # "capital of Wales"; "Music" as the first word of a question
    return 2 * len(upper) >= len(significant) or text[at:to] in spelt


def _is_genitive(text: str, places: Sequence[Place], words: Sequence[str]) -> bool:
    """Whether the first word has a genitive: that of "If's author" can be nothing else, that of "It's" can."""
    return words[1:3] == ["'", "s"] and places[2][0] == places[0][1] + 1 and words[0] not in _CONTRACTED


def mostly_small(name: str) -> bool:
    """Whether a name is written with fewer capitals than words: "Philadelphia crime family"."""
    words = name.split()
    return 2 * sum(word[0].isupper() for word in words) < len(words)


def _signifies(places: Sequence[Place], words: Sequence[str], n: int, openers: frozenset[str]) -> bool:
    """Whether a word tells something; neither "the" does nor the end of "It's"."""
    ending = n > 1 and words[n - 1] == "'" and places[n - 1] == (places[n - 2][1], places[n][0])
    return words[n].isalnum() and words[n] not in openers and not ending


def _whole(
    text: str, places: Sequence[Place], words: Sequence[str], start: int, end: int, openers: frozenset[str]
) -> bool:
    """Whether the words right before and after are no part of a longer name."""
    if text[places[start][0] - 1 : places[start][0]] == '"':
        return True
    before, after = start - 1, end
    if before > 0 and words[before] in (".", "-"):  # "J. Smith", "Anne-Marie"
        before -= 1
    if after < len(words) - 1 and words[after] in (",", ".", "-", ":"):  # "Smith, Jr."
        after += 1
        code = text[slice(*places[after])]
        if words[after - 1] == "," and code.isupper() and places_in(code):
            after = len(words)  # "Springfield, IL", not "Smith, Jordan"
    return not any(
        text[places[n][0]].isupper() and words[n] not in openers
        for n in (before, after)
        if 0 <= n < len(words) and n > 0
    )


def strangers(text: str, mentions: Sequence[Mention], openers: frozenset[str]) -> list[str]:
    """What is written as a name in a text and overlaps with no name that was found; one word alone where none was."""
    text = plain_signs(subject(text))
    places = token_places(text)
    words = [text[start:end].casefold() for start, end in places]
    listed = []
    for start, end in name_runs(text, places, words, openers):
        if start == 0 and sum(word.isalnum() for word in words[start:end]) > 2:
            start = 1  # "Send Zed Null the contract"
        several = sum(word.isalnum() for word in words[start:end]) > 1
        opens = start == 0 and not several  # a capital because a sentence begins
        at, to = places[start][0], places[end - 1][1]
        if not opens and (several or not mentions) and not any(m.start < to and at < m.end for m in mentions):
            listed.append(text[at:to])
    return listed


def remainder(text: str, mentions: Sequence[Mention]) -> list[str]:
    """The pieces of a question around its names."""
    text = plain_signs(text)
    pieces, at = [], 0
    for mention in mentions:
        pieces.append(text[at : mention.start])
        at = mention.end
    pieces.append(text[at:])
    return [piece for piece in pieces if piece.strip()]


def names_one_thing(text: str, mentions: Sequence[Mention], openers: frozenset[str] = frozenset()) -> bool:
    """Whether a question contains one whole name, and no other word of it is written as one."""
    one = len({mention.pages for mention in mentions}) == 1
    if not one or not all(mention.whole and mention.proper for mention in mentions):
        return False
    text, first = plain_signs(text), True
    taken = [(mention.start, mention.end) for mention in mentions]
    for at, to in token_places(text):
        inside = any(start <= at < end for start, end in taken)
        capital = text[at].isupper() and text[at:to].casefold() not in openers
        if capital and not inside and not first:
            return False
        first = False
    return True


# Names in a question that are not written as the corpus has them: which may be meant?


MOST_WORDS = 5
MOST_KEYS = 24
MOST_PARTIAL = 16  # A first or last name alone is looked up where no more names have it
_WORD = re.compile(r"[^\W_]+")
_CONTRACTED = frozenset(_WORD.findall("it that this there here he she what which who where when how why"))
_JOINTS = frozenset([".", ",", "-", "'"])
_LEFT_OUT = 3
_SHORTEST = 4
_MOST_WINDOWS = 16

Pages = tuple[int, ...]


class Variants(Protocol):
    """Names by their short forms, and words of names by how they are spelt."""

    def by_short_key(self, key: str, most: int) -> list[str]: ...

    def words_like(self, word: str, most: int = 8) -> list[str]: ...


class Loose(NamedTuple):
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
            if (loose := reader.partial(start, end)) is not None:
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
        for written, keys in self._ways(tokens, [token for token in tokens if token.isalnum()]):
            if pages := self._pages(keys):
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
        if not (keys := self._short(names[0])) and _may_be_genitive(names[0]):
            keys = self._short(names[0][:-1])
        pages = self._pages(keys)
        return Loose(start, end, pages, "in part") if pages else None

    def _short(self, word: str) -> list[str]:
        """The names that begin or end with a word, where they are few."""
        for form in foldings(word):
            if keys := self._variants.by_short_key(form, MOST_PARTIAL + 1):
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
    if not (words := name_words(name)) or len(words) > MOST_WORDS:
        return {}
    core = core_words(words)
    plain = _WORD.findall(plain_signs(without_parentheses(name)).casefold())
    spelt = dict.fromkeys([squeezed(core), squeezed(alike([folded(word) for word in plain]))])
    respelt = (key for text in spelt for key in variants.by_short_key(text, MOST_KEYS))
    forms = {"respelt": [" ".join(core), *respelt]}
    if len(words) == 1 or not all(map(str.isalpha, words)):
        return forms
    shorter = [f"{words[0]} {words[-1]}"] if len(words) > 2 else []
    forms["longer"] = [*_longer(words, variants), *shorter]
    first, *rest = words
    forms["nickname"] = []
    full = [*map(folded, nicknames().get(first, ()))]
    for other in dict.fromkeys(
        [*full, *(short for f in (first, *full) for short in short_forms().get(f, ()))]
    ):
        forms["nickname"] += [" ".join([other, *rest]), *_longer((other, *rest), variants)]
    return forms


def _longer(words: Words, variants: Variants) -> list[str]:
    keys = variants.by_short_key(f"{words[0]} {words[-1]}", _MOST_FORMS)
    if len(words[0]) == 1 or len(words) == 3:  # "J. Paul Lane" is John Paul Lane
        keys += variants.by_short_key(f"{words[0][0]} {words[-1]}", _MOST_FORMS)
    named = ((key, name_words(key)) for key in dict.fromkeys(keys))
    return [key for key, own in named if is_longer_form(own, words) or _same_initials(own, words)]


def _same_initials(one: Words, other: Words) -> bool:
    """Whether two names are the same but for first names that one of them has in full and the other by their initials."""
    return (
        len(one) == len(other)
        and one[-1] == other[-1]
        and all(a == b or (a[0] == b[0] and 1 in (len(a), len(b))) for a, b in zip(one, other, strict=True))
    )


def is_longer_form(longer: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words of a name, at least two, have others before them, or between the first and the last."""
    every = tuple(longer)
    added = len(every) - len(words)
    if len(words) < 2 or not 0 <= added <= _MOST_ADDED or not all(map(str.isalpha, every)):
        return False
    ends = every[-len(words) :] == tuple(words)
    around = len(words) == 2 and (every[0], every[-1]) == tuple(words)
    return ends or around
