"""Everything that whichone raises on purpose.

    WhichoneError
    ├── GateFailed          1   a budget or baseline was not met
    ├── UsageError          2   the command or call makes no sense
    ├── BadInput            3   a file, folder or record is not what it should be
    │   ├── BrokenFolder        half-written, or its manifest does not fit its files
    │   ├── LockedFolder        another process is writing it
    │   └── NewerFormat         written by a newer whichone
    └── Missing             4   a package, program, model or file that is needed is not there

The number is the exit code of the command line; 70 is that of anything else, with its trace in a log.
"""

import difflib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Keys and passwords that must not reach a file or a message: which values they are, and how they are masked.


MASK = "***"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET = {
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "secrets",
    "token",
}
_SECRET_PAIRS = {
    (first, "key") for first in ("access", "account", "api", "auth", "private", "secret", "signing")
}
_USER_INFO = re.compile(r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@'\"]+@")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?P<sign>=|%3D)(?P<value>[^\s&'\";,]+)")
_SHORTEST = 6  # a shorter value would be replaced inside ordinary words

_remembered: set[str] = set()
_lock = threading.Lock()


def is_secret_name(name: str) -> bool:
    """Whether an option of this name has a key or a password as its value.

    `api_key`, `PASSWORD` and `hf-token` do; `max_tokens` counts, and `token_variable` only names
    where the value is.
    """
    if not (words := [word.lower() for word in _WORDS.findall(name)]):
        return False
    return words[-1] in _SECRET or tuple(words[-2:]) in _SECRET_PAIRS


def remember_secrets(options: Mapping[str, Any]) -> None:
    """Mask the values of options named like secrets in every text from here on."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            remember_secrets(value)
        elif isinstance(value, str) and (is_secret_name(name) or name.lower() == "key"):
            remember_secret(value)


def masked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a file may keep them; `key` alone is a secret here, where elsewhere it is a hash."""
    remember_secrets(options)
    return {
        name: MASK if name.lower() == "key" and isinstance(value, str) else value
        for name, value in masked(options).items()
    }


def remember_secret(value: str | None) -> None:
    """Mask this value in every text from here on."""
    if value is not None and len(value) >= _SHORTEST:
        with _lock:
            _remembered.add(value)


def masked_text(text: str) -> str:
    """The text without remembered secrets, credentials in addresses and values of secret names."""
    text = _without_remembered(text)
    if "://" in text:
        text = _USER_INFO.sub(rf"\g<scheme>{MASK}@", text)
    if "=" in text or "%3D" in text:
        text = _ASSIGNMENT.sub(
            lambda m: f"{m['name']}{m['sign']}{MASK}" if is_secret_name(m["name"]) else m.group(), text
        )
    return text


def masked(document: Any, text: Callable[[str], str] = masked_text) -> Any:
    """A document of mappings, lists and texts with everything secret in it replaced."""
    if isinstance(document, str):
        return text(document)
    if isinstance(document, Mapping):
        return {
            name: MASK
            if isinstance(value, str) and isinstance(name, str) and is_secret_name(name)
            else masked(value, text)
            for name, value in document.items()
        }
    return [masked(value, text) for value in document] if isinstance(document, list | tuple) else document


def masked_record(document: Any) -> Any:
    """Like `masked` for records of data, whose texts keep whatever only looks like a secret."""
    return masked(document, _without_remembered)


def _without_remembered(text: str) -> str:
    for secret in sorted(_remembered, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


# Everything that whichone raises on purpose.


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
        if listed := [str(i) for i in ids]:
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


NAMED = 5  # So many things are named in a message


def sample(items: Sequence[str], most: int = NAMED, *, count: int | None = None) -> str:
    """The first few of a list for a message, and how many more there are; `count` where the list is a part of all."""
    shown = ", ".join(items[:most])
    more = (len(items) if count is None else count) - len(items[:most])
    return shown if more <= 0 else f"{shown}, and {more} more"


def how_many(number: int, thing: str) -> str:
    """A number of things in words: "1 name set", "2,000 queries"."""
    if number != 1:
        thing = f"{thing[:-1]}ies" if re.search("[^aeiou]y$", thing) else f"{thing}s"
    return f"{number:,} {thing}"


def must_be_one(word: str, choices: Collection[str], problem: str) -> None:
    if word not in choices:
        raise UsageError(problem, hint=did_you_mean(word, choices))


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """A hint that names the nearest choices, or all of them when none is near."""
    known = sorted(choices)
    small = {choice.lower(): choice for choice in known}
    if near := difflib.get_close_matches(word.lower(), small, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(map(small.__getitem__, near))}?"
    return f"known: {sample(known, 20)}" if known else None


@contextmanager
def needs(package: str | None, extra: str = "") -> Iterator[None]:
    """Around imports that may fail: what is missing and which extra brings it; None names the module itself."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(package or (error.name or "").partition(".")[0], extra) from None


def missing_extra(package: str, extra: str) -> Missing:
    wanted = f"'whichone[{extra}]'" if extra else package
    return Missing(f"the package {package} is not installed", hint=f"pip install {wanted}")
