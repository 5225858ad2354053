"""Does a page state the fact? One of the value's names must appear in its first 350 tokens.

Each candidate page is cut and normalised once, whatever the number of values and names looked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.papers.amber.model import PageRef, Value
from whichone.papers.amber.rules import Rules
from whichone.text import normalisers

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Engine

Key = tuple[str, str]
"""An entity and a property: whether its values are stated does not depend on the name set."""


class Aligned(msgspec.Struct, frozen=True):
    """Which of a fact's values appear in the entity's pages, and in which pages, in order of discovery."""

    found: tuple[bool, ...]
    pages: tuple[PageRef, ...]


def beginning(text: str, tokens: int) -> str:
    """The first tokens of a page, split at white space, normalised and fenced by blanks."""
    pieces = text.split(None, tokens)[:tokens]
    return f" {' '.join(normalisers.amber_tokens(' '.join(pieces)))} "


@functools.lru_cache(100_000)
def _normal(name: str) -> str:
    return " ".join(normalisers.amber_tokens(name))


def needle(name: str, rules: Rules) -> str | None:
    """A name as it is looked for; a name that normalises to nothing is found everywhere or nowhere."""
    normal = _normal(name)
    if normal:
        return f" {normal} "
    return "" if rules.empty_names_match else None


class Hit(NamedTuple):
    """A value's name on a page: the n-th name of the v-th value of a property."""

    property: str
    v: int
    n: int


Names: TypeAlias = Mapping[str, Sequence[Sequence[str]]]
"""The names of an entity's values, by property."""


class PageHits(msgspec.Struct, frozen=True):
    """What of an entity's values appears on one of its pages; `position` is the page's place in its source."""

    entity: str
    page: PageRef
    position: int
    hits: list[Hit]


def hits(names: Names, text: str, rules: Rules) -> list[Hit]:
    """Look for all of an entity's values on one of its pages."""
    document = beginning(text, rules.tokens)
    if document == "  ":
        return []
    return [
        Hit(prop, v, n)
        for prop, values in names.items()
        for v, own in enumerate(values)
        for n, name in enumerate(own)
        if (looked_for := needle(name, rules)) is not None and looked_for in document
    ]


def aligned(facts: Mapping[Key, Sequence[Value]], pages: Iterable[PageHits]) -> dict[Key, Aligned]:
    """Every fact that some page states: pages by value, then name, then place in the source."""
    places: dict[Key, list[tuple[int, int, int, PageRef]]] = {}
    for page in pages:
        for prop, v, n in page.hits:
            places.setdefault((page.entity, prop), []).append((v, n, page.position, page.page))
    stated = {}
    for key, seen in places.items():
        seen.sort(key=lambda hit: (*hit[:3], hit[3].page))
        values = {v for v, *_ in seen}
        stated[key] = Aligned(
            tuple(v in values for v in range(len(facts[key]))),
            tuple(dict.fromkeys(ref for *_, ref in seen)),
        )
    return stated


def align(
    facts: Mapping[Key, Sequence[Value]], engine: Engine, pages: Table, rules: Rules
) -> dict[Key, Aligned]:
    """All facts against all pages of their entities; texts are read where the pages are."""
    seen = look_on_pages(engine, pages, "entity", _asked(facts), _Look(rules))
    return aligned(facts, map(_HITS.decode, seen))


def _asked(facts: Mapping[Key, Sequence[Value]]) -> Iterator[tuple[str, bytes]]:
    by_entity: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for (entity, prop), values in facts.items():
        by_entity.setdefault(entity, {})[prop] = [value.names for value in values]
    for entity, names in by_entity.items():
        yield entity, msgspec.msgpack.encode(names)


_NAMES = msgspec.msgpack.Decoder(dict[str, list[list[str]]])
_HITS = msgspec.msgpack.Decoder(PageHits)


class _Look:
    """Looks for the values of one page's entity."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __call__(self, page: PageRow) -> bytes | None:
        text = " ".join(part for part in page.paragraphs or () if part is not None)
        seen = hits(_NAMES.decode(page.asked), text, self._rules)
        if not seen or page.entity is None:
            return None
        ref = PageRef(page.page, page.title)
        return msgspec.msgpack.encode(PageHits(page.entity, ref, page.position, seen))
