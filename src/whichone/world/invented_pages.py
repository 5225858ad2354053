"""One invented entity: its item, its facts, and a page whose text states most of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from whichone.world.kinds import QUANTITIES, VALUES, Kind
from whichone.world.model import Article, Block, Item, Statement
from whichone.world.vocabulary import WORDS_A_SENTENCE

if TYPE_CHECKING:
    from whichone.world.invent import Inventor

_EARLY, _LATE = 0.85, 0.07  # where a page states a fact: in its lead, at its end; else nowhere
_OTHER_LABEL = 0.25  # share of bearers whose label is longer and who bear the name as an alias
_REDIRECT = 0.5


class Mentioned(NamedTuple):
    """A page that others may link to by the name it has."""

    views: int
    title: str
    name: str


def invented_article(
    inventor: Inventor,
    rng: random.Random,
    *,
    name: str,
    title: str,
    kind: Kind,
    item_id: str,
    views: int,
    shared: bool,
    seen: Sequence[Mentioned],
) -> Article:
    """The page of one entity, with its item."""
    year = rng.randrange(1700, 2010)
    longer = f"{name} of {rng.choice(inventor.vocabulary.phrases).split()[-1].capitalize()}"
    other_label = shared and rng.random() < _OTHER_LABEL
    label, alias = (longer, name) if other_label else (name, longer)
    statements, early, late = _facts(inventor, rng, name, kind)
    born = "P569" if kind.type == "Q5" else "P571"
    statements.append(Statement(property=born, kind="time", value=f"{year}-01-01"))
    description = f"{kind.title} of {year}"
    item = Item(
        id=item_id,
        label=label,
        aliases=(alias,) if other_label or rng.random() < _REDIRECT else (),
        description=description,
        types=(kind.type,),
        statements=tuple(statements),
        title=title,
        sitelinks=1 + min(len(str(views)) * 3, 24),
    )
    lead = f"{name} is a {kind.title} of {year}."
    # An item's number is in the redirect's title, so that no two pages want the same one.
    redirects = (f"{longer} ({item_id})",) if len(item.aliases) and not shared else ()
    return Article(
        title=title,
        blocks=_blocks(inventor, rng, [lead, *early, *_mention(rng, seen)], late),
        categories=(f"Every {kind.title}", f"Of {year}"),
        item=item,
        views=views,
        redirects=redirects,
    )


def _facts(
    inventor: Inventor, rng: random.Random, name: str, kind: Kind
) -> tuple[list[Statement], list[str], list[str]]:
    """Statements, and the sentences that state them early and late in the text."""
    statements: list[Statement] = []
    early: list[str] = []
    late: list[str] = []
    wanted = rng.sample(kind.properties, rng.randint(1, len(kind.properties)))
    for prop in wanted:
        for _ in range(1 if prop in QUANTITIES or rng.random() < 0.75 else 2):
            statement, mention = _fact(inventor, rng, prop)
            statements.append(statement)
            sentence = VALUES[prop].sentence.format(name=name, value=mention)
            draw = rng.random()
            if draw < _EARLY:
                early.append(sentence)
            elif draw < _EARLY + _LATE:
                late.append(sentence)
    if rng.random() < 0.03:
        statements.append(Statement(property=wanted[0], kind="somevalue", value=""))
    return statements, early, late


def _fact(inventor: Inventor, rng: random.Random, prop: str) -> tuple[Statement, str]:
    if prop in QUANTITIES:
        low, high = QUANTITIES[prop]
        amount = int(low * (high / low) ** rng.random())
        shown = f"{amount:,}" if rng.random() < 0.5 else str(amount)
        return Statement(property=prop, kind="quantity", value=str(amount)), shown
    values = inventor.values.by_property[prop]
    # The square makes low numbers frequent: some instruments are played by many.
    value = values[int(len(values) * rng.random() ** 2)]
    old = rng.random() < 0.02
    statement = Statement(
        property=prop, kind="item", value=value.item.id, rank="deprecated" if old else "normal"
    )
    return statement, value.link


def _mention(rng: random.Random, seen: Sequence[Mentioned]) -> list[str]:
    """A link to the most viewed of three pages, so that in-links follow the views."""
    if not seen:
        return []
    best = max(rng.choice(seen) for _ in range(3))
    return [f"It is often mentioned together with [[{best.title}|{best.name}]]."]


def _blocks(
    inventor: Inventor, rng: random.Random, lead: list[str], late: list[str]
) -> tuple[Block, ...]:
    words = int(inventor.invention.words * (0.5 + rng.random()))
    count = max(1, (words - 6 * len(lead)) // WORDS_A_SENTENCE)
    filler = [inventor.vocabulary.sentence(rng) for _ in range(count)]
    cut = max(1, count // 3)
    blocks = [Block("paragraph", " ".join((*lead, *filler[:cut])))]
    rest = filler[cut:]
    if rest:
        blocks.append(Block("heading", rng.choice(("History", "Life", "Details", "Reception")), 2))
        blocks += (Block("paragraph", " ".join(rest[n : n + 6])) for n in range(0, len(rest), 6))
    if rng.random() < 0.3:
        kinds = list(inventor.values.by_property)
        seen = (rng.choice(inventor.values.by_property[rng.choice(kinds)]) for _ in range(2))
        blocks.append(Block("heading", "See also", 2))
        blocks += (Block("bullet", value.link) for value in seen)
    if late:
        blocks.append(Block("paragraph", " ".join(late)))
    return tuple(blocks)
