"""How properties are asked for and stated: `properties.toml`, and labels that make a grammatical question."""

import re
import tomllib
from collections.abc import Collection
from enum import IntEnum
from functools import cache
from importlib.resources import files

import msgspec

from whichone.benchmarks.relations import SLOT
from whichone.text.normalisers import normalize

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
    """The question, where it is not EntityQuestions', and the words by which a sentence states the fact.

    `defining` are words that do so only in a sentence that says what the bearer is ("Apple was a band ...").
    """

    cues: tuple[str, ...]
    defining: tuple[str, ...] = ()
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
    counts: dict[str, list[int]] = {}
    for prop, value in values:
        counted = counts.setdefault(prop, [0, 0])
        counted["Q5" in types.get(value, ())] += 1
    return frozenset(prop for prop, (others, people) in counts.items() if people > others)


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
    text = files(__package__).joinpath("filter_rules.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), FilterLimits)


def failed_rule(draft: Draft, limits: FilterLimits | None = None, *, contained: bool = False) -> str | None:
    """The name of the first rule that throws a draft out, None if it stays.

    With `contained` an answer may be part of the other, as "musician" is of "jazz musician"; the released
    rule throws such pairs out.
    """
    limits = limits or filter_limits()
    question = draft.question.lower()
    first, second = (answer.lower() for answer in draft.answers)
    if name_rule := _failed_name_rule(draft, question):
        return name_rule
    if any(word in question for word in limits.question_words):
        return "question about its making"
    if any(word in answer for word in limits.answer_words for answer in (first, second)):
        return "answer about its making"
    if contained and normalize(first) == normalize(second):
        return "the same answer"
    if not contained and (first in second or second in first):
        return "one answer inside the other"
    if answer_jaccard(first, second) > limits.most_answer_jaccard:
        return "answers too alike"
    return None


def _failed_name_rule(draft: Draft, question: str) -> str | None:
    """A question must ask under the shared name, not under a title that gives the bearer away.

    Only a suffix "(disambiguation)" in lower case is cut here, as released; the scorer cuts any.
    """
    name = draft.name.strip().removesuffix("(disambiguation)").strip().lower()
    titles = [title.lower() for title in draft.titles]
    if name in question:
        if name not in titles and any(title in question for title in titles):
            return "title in the question"
    elif all(title in question for title in titles):
        return "both titles and no name in the question"
    return None


def answer_jaccard(first: str, second: str) -> float:
    a, b = set(first.split(" ")), set(second.split(" "))
    return len(a & b) / len(a | b)


def short_answer(text: str, limits: FilterLimits | None = None) -> str | None:
    """A generated answer without its final full stop; None if it is empty or no short answer."""
    text = text.strip()
    if not text or text.count(".") > (limits or filter_limits()).most_full_stops:
        return None
    return text.removesuffix(".").strip() or None


def writer_answers(first: str, second: str, limits: FilterLimits | None = None) -> tuple[str, str] | None:
    """The two answers of a fine-tuned writer, the second cut where it begins to ramble.

    None: an answer has too many full stops to be a short answer.
    """
    most = (limits or filter_limits()).most_full_stops
    if max(first.count("."), second.count(".")) > most:
        return None
    return first, second.split(". ")[0]


def status(
    draft: Draft, *, entailed: bool, limit_stops: bool = False, limits: FilterLimits | None = None
) -> Status:
    """The fate of a parsed draft; `limit_stops` adds the format rule of the fine-tuned writer."""
    if limit_stops:
        answers = writer_answers(*draft.answers, limits)
        if answers is None:
            return Status.BAD_FORMAT
        draft = msgspec.structs.replace(draft, answers=answers)
    if failed_rule(draft, limits) is not None:
        return Status.RULE
    return Status.KEPT if entailed else Status.NOT_ENTAILED
