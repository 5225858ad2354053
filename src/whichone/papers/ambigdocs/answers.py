"""A fact's value as a short answer: the ways in which people write it, the most usual first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)")
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_BEFORE_CHRIST = {"en": " BC", "de": " v. Chr.", "es": " a. C.", "fr": " av. J.-C."}
_GROUPS = {"en": ",", "de": ".", "es": ".", "fr": "\u202f"}
_DECIMAL = {"en": "."}
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_IRREGULAR = {
    "foot": "feet",
    "inch": "inches",
    "person": "people",
    "kilometre per hour": "kilometres per hour",
}
DAY, MONTH, YEAR = 11, 10, 9


def answer_forms(
    fact: Mapping[str, Any], labels: Mapping[str, Sequence[str]], language: str = "en"
) -> tuple[str, ...]:
    """Every way to write a value that a text may use; none for kinds that are no short answer.

    `labels` gives the names of an entity, its label first.
    """
    kind, value = fact["kind"], fact["value"]
    if kind == "entity":
        return tuple(labels.get(value, ()))
    if kind == "quantity":
        return quantity_forms(value, labels.get(fact.get("unit") or "", ()), language)
    if kind == "time":
        return time_forms(value, fact.get("precision") or YEAR, language)
    if kind in ("string", "monolingual"):
        return (value.strip(),) if value.strip() else ()
    return ()


def quantity_forms(amount: str, unit: Sequence[str] = (), language: str = "en") -> tuple[str, ...]:
    """A number as people write it: "12,345 metres", then the number alone, plain digits last."""
    try:
        number = Decimal(amount)
    except InvalidOperation:
        return (amount,) if amount.strip() else ()
    numbers = _number_forms(number, language)
    if not unit:
        return numbers
    named = unit[0] if abs(number) == 1 or language != "en" else plural(unit[0])
    return (*(f"{n} {named}" for n in numbers), *numbers)


def _number_forms(number: Decimal, language: str) -> tuple[str, ...]:
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    whole, point, part = plain.lstrip("-").partition(".")
    sign = "-" if plain.startswith("-") else ""
    fraction = f"{_DECIMAL.get(language, ',')}{part}" if point else ""
    grouped = (
        f"{int(whole):,}".replace(",", _GROUPS.get(language, ",")) if len(whole) > 3 else whole
    )
    forms = [f"{sign}{grouped}{fraction}", f"{sign}{whole}{fraction}"]
    if language == "fr":
        forms += [form.replace("\u202f", blank) for form in forms[:1] for blank in ("\u00a0", " ")]
    if language == "en" and not point and not sign and int(whole) < len(_WORDS):
        forms.append(_WORDS[int(whole)])
    return tuple(dict.fromkeys(forms))


def plural(unit: str) -> str:
    """An English unit of measurement as it follows a number."""
    if unit in _IRREGULAR:
        return _IRREGULAR[unit]
    first, of, rest = unit.partition(" per ")
    if of:
        return f"{plural(first)} per {rest}"
    return (
        unit if unit.endswith(("s", "hertz")) or not unit.isascii() or len(unit) < 3 else f"{unit}s"
    )


def time_forms(value: str, precision: int, language: str = "en") -> tuple[str, ...]:
    """A date as texts write it, as exact as it is known; none where not even the year is.

    A language without months here has the year alone.
    """
    match = _TIME.match(value)
    if match is None or precision < YEAR:
        return ()
    sign, year, month, day = match[1], int(match[2]), int(match[3]), int(match[4])
    written = f"{year}{_BEFORE_CHRIST.get(language, ' BC') if sign == '-' else ''}"
    if language not in _MONTHS or precision == YEAR or not 1 <= month <= 12:
        return (written,)
    name = _MONTHS[language].split()[month - 1]
    if precision == MONTH:
        joint = " de " if language == "es" else " "
        return (f"{name}{joint}{written}",)
    if precision < DAY:
        return (written,)
    return _day_forms(day, name, written, language)


def _day_forms(day: int, month: str, year: str, language: str) -> tuple[str, ...]:
    if language == "de":
        return (f"{day}. {month} {year}",)
    if language == "es":
        return (f"{day} de {month} de {year}",)
    if language == "fr":
        return (f"{'1er' if day == 1 else day} {month} {year}",)
    return (f"{day} {month} {year}", f"{month} {day}, {year}")
