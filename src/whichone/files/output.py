"""What a command may write to: never its own input, and nothing finished unless it was asked to replace it.

One rule for every command. The same inputs and options: nothing to do. Other inputs or options: an
error that names them. `--overwrite`: the old result is replaced.
"""

from __future__ import annotations

import contextlib
import filecmp
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import UsageError, sample

MANIFEST = "manifest.json"
REQUEST = "request"
"""Where the manifest's `made` keeps the inputs and options of the command."""
OVERWRITE = "--overwrite replaces it; or name another place"


class Output(msgspec.Struct, frozen=True):
    """The place that the command at work makes, and whether it may replace what is there.

    `plain` outputs are files in somebody else's format, or a folder of such files; `parts` are several
    folders of whichone's own below one.
    """

    path: Path
    overwrite: bool = False
    plain: bool = False
    parts: bool = False
    request: Mapping[str, Any] = {}
    changes: str = ""


_making: list[Output] = []


@contextlib.contextmanager
def making(output: Output) -> Iterator[None]:
    """While the block runs, the rule applies for this place; without one, callers replace freely."""
    resolved = msgspec.structs.replace(output, path=output.path.resolve())
    _making.append(resolved)
    try:
        yield
    finally:
        _making.remove(resolved)


def request_for(root: Path) -> Mapping[str, Any]:
    """What the manifest of a folder keeps of the command that makes it."""
    own = _output_at(root)
    return {REQUEST: dict(own.request)} if own is not None and own.request else {}


def refuse_to_replace(root: Path, kind: str, changes: str = "") -> None:
    """Raise where a finished folder would be replaced without permission."""
    own = _output_at(root)
    if own is not None and not own.overwrite:
        raise already_there(root, kind, changes or own.changes)


def may_overwrite(root: Path) -> bool:
    """Whether the command at work was asked to replace what is at this place."""
    own = _output_at(root)
    return own is not None and own.overwrite


def already_there(root: Path, kind: str, changes: str) -> UsageError:
    how = f"made with other inputs or options: {changes}" if changes else "and it is not the same"
    return UsageError(f"there is a finished {kind} already, {how}", where=str(root), hint=OVERWRITE)


def is_unchanged(path: Path, beside: Path) -> bool:
    """Whether a file that is about to take its place is there already, byte for byte.

    A file of a plain output that differs is not replaced without permission.
    """
    for own in _making:
        if not own.plain or not path.is_file():
            continue
        place = path.resolve()
        if place != own.path and own.path not in place.parents:
            continue
        if filecmp.cmp(path, beside, shallow=False):
            return True
        if not own.overwrite:
            raise UsageError(
                "the file is there already, with other content", where=str(path), hint=OVERWRITE
            )
    return False


def check_places(out: Path, inputs: Iterable[Path]) -> None:
    """Raise where a command would write over its own input, or over a file of a finished folder."""
    place = out.resolve()
    for given in inputs:
        source = given.resolve()
        if source == place:
            raise UsageError("this is both input and output", where=str(out))
        if place in source.parents and (place / MANIFEST).exists():
            raise UsageError(f"the input {given} is inside the output", where=str(out))
    for folder in place.parents:
        named = _named_files(folder)
        if place.relative_to(folder).as_posix() in named:
            raise UsageError(
                f"this is a part of the finished folder {folder}",
                where=str(out),
                hint="name a place outside of it",
            )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Which inputs and options of two requests differ, in words; empty where none do."""
    if old.get("command") != new.get("command"):
        made_by = f"by whichone {old['command']}" if "command" in old else "in a way not recorded"
        return f"it was made {made_by}"
    texts = []
    inputs, before = new.get("inputs", {}), old.get("inputs", {})
    texts += [
        f"{name} has changed" for name in sorted(inputs | before) if _differ(inputs, before, name)
    ]
    options, past = new.get("options", {}), old.get("options", {})
    for name in sorted(options | past):
        if _differ(options, past, name):
            texts.append(f"{name} is {_shown(options.get(name))}, was {_shown(past.get(name))}")
    return sample(texts, 5)


def _differ(item: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    """An option that may be repeated now and was given once is the same as before."""
    values = [item.get(name), other.get(name)]
    plain, before = ([v] if isinstance(v, str) else v for v in values)
    return bool(plain != before)


def _shown(value: Any) -> str:
    return "not given" if value in (None, [], "") else msgspec.json.encode(value).decode()


def _output_at(root: Path) -> Output | None:
    place = root.resolve()
    return next(
        (
            own
            for own in _making
            if not own.plain and (own.path == place or (own.parts and own.path == place.parent))
        ),
        None,
    )


def _named_files(folder: Path) -> set[str]:
    file = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(file.read_bytes()) if file.is_file() else {}
    except (msgspec.DecodeError, RecursionError, OSError):
        return set()
    files = manifest.get("files") if isinstance(manifest, dict) and "kind" in manifest else None
    return {*files, MANIFEST} if isinstance(files, dict) else set()
