"""Retrievers, readers, commands and measures by name, found through entry points.

A package may register single things under `whichone.retrievers`, `whichone.measures` and so on, or a
whole paper under `whichone.papers`: a module whose upper-case names map names to `module:attribute`
(`COMMANDS`, `MEASURES`, `EXPORTS`, `TABLES`, ...; CONTRIBUTING.md lists them).
"""

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from whichone.errors import BadInput, Missing, UsageError, must_be_one

_installed = functools.cache(entry_points)  # of all packages, whose files are read once


@functools.cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    group = f"whichone.{kind}"
    offered = {entry.name: entry for entry in _installed().select(group=group)}
    for paper in papers():
        for name, value in getattr(paper, kind.upper(), {}).items():
            offered.setdefault(name, EntryPoint(name, value, group))
    return offered


@functools.cache
def papers() -> tuple[Any, ...]:
    """The registered papers: small modules that say what each offers."""
    modules = []
    for entry in sorted(_installed().select(group="whichone.papers"), key=lambda entry: entry.name):
        try:
            modules.append(importlib.import_module(entry.value))
        except Exception as error:
            if _is_ours(entry):
                raise
            _warn_about(_broken(entry, error))  # and leave it out
    return tuple(modules)


def names(kind: str) -> list[str]:
    """The registered names of one kind, such as "retrievers"; nothing is imported."""
    return sorted(_entries(kind))


def every(kind: str) -> dict[str, Any]:
    """Everything registered of one kind by its name, imported now; what is broken is left out."""
    targets = {}
    for name in names(kind):
        try:
            targets[name] = find(kind, name)
        except BadInput as error:
            _warn_about(error)
    return targets


def target(kind: str, name: str) -> str:
    """Where the thing lives, as `module:attribute`."""
    return _entries(kind)[name].value


def find(kind: str, name: str) -> Any:
    """The registered thing itself, imported now."""
    entries = _entries(kind)
    must_be_one(name, entries, f"there is no {kind.removesuffix('s')} called {name!r}")
    try:
        return entries[name].load()
    except ImportError as error:
        raise Missing(
            f"{name} needs a package that is not installed: {error.name or error}",
            hint="whichone doctor says which extra brings it",
        ) from error
    except Exception as error:
        if _is_ours(entries[name]):
            raise
        raise _broken(entries[name], error) from error


def _is_ours(entry: EntryPoint) -> bool:
    return entry.value.partition(".")[0] == "whichone"


def _broken(entry: EntryPoint, error: Exception) -> BadInput:
    package = f" of the package {entry.dist.name}" if entry.dist is not None else ""
    return BadInput(
        f"the plugin {entry.name}{package} fails when it is imported: {type(error).__name__}: {error}",
        where=entry.value,
        hint="update or uninstall that package; everything else works without it",
    )


def _warn_about(error: BadInput) -> None:
    print(f"whichone: {error}", file=sys.stderr)


# Code that a file or folder names: those are data, and only a person names code.


ONLY_THIS_CODE = "WHICHONE_ONLY_THIS_CODE"
"""In the environment of a command that a file names: a line for each code that the person at the keyboard named."""

_allowed = [frozenset(os.environ[ONLY_THIS_CODE].splitlines())] if ONLY_THIS_CODE in os.environ else []


@contextlib.contextmanager
def only_this_code(places: Iterable[str]) -> Iterator[None]:
    """While the block runs `refuse_unnamed` lets this code alone pass."""
    _allowed.append(frozenset(places))
    try:
        yield
    finally:
        _allowed.pop()


def refuse_unnamed(code: str) -> None:
    """Stop before code runs (a `module:attribute`, a jar, what a Spark master sends) that no person has named."""
    if any(code not in allowed for allowed in _allowed):
        raise UsageError(
            f"{code} would run with your rights, and only a file or folder names it",
            hint=f"look at what it does, then give --allow {code}",
        )
