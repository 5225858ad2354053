"""Files that a user's own search, reader or agent reads: part of what makes a run, like its code.

A function or class declares them in an attribute: `search.inputs = ["synonyms.json"]`. Files that an option
names count without being declared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whichone.errors import Missing, UsageError, sample
from whichone.files.folder import file_hash
from whichone.files.output import refuse_to_replace
from whichone.versions import code_of, own_code

ATTRIBUTE = "inputs"


def inputs_of(system: object, description: Mapping[str, Any]) -> dict[str, str]:
    """The hash of each file or folder that a system declares, or that one of its options names."""
    parts = getattr(system, "parts", None) or (system,)
    declared = [place for part in parts if code_of(part) for place in _declared(own_code(part))]
    for place in declared:
        if not place.exists():
            raise Missing(
                "there is no such file, though it is declared as an input",
                where=str(place),
                hint="a path is relative to the folder in which whichone is started",
            )
    return {str(place): _content(place) for place in [*declared, *_named_by_options(description)]}


def _declared(own: Any) -> Iterator[Path]:
    declared = getattr(own, ATTRIBUTE, ())
    if isinstance(declared, str | bytes | Path):
        declared = [declared]
    try:
        places = [Path(place) for place in declared]
    except TypeError:
        name = getattr(own, "__qualname__", type(own).__name__)
        raise UsageError(
            f"{name}.{ATTRIBUTE} is a list of files that it reads, not {declared!r:.60}"
        ) from None
    yield from places


def _named_by_options(description: Mapping[str, Any]) -> Iterator[Path]:
    for name in ("options", "search"):
        options = description.get(name)
        if not isinstance(options, Mapping):
            continue
        if name == "search":
            yield from _named_by_options(options)
            continue
        for value in options.values():
            if isinstance(value, str) and value and _is_file(Path(value)):
                yield Path(value)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a null byte
        return False


def _content(path: Path) -> str:
    if path.is_file():
        return file_hash(path)[:16]
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()[:16]


def is_made_by(
    created: Mapping[str, Any], path: Path, kind: str, code: str | None, inputs: Mapping[str, str]
) -> bool:
    """Whether a finished folder was made by this code from these inputs.

    Where it was not, a command that may not replace it ends with an error that names what has changed.
    """
    before = created.get(ATTRIBUTE, {})
    changes = [
        f"{name}, which it reads, {_how(before.get(name), inputs.get(name))}"
        for name in sorted(before | dict(inputs))
        if before.get(name) != inputs.get(name)
    ]
    if created.get("code") != code:
        changes.append("its code has changed")
    if changes:
        refuse_to_replace(path, kind, sample(changes, 5))
    return not changes


def _how(before: str | None, now: str | None) -> str:
    if before is None:
        return "was not an input before"
    return "is no input any more" if now is None else "has changed"
