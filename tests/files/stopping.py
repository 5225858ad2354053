"""Makes a folder and keeps what a stop at each step of the system would leave; then looks at what is left.

Run as a program with a place; it reads kinds of folders (see `commit_kinds.py`). Every opening for writing, flush, rename,
truncation and removal below the place is a step, and so is a write of which only half arrived; of a folder with a manifest,
from the beginning of the commit on. A process that is stopped leaves the files as they are at that moment, so they are
copied at every step, and steps that leave the same files are one case; for kinds that are `killed` a child is really
stopped at every step, as by a kill, and must have left the same. For each case a child then opens what is left, which must
be whole or say that it is not, and makes the folder again, which must give what an undisturbed process gives, and nothing
beside it.
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

from whichone import registry
from whichone.errors import WhichoneError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.versions import versions

STOPPED = 42
_EVENTS = {"os.rename", "os.remove", "os.truncate", "os.rmdir", "os.mkdir", "os.link"}


class Steps:
    """Counts the steps below a place; at the wanted one, ends the process at once.

    Where it is given a folder to keep them in, it copies there what a stop at each step would leave.
    """

    def __init__(self, kind: Kind, work: Path, wanted: int, cases: Path | None = None) -> None:
        self.count = 0
        self.left: list[str] = []
        """By step a hash of what a stop leaves."""
        self._work = work
        self._wanted = wanted
        self._cases = cases
        self._counting = not kind.folder
        self._below = str(work / kind.place)
        self._only = kind.only
        self._flush = os.fsync
        sys.addaudithook(self._heard)
        os.fsync = self._flushed
        self._watch_sqlite()

    def end(self) -> None:
        """Reading back what was made counts no more."""
        self._counting = False
        self._cases = None

    def _step(self, half: Path | None = None) -> None:
        self.count += self._counting
        if self._counting and self._cases is not None:
            self._keep(self._cases / f"{self.count:05}", half)
        elif self.count == self._wanted:
            if half is not None:
                os.truncate(half, half.stat().st_size // 2)
            os._exit(STOPPED)

    def _keep(self, case: Path, half: Path | None) -> None:
        shutil.copytree(self._work, case, symlinks=True)
        if half is not None:
            copy = case / half.relative_to(self._work)
            os.truncate(copy, copy.stat().st_size // 2)
        left = everything(case)
        if left in self.left:
            shutil.rmtree(case)
        self.left.append(left)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if not (event in _EVENTS or writing) or not self._is_here(str(arguments[0])):
            return
        self._counting = self._counting or (
            "next.json" in str(arguments[0]) and (self._wanted > 0 or self._cases is not None)
        )
        self._step()

    def _is_here(self, path: str) -> bool:
        return path.startswith(self._below) and self._only in path

    def _flushed(self, handle: int) -> None:
        file = Path(f"/proc/self/fd/{handle}").readlink()
        if self._is_here(str(file)):
            self._step(half=file if file.is_file() else None)  # half of what was written has arrived
            self._step()
        self._flush(handle)

    def _watch_sqlite(self) -> None:
        """SQLite writes by itself: every statement is a step."""
        connect = sqlite3.connect

        def stopping(statement: str) -> None:
            self._step()

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


def everything(folder: Path) -> str:
    """A hash of all names and bytes in a folder; a lock contains the number of its process."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() and path.name != ".lock" else b""
        digest.update(f"{path.relative_to(folder)}\0{path.is_file()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


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
    ready, work, cases = root / "ready", root / "work", root / "cases"
    place = work / kind.place
    work.mkdir()
    in_child(lambda: kind.prepare(work) or "")
    work.rename(ready)

    def begin() -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(ready, work)
        os.chdir(work)

    def undisturbed() -> str:
        begin()
        before = state(kind, place)
        steps = Steps(kind, work, -1, cases)
        kind.make(place)
        steps.end()
        return json.dumps([before, state(kind, place), steps.left, list(sys.modules)])

    def stopped(wanted: int) -> str:
        begin()
        Steps(kind, work, wanted)
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

    before, whole, left, modules = json.loads(in_child(undisturbed))
    assert whole and whole != before, "nothing was made"
    for module in modules:  # once, not in every child
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    for case in sorted(cases.iterdir()):
        shutil.rmtree(work)
        case.rename(work)
        wrong = in_child(look)
        assert not wrong, f"stopped at step {int(case.name)} of {len(left)}: {wrong}"
    for wanted in range(1, len(left) + 1) if kind.killed else ():
        assert in_child(functools.partial(stopped, wanted)) == str(STOPPED), (
            f"not stopped at {wanted} of {len(left)}"
        )
        assert everything(work) == left[wanted - 1], f"stopped at {wanted}: other files are left"
    shutil.rmtree(root)
    return len(left)


def _warm() -> None:
    """What every process reads of the installation, which no step changes: once, not in every child."""
    for kind in ("commands", "retrievers", "readers", "exports"):
        registry.names(kind)
    versions()


def main(root: Path) -> None:
    """Kinds from standard input, a line each, and what came of each as a line of JSON."""
    _warm()
    for line in sys.stdin:
        name = line.strip()
        try:
            steps = stop_everywhere(KINDS[name], root / name)
            print(json.dumps({"kind": name, "steps": steps}), flush=True)
        except (AssertionError, ValueError) as error:
            print(json.dumps({"kind": name, "error": str(error)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
