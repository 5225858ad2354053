"""Invented worlds of any size, block by block in constant memory; same seed, same bytes.

A block contains a fixed number of entities, and all bearers of a name are in one block, shuffled. It is
a pure function of the parameters and its number, so that workers can make blocks side by side.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import msgspec

from whichone.errors import UsageError
from whichone.world import syllables
from whichone.world.disambiguation import disambiguation_page, disambiguation_title
from whichone.world.invented_pages import Mentioned, invented_article
from whichone.world.kinds import HUMANS, OTHERS, Kind
from whichone.world.model import Article, Item, Wiki
from whichone.world.values import ValueTable, value_article
from whichone.world.vocabulary import Vocabulary

BLOCK = 5_000
"""Entities in a block."""
PAGES_A_BLOCK = 8 * BLOCK
FIRST_ITEM = 200_000_000
FIRST_DISAMBIGUATION_ITEM = 2_000_000_000
_HUMAN, _MIXED = 0.5, 0.05  # shares of the names shared by people only, and by people and others
_MOST_VIEWS = 50_000_000


class Invention(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of an invented world.

    `ambiguity` is the share of entities that share their name, `bearers_mean` how many bear a shared
    name on average, `skew` the exponent of Zipf's law for the views, `words` the mean length of a page.
    """

    entities: int
    seed: int = 0
    ambiguity: float = 0.2
    bearers_mean: float = 2.7
    skew: float = 1.0
    words: int = 120
    language: str = "en"

    def check(self) -> None:
        for wrong, message in (
            (self.entities < 1, f"--entities must be at least 1, not {self.entities}"),
            (self.entities > 10**9, "--entities is at most 1000000000"),
            (not 0 <= self.ambiguity <= 1, f"--ambiguity is from 0 to 1, not {self.ambiguity}"),
            (self.bearers_mean < 2, f"--bearers-mean is at least 2, not {self.bearers_mean}"),
            (not 0 <= self.skew <= 5, f"--skew is from 0 to 5, not {self.skew}"),
            (not 20 <= self.words <= 100_000, f"--words is from 20 to 100000, not {self.words}"),
        ):
            if wrong:
                raise UsageError(message)

    @property
    def blocks(self) -> int:
        return math.ceil(self.entities / BLOCK)

    @property
    def wiki(self) -> Wiki:
        return Wiki(language=self.language)


class Inventor:
    """What all blocks of a world share: values, vocabulary, the order of names and of popularity."""

    def __init__(self, invention: Invention) -> None:
        self.invention = invention
        self.values = ValueTable(invention.entities, invention.blocks * BLOCK, invention.seed)
        self.vocabulary = Vocabulary(invention.seed)
        self._names = syllables.Shuffle(syllables.NAMES, invention.seed)
        self._ranks = syllables.Shuffle(invention.entities, invention.seed + 7)

    def views(self, entity: int) -> int:
        """Zipf's law: the entity at rank r has c / r^skew views, the last one about three."""
        skew, n = self.invention.skew, self.invention.entities
        top = min(3.0 * n**skew, _MOST_VIEWS)
        return max(1, int(top / (self._ranks(entity) + 1) ** skew))

    def value_pages(self) -> Iterator[Article]:
        """The pages of values and of those who use them."""
        rng = random.Random(f"values {self.invention.seed}")
        for n, value in enumerate(self.values):
            for item in (value.item, value.user):
                if item is not None:
                    count = max(1, self.invention.words // 24)
                    text = [self.vocabulary.sentence(rng) for _ in range(count)]
                    article = value_article(item, text, 20 + 20_000 // (n % 997 + 1))
                    if article is not None:
                        yield article

    def value_items(self) -> Iterator[Item]:
        for value in self.values:
            yield value.item
            if value.user is not None:
                yield value.user

    def block(self, number: int) -> list[Article]:
        """The pages of one block: entities in shuffled order, then disambiguation pages."""
        invention = self.invention
        rng = random.Random(f"block {invention.seed} {number}")
        first = number * BLOCK
        size = min(BLOCK, invention.entities - first)
        places = list(range(first, first + size))
        rng.shuffle(places)
        groups = list(_groups(size, invention.ambiguity, invention.bearers_mean, rng))
        titles: set[str] = set()
        pages: dict[int, Article] = {}
        explained: list[Article] = []
        seen: list[Mentioned] = []
        taken = 0
        for n, bearers in enumerate(groups):
            members = places[taken : taken + bearers]
            taken += bearers
            name, kinds = self._name_and_kinds(first + n, bearers, rng)
            all_bearers = self._bearers(name, kinds, members, titles, seen, rng)
            seen += (Mentioned(a.views or 0, a.title, name) for a in all_bearers)
            pages.update(zip(members, all_bearers, strict=True))
            if bearers > 1:
                explained.append(
                    self._explain(name, all_bearers, titles, FIRST_DISAMBIGUATION_ITEM + first + n)
                )
        return [*(pages[place] for place in sorted(pages)), *explained]

    def _name_and_kinds(
        self, number: int, bearers: int, rng: random.Random
    ) -> tuple[str, list[Kind]]:
        first_name, two = syllables.name(self._names(number))
        draw = rng.random()
        if draw < _HUMAN:
            return f"{first_name} {two}", [rng.choice(HUMANS) for _ in range(bearers)]
        if draw < _HUMAN + _MIXED:
            return f"{first_name} {two}", [rng.choice((*HUMANS, *OTHERS)) for _ in range(bearers)]
        style = rng.random()
        name = f"The {first_name} {two}" if style < 0.2 else f"{first_name} {two}"
        return name, [rng.choice(OTHERS) for _ in range(bearers)]

    def _bearers(
        self,
        name: str,
        kinds: list[Kind],
        members: list[int],
        titles: set[str],
        seen: list[Mentioned],
        rng: random.Random,
    ) -> list[Article]:
        views = [self.views(member) for member in members]
        best = views.index(max(views))
        bearers = []
        for n, (kind, member) in enumerate(zip(kinds, members, strict=True)):
            bare = len(members) == 1 or (n == best and rng.random() < 0.6)
            title = name if bare else _free_title(f"{name} ({kind.title})", titles, member)
            titles.add(title)
            bearers.append(
                invented_article(
                    self,
                    rng,
                    name=name,
                    title=title,
                    kind=kind,
                    item_id=f"Q{FIRST_ITEM + member}",
                    views=views[n],
                    shared=len(members) > 1,
                    seen=seen,
                )
            )
        return bearers

    def _explain(self, name: str, bearers: list[Article], titles: set[str], item: int) -> Article:
        ordered = sorted(bearers, key=lambda a: (-(a.views or 0), a.title))
        lines = [(a.title, a.item.description if a.item else "") for a in ordered]
        title = disambiguation_title(name, titles)
        titles.add(title)
        total = sum(a.views or 0 for a in bearers)
        return disambiguation_page(name, title, lines, f"Q{item}", 1 + total // 50)


def _free_title(title: str, taken: set[str], member: int) -> str:
    return title if title not in taken else f"{title[:-1]}, no. {member + 1})"


def _groups(size: int, ambiguity: float, mean: float, rng: random.Random) -> Iterator[int]:
    """How many bearers each name of a block has: shared names first, then names of one."""
    left = min(round(ambiguity * size), size)
    alone = size - left
    more = (mean - 2) / (mean - 1)  # of a geometric distribution that starts at two
    while left > 1:
        bearers = 2
        while rng.random() < more:
            bearers += 1
        bearers = min(bearers, left)
        if left - bearers == 1:
            bearers += 1
        yield bearers
        left -= bearers
    for _ in range(alone + left):
        yield 1
