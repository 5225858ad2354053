"""How properties are asked for and stated: `properties.toml`, and labels that make a grammatical question."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files

import msgspec

from whichone.benchmarks.relations import SLOT

_NOUNS = re.compile(r"[a-z]+(?: [a-z]+){0,3}")
_ENDS = frozenset(
    [
        "about",
        "after",
        "against",
        "and",
        "as",
        "at",
        "before",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "or",
        "over",
        "than",
        "to",
        "under",
        "via",
        "with",
    ]
)
_BEGINNINGS = frozenset(
    [
        "has",
        "have",
        "is",
        "was",
        "were",
        "are",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "follows",
        "employs",
        "part",
    ]
)
_PLURAL = re.compile(r".*[^siu]s")
_NUMBER = "number of "


class PropertyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The question, where it is not EntityQuestions', and the words by which a sentence states the fact."""

    cues: tuple[str, ...]
    question: str | None = None
    rivals: tuple[str, ...] = ()


@cache
def property_rules() -> dict[str, PropertyRule]:
    text = files(__package__).joinpath("properties.toml").read_bytes()
    rules = msgspec.toml.decode(text, type=dict[str, PropertyRule])
    assert all(r.question is None or r.question.count(SLOT) == 1 for r in rules.values())
    return rules


def question_of_label(label: str, name: str, *, person: bool = False) -> str | None:
    """A question for any property whose label is a singular noun; None for a label that makes none.

    "number of seasons" is asked for by "How many"; "located in", "used by" or "awards" make no question.
    """
    words = label.split()
    if label.startswith(_NUMBER) and _NOUNS.fullmatch(label) and _PLURAL.fullmatch(words[-1]):
        return f"How many {label.removeprefix(_NUMBER)} does {name} have?"
    if not _NOUNS.fullmatch(label) or words[-1] in _ENDS or words[0] in _BEGINNINGS:
        return None
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    if _PLURAL.fullmatch(head) or (len(words) > 1 and words[0].endswith("ed")):
        return None
    return f"{'Who' if person else 'What'} is the {label} of {name}?"


def people_properties(
    values: Collection[tuple[str, str]], types: dict[str, frozenset[str]]
) -> frozenset[str]:
    """Of (property, value): the properties most of whose values are people."""
    counts: dict[str, list[int]] = {}
    for prop, value in values:
        counted = counts.setdefault(prop, [0, 0])
        counted["Q5" in types.get(value, ())] += 1
    return frozenset(prop for prop, (others, people) in counts.items() if people > others)
