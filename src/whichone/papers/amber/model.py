"""AmbER sets as they leave the pipeline: a name, its bearers, their tuples and pages."""

from __future__ import annotations

import msgspec


class PageRef(msgspec.Struct, frozen=True, gc=False):
    """A page by its id (`source:id`) and title."""

    page: str
    title: str


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of a tuple: all its names, and whether one of them appears in a page's beginning.

    `value` is an entity id, an amount as Wikidata writes it, or a text, by `kind`. `extra` are the
    further answers of the released program: number words, and the names of those who use the value.
    """

    kind: str
    value: str
    unit: str | None = None
    names: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    found: bool = False


class AmberTuple(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A distinguishing fact that a page states: what queries are made of."""

    id: str
    property: str
    label: str
    values: tuple[Value, ...]
    pages: tuple[PageRef, ...]

    def answers(self) -> tuple[str, ...]:
        """The names of all values in order, repeated ones too."""
        return tuple(name for value in self.values for name in value.names)

    def extra_answers(self) -> tuple[str, ...]:
        return tuple(name for value in self.values for name in value.extra)


class AmberBearer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entity that has the set's name; without tuples it stays in the set, without queries."""

    entity: str
    label: str
    popularity: float | None
    is_head: bool
    names: tuple[str, ...]
    types: tuple[str, ...]
    tuples: tuple[AmberTuple, ...]
    pages: tuple[PageRef, ...]
    qualifier: str = ""


class AmberSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str
    bearers: tuple[AmberBearer, ...]

    @property
    def queried(self) -> tuple[AmberBearer, ...]:
        """The bearers with tuples."""
        return tuple(bearer for bearer in self.bearers if bearer.tuples)
