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
    from whichone import registry

    words: dict[str, str] = {}
    for labels in registry.every("labels").values():
        words |= labels()
    return {key: word for key, word in words.items() if word}


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
