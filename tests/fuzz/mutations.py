"""Seeded damage to a file: of its bytes, of its JSON, and of its compression."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import zstandard

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, -(10**19), 2**63, 1e308, "", " ", "\x00", "\ud800", "﻿x", "9" * 5000,
    [], {}, [[]], [None], [{}], {"": None}, "2011-99-99", "+1e400",
)  # fmt: skip
DEEP = b"[" * 100_000 + b"]" * 100_000
RAW = (b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"1e999", b"NaN", b'"', b"\t", b"\r", b"\n\n")

Mutation = Callable[[random.Random, bytes], bytes]


def truncated(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def flipped(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 5, 50))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def inserted(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice((*RAW, chance.randbytes(20))) + data[at:]


def line_replaced(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines[chance.randrange(len(lines))] = chance.choice((DEEP, b"", b"{}", b"[]", b"null", b'"x"', b"1"))
    return b"\n".join(lines)


def emptied(chance: random.Random, data: bytes) -> bytes:
    return chance.choice((b"", b"\n", b" ", b"{}", b"[]", b"null", DEEP, b"\xef\xbb\xbf"))


def compressed(chance: random.Random, data: bytes) -> bytes:
    """Packed, and then cut off or damaged."""
    pack = chance.choice((gzip.compress, bz2.compress, zstandard.ZstdCompressor().compress))
    packed = pack(data)
    return chance.choice((truncated, flipped))(chance, packed)


def value_replaced(chance: random.Random, data: bytes) -> bytes:
    """One value somewhere in the JSON of the file, or of one of its lines, is something odd."""
    try:
        return json.dumps(_odd_somewhere(chance, json.loads(data))).encode()
    except (ValueError, UnicodeDecodeError):
        pass
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        return data
    at = chance.randrange(len(lines))
    try:
        lines[at] = json.dumps(_odd_somewhere(chance, json.loads(lines[at].rstrip(b",")))).encode()
    except (ValueError, UnicodeDecodeError):
        return field_replaced(chance, data)
    return b"\n".join(lines) + b"\n"


def field_replaced(chance: random.Random, data: bytes) -> bytes:
    """One word of a line is something odd."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    separator = b"\t" if b"\t" in lines[at] else b"," if b"," in lines[at] else b" "
    fields = lines[at].split(separator)
    value = chance.choice([odd for odd in ODD if isinstance(odd, str | int)])
    fields[chance.randrange(len(fields))] = str(value).encode("utf-8", "surrogatepass")
    lines[at] = separator.join(fields)
    return b"\n".join(lines)


def _odd_somewhere(chance: random.Random, value: Any) -> Any:
    """The value with one of its parts replaced, removed or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(sorted(value))
        if chance.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _odd_somewhere(chance, value[key])}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        if chance.random() < 0.15:
            return [*value, value[at]]
        return [*value[:at], _odd_somewhere(chance, value[at]), *value[at + 1 :]]
    return chance.choice(ODD)


MUTATIONS: tuple[Mutation, ...] = (
    truncated, flipped, inserted, line_replaced, emptied, compressed, value_replaced,
    value_replaced, value_replaced, field_replaced,
)  # fmt: skip


def mutated(seed: int, data: bytes) -> bytes:
    """The same seed, the same damage."""
    chance = random.Random(seed)
    return chance.choice(MUTATIONS)(chance, data)
