"""Collections: which types of entities, which properties, and the templates that ask for them."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError, did_you_mean

FOLDER = Path(__file__).parent / "collections"
PUBLISHED = ("human", "nonhuman")
"""The paper's collections, AmbER-H and AmbER-N."""
NAME_SLOT, OBJECT_SLOT, QUALIFIER_SLOT = "$name", "$object", "$qualifier"

Popularity = Literal["views", "sitelinks", "links", "none"]


class EntityType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A type by its id in the knowledge base, and the properties that tell its entities apart."""

    id: str
    properties: tuple[str, ...]
    label: str = ""


class PropertyTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a property is asked for and claimed, by language; what is missing is made from the label."""

    label: str = ""
    questions: Mapping[str, tuple[str, ...]] = {}
    claims: Mapping[str, tuple[str, ...]] = {}


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What AmbER sets are made of; `different_types` asks for bearers of different types (AmbER-N).

    In a catalogue every entry has the same properties, so that none tells two namesakes apart. There
    `qualifier` names the property whose value does, and questions say it: "Paris (Texas)".
    """

    name: str
    types: Mapping[str, EntityType]
    key: str = ""
    description: str = ""
    popularity: Popularity = "views"
    different_types: bool = False
    qualifier: str | None = None
    properties: Mapping[str, PropertyTemplates] = {}

    @property
    def property_ids(self) -> tuple[str, ...]:
        """Every property of every type, each once, in order."""
        return tuple(dict.fromkeys(p for t in self.types.values() for p in t.properties))

    def label(self, prop: str) -> str:
        known = self.properties.get(prop)
        return known.label if known is not None else ""

    def questions(self, prop: str, language: str) -> tuple[str, ...]:
        known = self.properties.get(prop)
        return tuple(known.questions.get(language, ())) if known is not None else ()

    def claims(self, prop: str, language: str) -> tuple[str, ...]:
        known = self.properties.get(prop)
        return tuple(known.claims.get(language, ())) if known is not None else ()


def builtin_names() -> list[str]:
    """The collections that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_collection(name_or_file: str) -> Collection:
    """A built-in collection by its name, or one from a TOML or JSON file, checked."""
    builtin = FOLDER / f"{name_or_file}.toml"
    path = builtin if builtin.is_file() else Path(name_or_file)
    if not path.is_file():
        raise UsageError(
            f"there is no collection {name_or_file!r} and no such file",
            hint=did_you_mean(name_or_file, builtin_names()),
        )
    collection = parse_collection(_document(path), path)
    return collection if collection.key else msgspec.structs.replace(collection, key=path.stem)


def _document(path: Path) -> Any:
    try:
        if path.suffix == ".json":
            return msgspec.json.decode(path.read_bytes())
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"not a collection: {error}", file=path) from error


def parse_collection(document: Any, path: str | Path) -> Collection:
    """A collection from a decoded document; `path` is named in errors."""
    try:
        collection = msgspec.convert(document, Collection)
    except msgspec.ValidationError as error:
        raise BadInput(f"not a collection: {error}", file=path) from error
    wrong = _wrong_templates(collection)
    if not collection.property_ids:
        wrong.append("no type has a property")
    if wrong:
        raise BadInput(
            "; ".join(wrong),
            file=path,
            hint=f"a question needs {NAME_SLOT}, a claim {NAME_SLOT} and {OBJECT_SLOT}",
        )
    return collection


def _wrong_templates(collection: Collection) -> list[str]:
    wrong = []
    qualifier = (QUALIFIER_SLOT,) if collection.qualifier else ()
    for prop, templates in collection.properties.items():
        for kind, by_language, slots in (
            ("question", templates.questions, (NAME_SLOT, *qualifier)),
            ("claim", templates.claims, (NAME_SLOT, OBJECT_SLOT, *qualifier)),
        ):
            for language, texts in by_language.items():
                for text in texts:
                    missing = [slot for slot in slots if slot not in text]
                    if missing:
                        wrong.append(
                            f"the {kind} template {text!r} of {prop} ({language}) has no slot "
                            f"{' and '.join(missing)}"
                        )
    return wrong


def labels() -> dict[str, str]:
    """Words for the ids of the published collections' properties and types."""
    words: dict[str, str] = {}
    for name in PUBLISHED:
        collection = load_collection(name)
        words |= {key: known.label for key, known in collection.properties.items()}
        words |= {entity_type.id: entity_type.label for entity_type in collection.types.values()}
    return words


@functools.cache  # asked for every fact of a benchmark
def _builtin(name: str) -> Collection:
    return load_collection(name)


def type_name(collection: str, types: Sequence[str], relation: str) -> str | None:
    """The type of a built-in collection that an entity is asked about as; None for other collections."""
    if collection not in builtin_names():
        return None
    for key, entity_type in _builtin(collection).types.items():
        if entity_type.id in types and relation in entity_type.properties:
            return entity_type.label or key
    return None
