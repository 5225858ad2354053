"""How properties are asked for and stated: `properties.toml`, and labels that make a grammatical question."""

import re
from collections import Counter
from collections.abc import Collection
from enum import IntEnum
from functools import cache
from pathlib import Path

import msgspec

from whichone.files.lines import read_toml
from whichone.text.normalisers import normalize

_NOUNS = re.compile(r"[a-z]+(?: [a-z]+){0,3}")
_ENDS = {
    "about", "after", "against", "and", "as", "at", "before", "by", "for", "from", "in", "into", "of", "on",
    "or", "over", "than", "to", "under", "via", "with",
}  # fmt: skip
_BEGINNINGS = {
    "has", "have", "is", "was", "were", "are", "of", "in", "on", "at", "by", "for", "follows", "employs", "part",
}  # fmt: skip
_PLURAL = re.compile(r".*[^siu]s")


class PropertyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The question, where it is not EntityQuestions', and the words by which a sentence states the fact.

    `defining` are words that do so only in a sentence that says what the bearer is ("Apple was a band ...").
    """

    cues: tuple[str, ...]
    defining: tuple[str, ...] = ()
    question: str | None = None
    rivals: tuple[str, ...] = ()


@cache
def property_rules() -> dict[str, PropertyRule]:
    return read_toml(Path(__file__).with_name("properties.toml"), dict[str, PropertyRule])


def question_of_label(label: str, name: str, *, person: bool = False) -> str | None:
    """A question for any property whose label is a singular noun; None for a label that makes none.

    "number of seasons" is asked for by "How many"; "located in", "used by" or "awards" make no question.
    """
    words = label.split()
    counted = label.removeprefix("number of ")
    if counted != label and _NOUNS.fullmatch(label) and _PLURAL.fullmatch(words[-1]):
        return f"How many {counted} does {name} have?"
    if not _NOUNS.fullmatch(label) or words[-1] in _ENDS or words[0] in _BEGINNINGS:
        return None
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    if _PLURAL.fullmatch(head) or (len(words) > 1 and words[0].endswith("ed")):
        return None
    return f"{'Who' if person else 'What'} is the {label} of {name}?"


# What stays true of the dead: where somebody is buried, what somebody is known for.
TIMELESS = frozenset({"P119", "P800"})
_PRESENT = re.compile(r"\b(does|is|are|employs)\b")
_PAST = {"does": "did", "is": "was", "are": "were", "employs": "employed"}


def tensed(question: str, prop: str, past: Collection[bool]) -> str:
    """An English question in the tense of those it is about; of the living and the dead it asks in both."""
    if not any(past) or prop in TIMELESS:
        return question
    both = not all(past)

    def verb(match: re.Match[str]) -> str:
        return f"{match[1]} or {_PAST[match[1]]}" if both else _PAST[match[1]]

    return _PRESENT.sub(verb, question, count=1)


def people_properties(
    values: Collection[tuple[str, str]], types: dict[str, frozenset[str]]
) -> frozenset[str]:
    """Of (property, value): the properties most of whose values are people."""
    people: Counter[str] = Counter()
    for prop, value in values:
        people[prop] += 1 if "Q5" in types.get(value, ()) else -1
    return frozenset(prop for prop, more in people.items() if more > 0)


class Status(IntEnum):
    """What became of a generated question, with the numbers of the released program."""

    KEPT = 0
    BAD_FORMAT = 1
    RULE = 2
    NOT_ENTAILED = 3


class FilterLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question_words: tuple[str, ...]
    answer_words: tuple[str, ...]
    most_answer_jaccard: float
    most_full_stops: int
    most_judge_tokens: int


class Draft(msgspec.Struct, frozen=True):
    """A generated question with an answer for each of the two bearers of a seed pair."""

    name: str
    titles: tuple[str, str]
    question: str
    answers: tuple[str, str]


@cache
def filter_limits() -> FilterLimits:
    return read_toml(Path(__file__).with_name("filter_rules.toml"), FilterLimits)


def failed_rule(draft: Draft, limits: FilterLimits | None = None, *, contained: bool = False) -> str | None:
    """The name of the first rule that throws a draft out, None if it stays.

    With `contained` an answer may be part of the other, as "musician" is of "jazz musician"; the released
    rule throws such pairs out.
    """
    limits = limits or filter_limits()
    question = draft.question.lower()
    first, second = (answer.lower() for answer in draft.answers)
    # A question must ask under the shared name, not under a title that gives the bearer away.
    # Only a suffix "(disambiguation)" in lower case is cut here, as released; the scorer cuts any.
    name = draft.name.strip().removesuffix("(disambiguation)").strip().lower()
    titles = [title.lower() for title in draft.titles]
    if name not in question and all(title in question for title in titles):
        return "both titles and no name in the question"
    if name in question and name not in titles and any(title in question for title in titles):
        return "title in the question"
    if any(word in question for word in limits.question_words):
        return "question about its making"
    if any(word in answer for word in limits.answer_words for answer in (first, second)):
        return "answer about its making"
    if contained and normalize(first) == normalize(second):
        return "the same answer"
    if not contained and (first in second or second in first):
        return "one answer inside the other"
    a, b = set(first.split(" ")), set(second.split(" "))
    return "answers too alike" if len(a & b) / len(a | b) > limits.most_answer_jaccard else None


def short_answer(text: str, limits: FilterLimits | None = None) -> str | None:
    """A generated answer without its final full stop; None if it is empty or no short answer."""
    text = text.strip()
    if not text or text.count(".") > (limits or filter_limits()).most_full_stops:
        return None
    return text.removesuffix(".").strip() or None
