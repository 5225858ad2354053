"""Markup in a block's text: `[[Title]]`, `[[Title|text]]`, `[[!Title]]` for a page that is not there,
and MediaWiki's quotes for italics and bold."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

QUOTES = re.compile(r"'{2,}")
LINK = re.compile(r"\[\[(!?)([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")


class Link(msgspec.Struct, frozen=True):
    """One link: its target, its visible text, where that appears in the plain text, and if it is red."""

    target: str
    text: str
    start: int
    end: int
    red: bool


def plain_text(text: str) -> tuple[str, list[Link]]:
    """The text a reader sees, and its links with their spans in it."""
    if "''" in text:
        text = QUOTES.sub("", text)
    if "[[" not in text:
        return text, []
    pieces: list[str] = []
    links: list[Link] = []
    position = length = 0
    for match in LINK.finditer(text):
        before = text[position : match.start()]
        shown = match[3] or match[2]
        start = length + len(before)
        length = start + len(shown)
        pieces += (before, shown)
        links.append(Link(match[2], shown, start, length, bool(match[1])))
        position = match.end()
    pieces.append(text[position:])
    return "".join(pieces), links


def wikitext(text: str) -> str:
    """The text with its links as MediaWiki writes them: a red link looks like any other."""
    return text.replace("[[!", "[[")


def link_targets(text: str) -> Iterator[tuple[str, bool]]:
    """Target and redness of every link."""
    for match in LINK.finditer(text):
        yield match[2], bool(match[1])
