"""Does a page state the fact? One of the value's names must appear in its first 350 tokens.

Each candidate page is cut and normalised once, whatever the number of values and names looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from whichone.papers.amber.model import PageRef, Value
from whichone.papers.amber.rules import Rules
from whichone.text import amber

Key = tuple[str, str]
"""An entity and a property: whether its values are stated does not depend on the name set."""


class Aligned(msgspec.Struct, frozen=True):
    """Which of a fact's values appear in the entity's pages, and in which pages, in order of discovery."""

    found: tuple[bool, ...]
    pages: tuple[PageRef, ...]


def beginning(text: str, tokens: int) -> str:
    """The first tokens of a page, split at white space, normalised and fenced by blanks."""
    pieces = text.split(None, tokens)[:tokens]
    return f" {' '.join(amber.tokens(' '.join(pieces)))} "


def needle(name: str, rules: Rules) -> str | None:
    """A name as it is looked for; a name that normalises to nothing is found everywhere or nowhere."""
    normal = " ".join(amber.tokens(name))
    if normal:
        return f" {normal} "
    return "" if rules.empty_names_match else None


class Aligner:
    """Takes pages in any order, then says for each fact where it is stated."""

    def __init__(self, facts: Mapping[Key, Sequence[Value]], rules: Rules) -> None:
        self.rules = rules
        self.facts = facts
        self._wanted: dict[str, list[tuple[str, int, int, str]]] = {}
        self._hits: dict[Key, list[tuple[int, int, int, PageRef]]] = {}
        needles: dict[str, str | None] = {}
        for (entity, prop), values in facts.items():
            wanted = self._wanted.setdefault(entity, [])
            for v, value in enumerate(values):
                for n, name in enumerate(value.names):
                    if name not in needles:
                        needles[name] = needle(name, rules)
                    looked_for = needles[name]
                    if looked_for is not None:
                        wanted.append((prop, v, n, looked_for))
        self.pages = 0

    def take(self, entity: str, ref: PageRef, position: int, text: str) -> None:
        """Look for all of an entity's values on one of its pages."""
        wanted = self._wanted.get(entity)
        if not wanted:
            return
        self.pages += 1
        document = beginning(text, self.rules.tokens)
        if document == "  ":
            return
        for prop, v, n, looked_for in wanted:
            if looked_for in document:
                self._hits.setdefault((entity, prop), []).append((v, n, position, ref))

    def aligned(self) -> dict[Key, Aligned]:
        """Every fact that some page states: pages by value, then name, then place in the source."""
        stated = {}
        for key, hits in self._hits.items():
            hits.sort(key=lambda hit: hit[:3])
            values = {v for v, *_ in hits}
            stated[key] = Aligned(
                tuple(v in values for v in range(len(self.facts[key]))),
                tuple(dict.fromkeys(ref for *_, ref in hits)),
            )
        return stated


def align(
    facts: Mapping[Key, Sequence[Value]],
    pages: Iterable[tuple[str, PageRef, int, str]],
    rules: Rules,
) -> dict[Key, Aligned]:
    """All facts against all pages, given as entity, page, position and text."""
    aligner = Aligner(facts, rules)
    for entity, ref, position, text in pages:
        aligner.take(entity, ref, position, text)
    return aligner.aligned()
