"""Keys and passwords that must not reach a file or a message: which values they are, and how they are masked."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

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
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
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
        text = _ASSIGNMENT.sub(_masked_assignment, text)
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
    if isinstance(document, list | tuple):
        return [masked(value, text) for value in document]
    return document


def masked_record(document: Any) -> Any:
    """Like `masked` for records of data, whose texts keep whatever only looks like a secret."""
    return masked(document, _without_remembered)


def _without_remembered(text: str) -> str:
    for secret in sorted(_remembered, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _masked_assignment(match: re.Match[str]) -> str:
    if not is_secret_name(match["name"]):
        return match.group()
    return f"{match['name']}{match['sign']}{MASK}"
