"""Reads a world's source, TOML and Markdown as `source/FORMAT.md` describes it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whichone.errors import BadInput, Missing
from whichone.world.model import Property
from whichone.world.pages import PageText, read_pages

BUILTIN = Path(__file__).parent / "source"
"""Where the source of the built-in world is stored."""

T = TypeVar("T")


class SourceFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact and the line that says how we know it; exactly one of `value` and `quantity`."""

    property: str
    source: str
    value: str | None = None
    quantity: int | None = None


class SourceEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bearer of a name, or a value that facts point to; `file` and `line` say where it appears."""

    id: str
    label: str
    types: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""
    page: str | None = None
    redirects: tuple[str, ...] = ()
    views: int | None = None
    fact: tuple[SourceFact, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


class NameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shared name and its bearers: one TOML file."""

    name: str
    entity: tuple[SourceEntity, ...]
    collection: str = ""
    file: str = ""


class TypeName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A type as the source names it: its item and what that is called."""

    id: str
    label: str


class Source(msgspec.Struct, frozen=True):
    """A whole world as its authors wrote it."""

    names: tuple[NameFile, ...]
    values: tuple[SourceEntity, ...]
    pages: tuple[PageText, ...]
    properties: tuple[Property, ...]
    types: dict[str, TypeName]

    def entities(self) -> Iterator[SourceEntity]:
        """Every bearer, then every value."""
        for name in self.names:
            yield from name.entity
        yield from self.values


def read_source(folder: Path = BUILTIN) -> Source:
    """All files of a world's source; a file that cannot be understood is an error with its place."""
    if not folder.is_dir():
        raise Missing("no folder with a world's source", where=str(folder))
    names: list[NameFile] = []
    values: list[SourceEntity] = []
    pages: list[PageText] = []
    properties: dict[str, Property] = {}
    types: dict[str, TypeName] = {}
    for path in sorted(folder.rglob("*.toml")):
        text = path.read_text(encoding="utf-8")
        document = _document(path, text)
        match path.name:
            case "values.toml":
                values += _placed(_convert(document.get("value", []), path, list), path, text)
            case "properties.toml":
                properties |= _properties(document, path)
            case "types.toml":
                types |= _types(document, path)
            case _:
                names.append(_name_file(document, path, text))
    for path in sorted(folder.rglob("*.md")):
        if path.name != "FORMAT.md":
            pages += read_pages(path)
    return Source(tuple(names), tuple(values), tuple(pages), tuple(properties.values()), types)


def _document(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"not TOML: {error}", file=path) from error


def _convert(document: object, path: Path, type: type[T]) -> T:
    try:
        return msgspec.convert(document, type)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"not as FORMAT.md asks: {error}", file=path, hint="see world/source/FORMAT.md"
        ) from error


def _placed(rows: list[Any], path: Path, text: str) -> list[SourceEntity]:
    entities = _convert(rows, path, list[SourceEntity])
    lines = text.splitlines()
    placed = []
    for entity in entities:
        mark = f'"{entity.id}"'
        line = next((n for n, row in enumerate(lines, 1) if mark in row), 0)
        placed.append(msgspec.structs.replace(entity, file=str(path), line=line))
    return placed


def _name_file(document: dict[str, Any], path: Path, text: str) -> NameFile:
    shell = _convert({**document, "entity": []}, path, NameFile)
    bearers = _placed(document.get("entity", []), path, text)
    return msgspec.structs.replace(
        shell, entity=tuple(bearers), collection=path.parent.name, file=str(path)
    )


def _properties(document: dict[str, Any], path: Path) -> dict[str, Property]:
    """`[P1303]` tables with label, datatype and description, or plain `P1303 = "instrument"`."""
    return {
        key: _convert(
            {**(row if isinstance(row, dict) else {"label": row}), "id": key}, path, Property
        )
        for key, row in document.items()
    }


def _types(document: dict[str, Any], path: Path) -> dict[str, TypeName]:
    """`[human]` tables with id and label, or plain `human = "Q5"`."""
    return {
        key: _convert(row if isinstance(row, dict) else {"id": row, "label": key}, path, TypeName)
        for key, row in document.items()
    }
