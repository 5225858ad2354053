"""What a command may write to: never its own input, and nothing finished unless it was asked to replace it.

One rule for every command. The same inputs and options: nothing to do. Other inputs or options: an
error that names them. `--overwrite`: the old result is replaced.
"""

import contextlib
import errno
import fcntl
import filecmp
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput, UsageError, WhichoneError, sample

MANIFEST = "manifest.json"
REQUEST = "request"  # Where the manifest's `made` keeps the inputs and options of the command
OVERWRITE = "--overwrite replaces it; or name another place"


class OutputPlace(msgspec.Struct, frozen=True):
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


_making: list[OutputPlace] = []


@contextlib.contextmanager
def making(output: OutputPlace) -> Iterator[None]:
    """While the block runs, the rule applies for this place; without one, callers replace freely."""
    resolved = msgspec.structs.replace(output, path=output.path.resolve())
    _making.append(resolved)
    try:
        yield
    except Exception as error:
        if (full := out_of_room(error, output.path)) is not None:
            raise full from error
        raise
    finally:
        _making.remove(resolved)


def request_for(root: Path) -> Mapping[str, Any]:
    own = _output_at(root)
    return {REQUEST: dict(own.request)} if own is not None and own.request else {}


def refuse_to_replace(root: Path, kind: str, changes: str = "") -> None:
    if (own := _output_at(root)) is not None and not own.overwrite:
        raise already_there(root, kind, changes or own.changes)


def may_overwrite(root: Path) -> bool:
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
        if (place := path.resolve()) != own.path and own.path not in place.parents:
            continue
        if filecmp.cmp(path, beside, shallow=False):
            return True
        if not own.overwrite:
            raise UsageError("the file is there already, with other content", where=str(path), hint=OVERWRITE)
    return False


def check_places(out: Path, inputs: Iterable[Path]) -> None:
    """Raise where a command would write over its own input, or over a file of a finished folder."""
    place = out.resolve()
    for given in inputs:
        if (source := given.resolve()) == place:
            raise UsageError("this is both input and output", where=str(out))
        if place in source.parents and (place / MANIFEST).exists():
            raise UsageError(f"the input {given} is inside the output", where=str(out))
    for folder in place.parents:
        if place.relative_to(folder).as_posix() in _named_files(folder):
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
    texts += [f"{name} has changed" for name in sorted(inputs | before) if _differ(inputs, before, name)]
    options, past = new.get("options", {}), old.get("options", {})
    texts.extend(
        f"{name} is {_shown(options.get(name))}, was {_shown(past.get(name))}"
        for name in sorted(options | past)
        if _differ(options, past, name)
    )
    return sample(texts, 5)


def _differ(item: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    """An option that may be repeated now and was given once is the same as before."""
    plain, before = ([v] if isinstance(v, str) else v for v in (item.get(name), other.get(name)))
    return bool(plain != before)


def _shown(value: Any) -> str:
    return "not given" if value in (None, [], "") else msgspec.json.encode(value).decode()


def _output_at(root: Path) -> OutputPlace | None:
    place = root.resolve()
    folders = (own for own in _making if not own.plain)
    return next((o for o in folders if o.path == place or (o.parts and o.path == place.parent)), None)


def _named_files(folder: Path) -> set[str]:
    file = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(file.read_bytes()) if file.is_file() else {}
    except (msgspec.DecodeError, RecursionError, OSError):
        return set()
    files = manifest.get("files") if isinstance(manifest, dict) and "kind" in manifest else None
    return {*files, MANIFEST} if isinstance(files, dict) else set()


# Files written beside their place and moved there: whole or not at all, and nothing left behind.


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """An empty file to fill; at the end of the block it takes its place, after an error it goes.

    Writers of one place share one file name, so that what a killed one left is taken over by the next. A
    lock tells a killed writer from one at work, beside which another name is used.
    """
    beside = path.with_name(f".{path.name}.unfinished")
    if (handle := _take(beside)) is None:
        beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        yield beside
        if is_unchanged(path, beside):
            beside.unlink()
        else:
            beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if (full := out_of_room(error, path)) is not None:
            raise full from error
        raise
    finally:
        os.close(handle)


def _take(beside: Path) -> int | None:
    """The file, emptied and locked; or nothing where another writer has it, or another user."""
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:
        return None
    if _lock(handle) and is_at(beside, handle):
        os.ftruncate(handle, 0)
        return handle
    os.close(handle)
    return None


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def is_at(path: Path, handle: int) -> bool:
    """Whether an open file is still there, not moved to its place or removed by who had it before."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


# Where things lie that can be made again at will.


def cache_folder() -> Path:
    """`WHICHONE_CACHE`, else the user's cache folder by the XDG rule."""
    if folder := os.environ.get("WHICHONE_CACHE"):
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whichone"


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    """Processes that ask for the same derived thing at once wait for the first one to make it."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# A full disk, or memory that is used up, as errors that say so.


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# As the system, Arrow, DuckDB, SQLite and numpy put it; numpy gives no number of the error.
_FULL_WORDS = re.compile(
    r"No space left|File too large|Disk quota|disk is full|\d+ requested and \d+ written"
)
_NEARLY_NOTHING = 1 << 20


def out_of_room(error: BaseException, near: Path | None = None) -> BadInput | None:
    """The error to raise where memory or a disk is used up; `near` is what was being written."""
    if isinstance(error, WhichoneError):
        return None
    what = next(iter(str(error).splitlines()), type(error).__name__)
    number = error.errno if isinstance(error, OSError) else None
    if type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        if "OutOfMemory" in type(error).__name__ and not _FULL_WORDS.search(what):
            return BadInput(
                f"the bound on memory is too small: {what}",
                file=near,
                hint="give more --memory; what was finished is kept",
            )
    elif isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return _no_memory(what, near)
    if number == errno.ENOMEM:
        return _no_memory(what, near)
    if number not in _FULL and not _FULL_WORDS.search(what):
        return None
    named = getattr(error, "filename2", None) or getattr(error, "filename", None)
    place = Path(os.fsdecode(named)) if named else near
    folder = _fullest(place)
    try:
        free = f"{shutil.disk_usage(folder).free:,} bytes are free in {folder}"
    except OSError:
        free = f"it is written in {folder}"
    return BadInput(
        f"the disk is full ({what}); {free}",
        file=place,
        hint="make room and start the command again: what was finished is kept",
    )


def _no_memory(what: str, near: Path | None) -> BadInput:
    return BadInput(
        f"the memory is used up: {what}",
        file=near,
        hint="end other programs, give --memory or a smaller --batch where the command has it, or take a larger machine",
    )


def _fullest(place: Path | None) -> Path:
    """The folder whose disk is full: that of the file, else one of those that every command writes to."""
    also = [Path.cwd(), Path(tempfile.gettempdir()), cache_folder()]
    above = [
        next((p for p in (near, *near.absolute().parents) if p.exists()), Path("/"))
        for near in ([place, *also] if place is not None else also)
    ]
    for folder in above:
        with contextlib.suppress(OSError):
            if shutil.disk_usage(folder).free < _NEARLY_NOTHING:
                return folder
    return above[0]
