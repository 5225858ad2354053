"""What of a Wikidata dump is kept: languages with their fallbacks, a wiki, properties."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.lines import read_lines
from whichone.knowledge.formats.wikidata import Selection
from whichone.knowledge.formats.wikidata_choice import SUBCLASS_OF

_PROPERTY = re.compile(r"P[1-9][0-9]*")


@cache
def _known() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("wikidata_selection.toml").read_text("utf-8")
    return tomllib.loads(text)


def select(
    languages: Sequence[str] = ("en",),
    *,
    wiki: str | None = None,
    properties: str = "all",
    without_page: bool = False,
    superclasses: bool = False,
) -> Selection:
    """A selection as it is typed; the wiki is that of the first language unless it is named."""
    if not languages:
        raise UsageError("no language is chosen", hint="for example --language en")
    known = _known()["fallbacks"]
    fallbacks = [f for language in languages for f in known.get(language, ["mul"])]
    chosen = chosen_properties(properties)
    if superclasses and chosen is not None:
        chosen = tuple(dict.fromkeys((*chosen, SUBCLASS_OF)))
    return Selection(
        languages=tuple(dict.fromkeys(languages)),
        fallbacks=tuple(dict.fromkeys(f for f in fallbacks if f not in languages)),
        wiki=wiki or f"{languages[0].replace('-', '_')}wiki",
        properties=chosen,
        without_page=without_page,
        superclasses=superclasses,
    )


def chosen_properties(text: str) -> tuple[str, ...] | None:
    """`all` (None), the name of a collection, or a file with one property id a line."""
    collections = _known()["collections"]
    if text == "all":
        return None
    if text in collections:
        return tuple(collections[text])
    if not Path(text).is_file():
        raise UsageError(
            f"{text!r} is neither a file nor a collection of properties",
            hint=did_you_mean(text, ["all", *collections]),
        )
    properties = []
    for line, raw in read_lines(text):
        word = raw.partition(b"#")[0].strip().decode("utf-8", "replace")
        if word and not _PROPERTY.fullmatch(word):
            raise BadInput(f"{word!r} is no property id such as P31", file=text, line=line)
        if word:
            properties.append(word)
    if not properties:
        raise BadInput("no property is listed", file=text)
    return tuple(dict.fromkeys(properties))
