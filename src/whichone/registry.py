"""Retrievers, readers, commands and measures by name, found through entry points.

A package may register single things under `whichone.retrievers`, `whichone.measures` and so on, or a
whole paper under `whichone.papers`: a module whose upper-case names map names to `module:attribute`
(`COMMANDS`, `MEASURES`, `EXPORTS`, `TABLES`, ...; CONTRIBUTING.md lists them).
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from whichone.errors import Missing, UsageError, did_you_mean


@functools.cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    group = f"whichone.{kind}"
    offered = {entry.name: entry for entry in entry_points(group=group)}
    for paper in papers():
        for name, value in getattr(paper, kind.upper(), {}).items():
            offered.setdefault(name, EntryPoint(name, value, group))
    return offered


@functools.cache
def papers() -> tuple[Any, ...]:
    """The registered papers: small modules that say what each offers."""
    found = sorted(entry_points(group="whichone.papers"), key=lambda entry: entry.name)
    return tuple(importlib.import_module(entry.value) for entry in found)


def names(kind: str) -> list[str]:
    """The registered names of one kind, such as "retrievers"; nothing is imported."""
    return sorted(_entries(kind))


def every(kind: str) -> dict[str, Any]:
    """Everything registered of one kind by its name, imported now."""
    return {name: find(kind, name) for name in names(kind)}


def target(kind: str, name: str) -> str:
    """Where the thing lives, as `module:attribute`."""
    return _entries(kind)[name].value


def find(kind: str, name: str) -> Any:
    """The registered thing itself, imported now."""
    entries = _entries(kind)
    if name not in entries:
        raise UsageError(
            f"there is no {kind.removesuffix('s')} called {name!r}",
            hint=did_you_mean(name, entries),
        )
    try:
        return entries[name].load()
    except ImportError as error:
        raise Missing(
            f"{name} needs a package that is not installed: {error.name or error}",
            hint="whichone doctor says which extra brings it",
        ) from error
