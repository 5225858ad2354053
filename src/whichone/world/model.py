"""What a world consists of before it takes the shape of dumps: items, properties and articles."""

from __future__ import annotations

from typing import Literal

import msgspec

StatementKind = Literal["item", "quantity", "time", "string", "somevalue"]
BlockKind = Literal["paragraph", "heading", "bullet"]

DISAMBIGUATION_TYPE = "Q4167410"
"""Wikidata's class of disambiguation pages, which are items too and bear the name they explain."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of an item; `value` is an item id, an amount, an ISO date or a text, by `kind`."""

    property: str
    kind: StatementKind
    value: str
    rank: Literal["preferred", "normal", "deprecated"] = "normal"
    source: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A Wikidata item; `title` is that of its page in the world's Wikipedia, if it has one."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    title: str | None = None
    sitelinks: int = 1


class Property(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str
    datatype: str = "wikibase-item"
    description: str = ""


class Block(msgspec.Struct, frozen=True):
    """A paragraph, heading or list item; `text` may contain links as `[[Title]]` or `[[Title|text]]`."""

    kind: BlockKind
    text: str
    level: int = 0


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """A page: of an item, of nothing in particular, or the disambiguation page of a name."""

    title: str
    blocks: tuple[Block, ...]
    categories: tuple[str, ...] = ()
    item: Item | None = None
    views: int | None = None
    redirects: tuple[str, ...] = ()
    disambiguation: bool = False


class Wiki(msgspec.Struct, frozen=True, kw_only=True):
    """The wiki of a world: its language decides site names, projects and namespace words."""

    language: str = "en"
    timestamp: str = "2019-08-01T00:00:00Z"

    @property
    def site(self) -> str:
        return f"{self.language.replace('-', '_')}wiki"
