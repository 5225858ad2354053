"""Anybody's own table of things to rows of a knowledge base, by a small TOML file.

name = "places"                 # begins every id: places:5128581
file = "places.jsonl"           # CSV, JSON lines or Parquet, beside the TOML file
delimiter = ";"                 # of a CSV file, if it is no comma
type = "place"                  # or the column that says it, under [columns]
[columns]
id = "geonameid"
name = "name"
aliases = "alternatenames"      # a list, or a text split at `separator` (default "|")
popularity = "population"       # kept as views
text = "description"            # the document; or [documents]
[attributes.country]            # one table a fact that is worth asking for
column = "countrycode"
label = "country"               # default: the attribute's name
kind = "string"                 # string, quantity, time, or entity: an id of this catalogue
[documents]
folder = "texts"                # <id>.txt, <id>.md, or a folder <id> of documents; others are nobody's
owner = "customer"              # or the field of their front matter that says whose they are
template = "{name} lies in {countrycode}."     # or a text made of columns
file = "letters.csv"            # or a table of documents, one a row
[documents.columns]             # its columns; as they are called when nothing is said:
id = "id"
owner = "owner"                 # the id of a row of the catalogue; empty: nobody's
title = "title"
text = "text"
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.lines import open_binary
from whichone.knowledge.readers.catalogue_documents import Documents
from whichone.knowledge.readers.columns import Columns
from whichone.knowledge.tables import ENTITIES, FACTS, NAMES, PAGES, PROPERTIES, VIEWS

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Kind = Literal["string", "quantity", "time", "entity"]
NAMES_WITHOUT_KEY = NAMES.schema.remove(NAMES.schema.get_field_index("key"))
SCHEMAS = {t.name: t.schema for t in (ENTITIES, FACTS, PROPERTIES, PAGES, VIEWS)} | {
    "names": NAMES_WITHOUT_KEY,
    "documents": PAGES.schema,
}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Attribute(_Strict, frozen=True):
    column: str
    label: str | None = None
    kind: Kind = "string"


class ColumnNames(_Strict, frozen=True):
    id: str
    name: str
    aliases: str | None = None
    type: str | None = None
    description: str | None = None
    popularity: str | None = None
    text: str | None = None


class Catalogue(_Strict, frozen=True):
    """What the columns of a file mean."""

    name: str
    file: str
    columns: ColumnNames
    type: str | None = None
    language: str = "en"
    separator: str = "|"
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] | None = None
    attributes: dict[str, Attribute] = {}
    documents: Documents = Documents()

    def wanted(self) -> list[str]:
        """Columns that the file must have."""
        named = [c for c in msgspec.structs.astuple(self.columns) if c is not None]
        return list(dict.fromkeys([*named, *(a.column for a in self.attributes.values())]))


def read_catalogue(path: Path) -> Catalogue:
    """The TOML file, checked."""
    with open_binary(path) as file:
        try:
            return msgspec.convert(tomllib.loads(file.read().decode()), Catalogue)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise BadInput(
                f"not a catalogue: {error}", file=path, hint="see docs/ingest.md"
            ) from error


class CatalogueReader:
    """Rows of a catalogue, as dicts, to rows of the knowledge base's tables."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self.catalogue = catalogue
        documents = catalogue.documents
        self.folder = folder / documents.folder if documents.folder else None
        self.texts = None if documents.owner else self.folder
        self._apart = bool(documents.owner or documents.file)

    def read(
        self, rows: Sequence[Mapping[str, Any]], first: int
    ) -> tuple[dict[str, pa.Table], Counter[str], list[tuple[int, str]]]:
        """Tables, counts, and the refused rows; `first` is the number of the first row."""
        found = {name: Columns(schema) for name, schema in SCHEMAS.items()}
        counts: Counter[str] = Counter({"records": len(rows), "positions": len(rows)})
        refused: list[tuple[int, str]] = []
        if first == 0:
            for row in self._properties():
                found["properties"].add(row)
        for number, record in enumerate(rows):
            try:
                self._take(_plain(record), number, found, counts)
            except ValueError as error:
                refused.append((first + number, f"row {first + number + 1}: {error}"))
        return {name: columns.table() for name, columns in found.items()}, counts, refused

    def _properties(self) -> list[tuple[object, ...]]:
        datatypes = {"entity": "wikibase-item", "quantity": "quantity", "time": "time"}
        return [
            (name, attribute.label or name, datatypes.get(attribute.kind, "string"), 0)
            for name, attribute in sorted(self.catalogue.attributes.items())
        ]

    def _take(
        self,
        row: Mapping[str, Any],
        position: int,
        found: dict[str, Columns],
        counts: Counter[str],
    ) -> None:
        columns, of = self.catalogue.columns, self.catalogue
        own, label = _text(row.get(columns.id)), _text(row.get(columns.name))
        if not own or not label:
            raise ValueError(f"{columns.name if own else columns.id} is empty")
        entity = f"{of.name}:{own}"
        facts, text = self._facts(row, entity), self._document(own, row)
        popularity = _count(row.get(columns.popularity)) if columns.popularity else None
        description = _text(row.get(columns.description)) if columns.description else None
        kind = _text(row.get(columns.type)) if columns.type else of.type
        types = [kind] if kind else []
        found["entities"].add((entity, label, description, types, None, entity, position, of.name))
        for place, (name, known_as) in enumerate(self._names(row, label)):
            found["names"].add((entity, name, of.language, known_as, 1, place))
        for fact in facts:
            found["facts"].add(fact)
        if popularity is not None:
            found["views"].add((entity, popularity, of.name))
        else:
            counts["without popularity"] += bool(columns.popularity)
        if text:
            found["pages"].add(_page(entity, label, text, position))
        elif not self._apart and not self._has_folder(own):
            counts["without a document"] += 1

    def _names(self, row: Mapping[str, Any], label: str) -> list[tuple[str, str]]:
        column = self.catalogue.columns.aliases
        aliases = _several(row.get(column), self.catalogue.separator) if column else []
        return [(label, "label"), *((a, "alias") for a in dict.fromkeys(aliases) if a != label)]

    def _facts(self, row: Mapping[str, Any], entity: str) -> list[tuple[object, ...]]:
        facts: list[tuple[object, ...]] = []
        for name, attribute in self.catalogue.attributes.items():
            for given in _several(row.get(attribute.column), self.catalogue.separator):
                value = self._value(given, attribute)
                place = len(facts)
                facts.append(
                    (entity, name, attribute.kind, value, None, None, None, "normal", place)
                )
        return facts

    def _value(self, value: str, attribute: Attribute) -> str:
        if attribute.kind == "entity":
            return f"{self.catalogue.name}:{value}"
        if attribute.kind == "quantity":
            if not _NUMBER.fullmatch(value):
                raise ValueError(f"{attribute.column} is no number: {value!r}")
            return value if value[0] in "+-" else f"+{value}"
        return value

    def _document(self, own: str, row: Mapping[str, Any]) -> str | None:
        documents, column = self.catalogue.documents, self.catalogue.columns.text
        if column and _text(row.get(column)):
            return _text(row.get(column))
        if self.texts is not None:
            for suffix in (".txt", ".md"):
                file = self.texts / f"{own}{suffix}"
                if file.is_file():
                    return _read_text(file)
        if documents.template:
            known = {**dict.fromkeys(self.catalogue.wanted()), **row}
            shown = {column: "" if value is None else value for column, value in known.items()}
            try:
                return documents.template.format_map(shown)
            except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
                raise ValueError(f"the template does not fit: {error}") from None
        return None

    def _has_folder(self, own: str) -> bool:
        return self.texts is not None and (self.texts / own).is_dir()


def _page(entity: str, title: str, text: str, position: int) -> tuple[object, ...]:
    paragraphs = [title, *(p.strip() for p in text.split("\n") if p.strip())]
    return (entity, title, entity, "article", paragraphs, [], None, None, position, None)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers without a point: tables with gaps in a column keep them as 5128581.0."""
    return {
        column: int(value) if isinstance(value, float) and value.is_integer() else value
        for column, value in row.items()
    }


def _read_text(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: {error}") from None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value).strip()
    return text or None


def _several(value: Any, separator: str) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, list | tuple) else str(value).split(separator)
    return [text for v in values if (text := _text(v))]


def _count(value: Any) -> int | None:
    text = _text(value)
    if text is None:
        return None
    try:
        count = int(float(text))
    except (ValueError, OverflowError):
        raise ValueError(f"popularity is no number: {text!r}") from None
    if count >= 1 << 63:
        raise ValueError(f"popularity is too large: {text[:40]!r}")
    if count < 0:
        raise ValueError(f"popularity is below zero: {text!r}")
    return count
