"""Ids in exported files: TREC columns are separated by blanks, so blanks in ids are percent-encoded, in every format alike."""

from __future__ import annotations

import struct
from urllib.parse import quote, unquote

_SAFE = "".join(chr(c) for c in range(33, 127) if chr(c) != "%")


def to_trec(identity: str) -> str:
    """An id without blanks; letters beyond ASCII stay as they are."""
    return "".join(c if _plain(c) else quote(c) for c in identity)


def _plain(c: str) -> bool:
    return c in _SAFE or (ord(c) > 160 and not c.isspace())


def trec_order(score: float, identity: str) -> tuple[float, list[int]]:
    """Sorts as trec_eval does: by score in single precision, equal ones by id, the last of the alphabet first.

    trec_eval reads scores into a C float and compares ids byte by byte; it does not look at ranks.
    """
    return -struct.unpack("f", struct.pack("f", score))[0], [-b - 1 for b in identity.encode()] + [
        0
    ]


def from_trec(text: str) -> str:
    """The id that `to_trec` would write so; other people's ids with a percent sign stay as they are."""
    decoded = unquote(text)
    return decoded if to_trec(decoded) == text else text
