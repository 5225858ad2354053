"""The things that invented facts point to: instruments, teams, record labels, people."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whichone.world import syllables
from whichone.world.kinds import QUANTITIES, VALUES, ValueKind
from whichone.world.model import Article, Block, Item, Statement

FIRST_ITEM = 2_000_000
FEWEST, MOST = 12, 2_000
_PAGELESS = 10  # every tenth value has no page, as in Wikidata
_PRACTISED_BY = "P3095"


class Value(msgspec.Struct, frozen=True):
    """One value: its item, and what those who use it are called."""

    item: Item
    user: Item | None = None

    @property
    def link(self) -> str:
        """How a page's text mentions it."""
        label, title = self.item.label, self.item.title
        if title is None:
            return label
        return f"[[{title}]]" if title == label else f"[[{title}|{label}]]"


class ValueTable:
    """All values of a world by property; their number grows with it, up to a bound."""

    def __init__(self, entities: int, first_name: int, seed: int) -> None:
        self.count = min(max(entities // 500, FEWEST), MOST)
        words = syllables.Shuffle(syllables.WORDS, seed)
        names = syllables.Shuffle(syllables.NAMES, seed)
        self.by_property: dict[str, list[Value]] = {}
        number = 0
        for prop, kind in VALUES.items():
            if prop in QUANTITIES:
                continue
            rows = []
            for _ in range(self.count):
                bare = syllables.word(words(number)).capitalize()
                person = " ".join(syllables.name(names(first_name + number)))
                rows.append(_value(kind, number, bare, person))
                number += 1
            self.by_property[prop] = rows

    def __iter__(self) -> Iterator[Value]:
        for values in self.by_property.values():
            yield from values


def _value(kind: ValueKind, number: int, bare: str, person: str) -> Value:
    def fill(pattern: str) -> str:
        return pattern.format(word=bare.lower() if kind.lowercase else bare)

    label = fill(kind.label) if kind.label else person
    title = label[0].upper() + label[1:] if number % _PAGELESS else None
    if not kind.label and title is not None:
        title = f"{title} (born {1800 + number % 180})" if number % 4 == 0 else title
    user = None
    if kind.practised_by and number % 3:
        users = fill(kind.practised_by)
        user = Item(
            id=f"Q{FIRST_ITEM + 2 * number + 1}",
            label=users,
            types=("Q28640",),
            title=users[0].upper() + users[1:],
        )
    statements = (
        (Statement(property=_PRACTISED_BY, kind="item", value=user.id),) if user is not None else ()
    )
    return Value(
        Item(
            id=f"Q{FIRST_ITEM + 2 * number}",
            label=label,
            aliases=(fill(kind.alias),) if kind.alias and number % 2 else (),
            description=kind.type_label,
            types=(kind.type,),
            statements=statements,
            title=title,
        ),
        user,
    )


def value_article(item: Item, sentences: list[str], views: int) -> Article | None:
    """The page of a value, or of those who use it; None for one without a page."""
    if item.title is None:
        return None
    lead = f"{item.label[0].upper()}{item.label[1:]} is a {item.description or 'occupation'}."
    return Article(
        title=item.title,
        blocks=(Block("paragraph", " ".join((lead, *sentences))),),
        categories=(f"Every {item.description or 'occupation'}",),
        item=item,
        views=views,
    )
