"""What a Wikipedia address asks for: a page by its title or its number, in which wiki."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from whichone.errors import BadInput

_HOST = re.compile(r"([a-z-]+)(?:\.m)?\.wikipedia\.org$")


class Address(msgspec.Struct, frozen=True):
    """`wiki` as in page ids ("enwiki"), None where the host does not say; `number` wins over `title`."""

    title: str
    number: str | None = None
    wiki: str | None = None


def read_address(text: str) -> Address:
    """The title is percent-decoded, with blanks for underscores; empty where none is asked for."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise BadInput(f"not a web address: {text}") from error
    host = _HOST.search(parts.hostname or "")
    wiki = f"{host[1]}wiki".replace("-", "_") if host and host[1] != "www" else None
    asked = parse_qs(parts.query)
    if "title" in asked:
        written = asked["title"][0]
    else:
        written = unquote(parts.path.partition("/wiki/")[2] or parts.path.rpartition("/")[2])
    number = asked["curid"][0] if "curid" in asked else None
    return Address(written.replace("_", " ").strip(), number, wiki)
