"""AmbigDocs' five categories as people are asked for them: what is shown, what they say, who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from whichone.errors import BadInput, did_you_mean
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.web.annotation.campaign_kind import MAJORITY, Done

MEANINGS: Mapping[Category, str] = {
    Category.COMPLETE: "Every bearer's answer is given, each beside the bearer it belongs to.",
    Category.PARTIAL: "Some of the answers are given, not all; each of them beside its bearer.",
    Category.NO_ANSWER: "None of the answers is given: it declines, or says something else.",
    Category.AMBIGUOUS: "One of the answers is given, and it does not say for which bearer.",
    Category.MERGED: "Several answers are given, and not all of them beside their own bearers: "
    "different bearers run into one.",
}
"""The categories of the paper (section 4), in our words, in the order in which they are offered."""


class AskedBearer(msgspec.Struct, frozen=True):
    """A bearer that the system was shown a document about: who, the answer, the document."""

    title: str
    answers: tuple[str, ...]
    text: str = ""


class CategoryTask(msgspec.Struct, frozen=True):
    """One system's answer to one question; `control` is what it was made to be."""

    query: str
    qid: str
    """What AmbigDocs' own file calls the question."""
    question: str
    name: str
    text: str
    bearers: tuple[AskedBearer, ...]
    automatic: str
    system: str = ""
    control: str = ""


class Labelled(msgspec.Struct, frozen=True):
    """What one person said of one answer."""

    category: str
    reason: str = ""


Labels = Done[CategoryTask, Labelled]


def check_label(said: Labelled) -> None:
    known = [category.value for category in Category]
    if said.category not in known:
        raise BadInput("choose one of the five categories", hint=did_you_mean(said.category, known))


def controls(task: CategoryTask, said: Labelled) -> tuple[int, int]:
    """Whether a task is a control, and whether a person saw what it was made to be."""
    return int(bool(task.control)), int(bool(task.control) and said.category == task.control)


def majority(done: Labels, without: frozenset[str] = frozenset()) -> Category | None:
    """What at least two people chose, more than chose anything else; None when there is no such.

    Whoever looked again in the second queue has a vote like the others.
    """
    said = [*done.first.items(), *done.second.items()]
    votes = Counter(a.category for person, a in said if person not in without)
    best = votes.most_common(2)
    if not best or best[0][1] < MAJORITY or (len(best) > 1 and best[1][1] == best[0][1]):
        return None
    return Category(best[0][0])
