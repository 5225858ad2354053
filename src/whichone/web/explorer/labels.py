"""Words for the ids of types and relations: those of the papers' collections, and a benchmark's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from whichone.files.folder import Folder


def labelled(folder: Folder) -> Callable[[str], str]:
    """An id with its word before it, "Human (Q5)", where there is one."""
    words = _published() | _own(folder.manifest.parameters)
    return cache(lambda key: f"{words[key]} ({key})" if key in words else key)


@cache
def _published() -> dict[str, str]:
    from whichone.papers.amber.collection import load_collection
    from whichone.papers.entityquestions.relations import published_relations

    found: dict[str, str | None] = {}
    for name in ("human", "nonhuman"):
        collection = load_collection(name)
        found |= {key: known.label for key, known in collection.properties.items()}
        found |= {entity_type.id: entity_type.label for entity_type in collection.types.values()}
    found |= {key: relation.label for key, relation in published_relations().items()}
    return {key: word for key, word in found.items() if word}


def _own(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Of the collections that a benchmark was built with, however deep they stand."""
    found: dict[str, str] = {}
    for key, value in parameters.items():
        if not isinstance(value, Mapping):
            continue
        if key == "collection":
            types = value.get("types") or {}
            found |= {t["id"]: t["label"] for t in types.values() if t.get("id") and t.get("label")}
        else:
            found |= _own(value)
    return found
