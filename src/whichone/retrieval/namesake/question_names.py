"""Which names does a question contain, and who has them?"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from whichone.corpus.page_names import Bearing
from whichone.names import plain_signs, token_key, token_places
from whichone.retrieval.namesake.knowledge_evidence import RelationTable
from whichone.retrieval.namesake.loose_names import Variants, loose_names, name_runs, name_words, other_forms
from whichone.retrieval.namesake.spelling import core_words

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
    proper: bool
    """It is written like a name there: with a capital, a digit, or between quotation marks."""
    whole: bool = True
    """No further name-like word appears beside it: "Paul" in "Paul Walker" is not whole."""
    written: str = ""
    """How it differs from the name it was found by: "typo", "initials"; empty where it does not."""


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
        for key in keys:
            if key in self._pages:
                bearers[key] = (self._pages[key], frozenset())
        if self._corpus is None:
            return bearers
        for key, bearings in self._corpus.look_up(keys).items():
            kept = [bearing for bearing in bearings if names_page(bearing, self._is_place)]
            if kept:
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
            bearers = self.bearers(text)
            if bearers:
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
            if not (end - start == 1 and words[start] in self.openers and start == 0):
                written = end - start > 1 or words[start].isdigit()
                spelt = self._spelt | small
                proper = written
                if cased:
                    proper = _proper(text, places, words, start, end, spelt, self.openers)
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

        loose = loose_names(text, places, words, taken, self.openers, pages, self._variants)
        added = [
            Mention(
                text[places[result.start][0] : places[result.end - 1][1]],
                places[result.start][0],
                places[result.end - 1][1],
                result.pages,
                True,
                True,
                result.written,
            )
            for result in loose
        ]
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
        return text[at].isupper() and (inside or (end - start > 1 and start > 0))
    upper = [n for n in significant if not text[places[n][0]].islower()]
    opens = significant[0] == 0 and len(significant) == 1 and "?" in text
    if significant[0] not in upper or opens:
        return False  # "capital of Wales"; "Music" as the first word of a question
    return 2 * len(upper) >= len(significant) or text[at:to] in spelt


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
    if len({mention.pages for mention in mentions}) != 1:
        return False
    if not all(mention.whole and mention.proper for mention in mentions):
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
