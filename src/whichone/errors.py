"""Everything that whichone raises on purpose.

    WhichoneError
    ├── GateFailed          1   a budget or baseline was not met
    ├── UsageError          2   the command or call makes no sense
    ├── BadInput            3   a file, folder or record is not what it should be
    │   ├── BrokenFolder        half-written, or its manifest does not fit its files
    │   ├── LockedFolder        another process is writing it
    │   └── NewerFormat         written by a newer whichone
    └── Missing             4   a package, program, model or file that is needed is not there

The number is the exit code of the command line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from whichone.secrets import masked_text


class WhichoneError(Exception):
    """What is wrong (`message`), where (`where`), and what to do (`hint`)."""

    exit_code = 3

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return masked_text(f"{text}\n  {self.hint}" if self.hint else text)


class GateFailed(WhichoneError):
    exit_code = 1


class UsageError(WhichoneError):
    exit_code = 2


class BadInput(WhichoneError):
    """`file`, `line` (from 1) and `ids` become part of the message."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        ids: Iterable[object] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        if where is None and file is not None:
            where = f"{file}:{line}" if line is not None else str(file)
        elif where is None and line is not None:
            where = f"line {line}"
        listed = [str(i) for i in ids]
        if listed:
            message = f"{message} ({sample(listed)})"
        super().__init__(message, where=where, hint=hint)
        self.file = str(file) if file is not None else None
        self.line = line
        self.ids = listed


class BrokenFolder(BadInput):
    pass


class LockedFolder(BadInput):
    pass


class NewerFormat(BadInput):
    pass


class Missing(WhichoneError):
    exit_code = 4


NAMED = 5
"""So many things are named in a message."""


def sample(items: Sequence[str], most: int = NAMED, *, count: int | None = None) -> str:
    """The first few of a list for a message, and how many more there are; `count` where the list is a part of all."""
    shown = ", ".join(items[:most])
    more = (len(items) if count is None else count) - len(items[:most])
    return shown if more <= 0 else f"{shown}, and {more} more"


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """A hint that names the nearest choices, or all of them when none is near."""
    known = sorted(choices)
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {sample(known, 20)}" if known else None


def missing_extra(package: str, extra: str) -> Missing:
    """The error for a package that comes with one of whichone's extras."""
    return Missing(
        f"the package {package} is not installed",
        hint=f"pip install 'whichone[{extra}]'",
    )
