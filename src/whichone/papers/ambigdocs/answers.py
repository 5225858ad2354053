"""A fact's value as a short answer: the words for it, the most usual first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY, MONTH, YEAR = 11, 10, 9


def answer_forms(fact: Mapping[str, Any], labels: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every way to write a value that a text may use; none for kinds that are no short answer.

    `labels` gives the names of an entity, its label first.
    """
    kind, value = fact["kind"], fact["value"]
    if kind == "entity":
        return tuple(labels.get(value, ()))
    if kind == "quantity":
        return quantity_forms(value, labels.get(fact.get("unit") or "", ()))
    if kind == "time":
        return time_forms(value, fact.get("precision") or YEAR)
    if kind in ("string", "monolingual"):
        return (value.strip(),) if value.strip() else ()
    return ()


def quantity_forms(amount: str, unit: Sequence[str] = ()) -> tuple[str, ...]:
    """A number as digits, with its unit where it has one: "12345 metre", then the number alone."""
    digits = amount.removeprefix("+")
    whole = digits.removesuffix(".0")
    return (f"{whole} {unit[0]}", whole) if unit else (whole,)


def time_forms(value: str, precision: int) -> tuple[str, ...]:
    """A date as texts write it, as exact as it is known; none where not even the year is."""
    match = _TIME.match(value)
    if match is None or precision < YEAR:
        return ()
    sign, year, month, day = match[1], int(match[2]), int(match[3]), int(match[4])
    era = " BC" if sign == "-" else ""
    if precision >= DAY and 1 <= month <= 12:
        name = _MONTHS[month - 1]
        return (f"{day} {name} {year}{era}", f"{name} {day}, {year}{era}")
    if precision == MONTH and 1 <= month <= 12:
        return (f"{_MONTHS[month - 1]} {year}{era}",)
    return (f"{year}{era}",)


def holds(text: Sequence[str], answer: Sequence[str]) -> bool:
    """Whether a text holds an answer as a run of whole tokens."""
    n = len(answer)
    return n > 0 and any(text[i : i + n] == answer for i in range(len(text) - n + 1))
