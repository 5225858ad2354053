"""Makes a folder and stops the process at one step of the system after another; then looks what is left.

Run as a program with a place; it reads kinds of folders (see `commit_kinds.py`). Every opening for writing, flush, rename,
truncation and removal below the place is a step, and so is a write of which only half arrived; of a folder with a manifest,
from the beginning of the commit on. For each step a child is stopped there, as by a kill; another child then opens what is
left, which must be whole or say that it is not, and makes the folder again, which must give what an undisturbed process
gives, and nothing beside it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commit_kinds import KINDS, Kind

from whichone.errors import WhichoneError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST

STOPPED = 42
_EVENTS = {"os.rename", "os.remove", "os.truncate", "os.rmdir", "os.mkdir", "os.link"}


class Steps:
    """Counts the steps below a place; at the wanted one, ends the process at once."""

    def __init__(self, kind: Kind, place: Path, wanted: int) -> None:
        self.count = 0
        self._wanted = wanted
        self._counting = not kind.folder
        self._below = str(place)
        self._only = kind.only
        self._flush = os.fsync
        sys.addaudithook(self._heard)
        os.fsync = self._flushed
        self._watch_sqlite()

    def _step(self) -> bool:
        self.count += self._counting
        return self.count == self._wanted

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if not (event in _EVENTS or writing) or not self._is_here(str(arguments[0])):
            return
        self._counting = self._counting or "next.json" in str(arguments[0])
        if self._step():
            os._exit(STOPPED)

    def _is_here(self, path: str) -> bool:
        return path.startswith(self._below) and self._only in path

    def _flushed(self, handle: int) -> None:
        if not self._is_here(str(Path(f"/proc/self/fd/{handle}").readlink())):
            self._flush(handle)
            return
        if self._step():  # half of what was written has arrived
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
            os._exit(STOPPED)
        if self._step():
            os._exit(STOPPED)
        self._flush(handle)

    def _watch_sqlite(self) -> None:
        """SQLite writes by itself: every statement is a step."""
        connect = sqlite3.connect

        def stopping(statement: str) -> None:
            if self._step():
                os._exit(STOPPED)

        def connected(database: Any, *rest: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(database, *rest, **options)
            if str(database).startswith(self._below):
                connection.set_trace_callback(stopping)
            return connection

        sqlite3.connect = connected


def in_child(work: Callable[[], str]) -> str:
    """What the child returned; `STOPPED` where it was stopped, and an error where it failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        with contextlib.suppress(BaseException):
            try:
                os.write(writing, work().encode())
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == STOPPED:
        return str(STOPPED)
    assert code == 0, f"the child ended with {code}"
    return said


def state(kind: Kind, place: Path) -> str:
    """A hash of what is there as a user sees it; empty where nothing finished is there."""
    if kind.read is not None:
        return kind.read(place)
    if kind.folder:
        try:
            folder = Folder.open(place, kind.folder)
            folder.verify()
        except WhichoneError:
            return ""
        return folder.content_hash
    return tree(place)


def tree(place: Path) -> str:
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(place.parent)}\0".encode() + file.read_bytes())
    return digest.hexdigest() if files else ""


def strays(kind: Kind, place: Path) -> list[str]:
    """Files of a finished folder that its manifest does not name."""
    if not kind.folder:
        return []
    named = {*Folder.open(place, kind.folder).manifest.files, MANIFEST, *kind.beside}
    here = {p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file()}
    return sorted(here - named - {".lock"})  # which nobody has any more


def stop_everywhere(kind: Kind, root: Path) -> int:
    """How many steps there are; an assertion fails where a stop did harm."""
    root.mkdir()
    os.environ["WHICHONE_CACHE"] = str(root / "cache")
    ready, work = root / "ready", root / "work"
    place = work / kind.place
    work.mkdir()
    in_child(lambda: kind.prepare(work) or "")
    work.rename(ready)

    def begin(wanted: int) -> Steps:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(ready, work)
        os.chdir(work)
        return Steps(kind, place, wanted)

    def undisturbed() -> str:
        steps = begin(-1)
        before = state(kind, place)
        kind.make(place)
        count = steps.count  # reading it back may count too
        return "\n".join([before, state(kind, place), str(count), *sys.modules])

    def stopped(wanted: int) -> str:
        begin(wanted)
        kind.make(place)
        return ""

    def look() -> str:
        os.chdir(work)
        left = state(kind, place)
        if kind.whole and left not in ("", before, whole):
            return "a folder was accepted that nobody made"
        kind.make(place)
        if state(kind, place) != whole:
            return "made again, it is another folder"
        if left_over := strays(kind, place):
            return f"files are left over: {left_over}"
        return ""

    before, whole, count, *modules = in_child(undisturbed).split("\n")
    assert whole and whole != before, "nothing was made"
    for module in modules:  # once, not in every child
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    for wanted in range(1, int(count) + 1):
        assert in_child(functools.partial(stopped, wanted)) == str(STOPPED), (
            f"not stopped at {wanted} of {count}"
        )
        wrong = in_child(look)
        assert not wrong, f"stopped at step {wanted} of {count}: {wrong}"
    shutil.rmtree(root)
    return int(count)


def main(root: Path) -> None:
    """Kinds from standard input, a line each, and what came of each as a line of JSON."""
    for line in sys.stdin:
        name = line.strip()
        try:
            steps = stop_everywhere(KINDS[name], root / name)
            print(json.dumps({"kind": name, "steps": steps}), flush=True)
        except (AssertionError, ValueError) as error:
            print(json.dumps({"kind": name, "error": str(error)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
