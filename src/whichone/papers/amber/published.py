"""What the released program does that is not relational: ids, choices, number words, exact to the bit."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

_twister = random.Random()  # always seeded before it is asked
_DIGITS = re.compile(r"[A-Za-z]+(\d+)")


def tuple_id(name: str, entity: str, prop: str) -> str:
    """MD5 of the text Python prints for the list [name, entity, property]; quoting rules included."""
    return hashlib.md5(repr([name, entity, prop]).encode()).hexdigest()


def query_id(tuple_id: str, text: str) -> str:
    return f"{tuple_id}={hashlib.md5(text.encode()).hexdigest()}"


def choose_template(entity: str, prop: str, templates: Sequence[str]) -> str:
    """The template that Python's Mersenne Twister draws, seeded with both ids' digits in a row.

    Ids of other shapes, such as a catalogue's, seed it with their text.
    """
    return templates[_drawn(entity, prop, len(templates))]


@functools.lru_cache(maxsize=1 << 17)  # questions and claims ask the same
def _drawn(entity: str, prop: str, count: int) -> int:
    item, two = _DIGITS.fullmatch(entity), _DIGITS.fullmatch(prop)
    _twister.seed(int(item[1] + two[1]) if item and two else f"{entity} {prop}")
    return _twister.choice(range(count))


def amount_name(amount: str) -> str:
    """A quantity as an answer: its digits without the sign, so that -3 turns into 3."""
    return amount[1:] if amount[:1] in ("+", "-") else amount


@functools.cache
def number_words(amount: str) -> tuple[str, ...]:
    """A quantity in English words ("one hundred"), or nothing where there are none."""
    text = amount_name(amount)
    try:
        words = _inflect().number_to_words(text)
    except Exception:  # the released program swallows whatever the library raises
        return ()
    return (words,) if isinstance(words, str) and words else ()


@functools.cache
def _inflect() -> Any:
    with _no_type_checks():
        import inflect
    return inflect.engine()


@contextlib.contextmanager
def _no_type_checks() -> Iterator[None]:
    """Inflect has typeguard compile checks into all of it: two seconds, for numbers as words."""
    try:
        import typeguard
    except ImportError:  # inflect before version 7
        yield
        return
    checked, typeguard.typechecked = typeguard.typechecked, lambda function: function  # type: ignore[assignment]
    try:
        yield
    finally:
        typeguard.typechecked = checked


def fill(template: str, name: str, value: str = "") -> str:
    """Slots replaced one after the other: a name that contains `$object` is rewritten, as released.

    Questions and slots have no value, and such a name stays as it is in them.
    """
    text = template.replace("$name", name)
    return text.replace("$object", value) if value else text
