"""The shapes of a Wikidata entity's JSON, as far as they are read, and what its values mean."""

from __future__ import annotations

from typing import Any

import msgspec


class Text(msgspec.Struct, gc=False):
    value: str


class Value(
    msgspec.Struct, gc=False, rename={"entity_type": "entity-type", "numeric_id": "numeric-id"}
):
    """The union of all kinds of values that are objects."""

    id: str | None = None
    entity_type: str | None = None
    numeric_id: int | None = None
    amount: str | None = None
    unit: str | None = None
    time: str | None = None
    precision: float | None = None
    text: str | None = None
    language: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class DataValue(msgspec.Struct, gc=False):
    value: str | Value
    type: str


class Snak(msgspec.Struct, gc=False):
    snaktype: str = "value"
    datavalue: DataValue | None = None


class Statement(msgspec.Struct, gc=False):
    mainsnak: Snak
    rank: str = "normal"


class Sitelink(msgspec.Struct, gc=False):
    title: str


def by_language(name: str, languages: tuple[str, ...], value: Any) -> Any:
    """A record with one optional field a language; all other languages are passed over unread.

    Wikibase writes an empty map as an empty list in some dumps.
    """
    fields = [(f"in_{n}", value | None, None) for n in range(len(languages))]
    rename = {f"in_{n}": language for n, language in enumerate(languages)}
    return msgspec.defstruct(name, fields, rename=rename, gc=False) | list[None] | None


def _precision(given: float | None) -> int:
    """Wikidata's are 0 to 14; a number that is none of them says nothing."""
    return int(given) if given is not None and 0 <= given <= 127 else 0


def fact_of(given: DataValue) -> tuple[str, str, str | None, int | None, str | None] | None:
    """Kind, value, unit, precision and language; None for a kind of value that is not known."""
    value, kind = given.value, given.type
    if isinstance(value, str):
        return ("string", value, None, None, None) if kind == "string" else None
    if kind == "wikibase-entityid":
        entity = value.id or _from_number(value)
        return ("entity", entity, None, None, None) if entity else None
    if kind == "quantity" and value.amount is not None:
        return "quantity", value.amount, _unit(value.unit), None, None
    if kind == "time" and value.time is not None:
        return "time", value.time, None, _precision(value.precision), None
    if kind == "monolingualtext" and value.text is not None:
        return "monolingual", value.text, None, None, value.language
    if kind == "globecoordinate" and value.latitude is not None and value.longitude is not None:
        return "coordinate", f"{value.latitude!r} {value.longitude!r}", None, None, None
    return None


def _from_number(value: Value) -> str | None:
    """The id of an entity in dumps before 2017, which give its number only."""
    letter = {"item": "Q", "property": "P", "lexeme": "L"}.get(value.entity_type or "")
    return f"{letter}{value.numeric_id}" if letter and value.numeric_id is not None else None


def _unit(unit: str | None) -> str | None:
    if unit is None or unit == "1":
        return None
    return unit.rpartition("/entity/")[2]
