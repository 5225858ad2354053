"""Other evidence that people pasted: which passage of the corpus it is, and where two agree.

The pasted words must appear in a passage as they are (case, punctuation and blanks aside), or contain a
whole passage. Words that appear in several pages, or in none, are left to the admin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.records import page_of
from whichone.web.annotation.done import MAJORITY, Done
from whichone.web.annotation.evidence import Annotation
from whichone.web.annotation.evidence_tasks import Task
from whichone.web.table_reader import TableReader

LEAST_WORDS = 4
"""Fewer words appear in too many passages to say which was meant."""


class Resolved(msgspec.Struct, frozen=True):
    """Where a pasted text appears in the corpus, or why that cannot be said."""

    passage: str | None = None
    title: str = ""
    problem: str = ""


class Pasted(msgspec.Struct, frozen=True):
    """What one person pasted to one question."""

    query: str
    question: str
    person: str
    text: str
    passage: str | None
    title: str
    problem: str


def pasted_texts(tasks: Sequence[Done[Task, Annotation]]) -> list[str]:
    said = [a for d in tasks for a in (*d.first.values(), *d.second.values())]
    return sorted({a.other.strip() for a in said if a.other.strip()})


def resolve(tables: TableReader, corpus: Corpus, texts: Sequence[str]) -> dict[str, Resolved]:
    """The passage of each pasted text; one look through the corpus for all of them."""
    resolved: dict[str, Resolved] = {}
    wanted = []
    for text in texts:
        if len(text.split()) < LEAST_WORDS:
            resolved[text] = Resolved(problem=f"fewer than {LEAST_WORDS} words")
        else:
            wanted.append(text)
    held = tables.holding(corpus, wanted)
    for text in wanted:
        places = held.get(text, [])
        pages = {page_of(identity) for identity, _ in places}
        if not places:
            resolved[text] = Resolved(problem="not in the corpus")
        elif len(pages) > 1:
            resolved[text] = Resolved(problem=f"appears in {len(pages)} pages")
        else:
            resolved[text] = Resolved(places[0][0], places[0][1])
    return resolved


def agreed(
    done: Done[Task, Annotation],
    resolved: Mapping[str, Resolved],
    without: frozenset[str] = frozenset(),
) -> dict[str, list[str]]:
    """Passages that two people pasted, with who did; passages that were asked about are no news."""
    asked = {p.id for p in done.task.passages}
    people: dict[str, list[str]] = {}
    for person, said in (*done.first.items(), *done.second.items()):
        place = resolved.get(said.other.strip())
        if person in without or place is None or place.passage is None or place.passage in asked:
            continue
        people.setdefault(place.passage, []).append(person)
    return {p: sorted(who) for p, who in sorted(people.items()) if len(who) >= MAJORITY}


def left_over(
    tasks: Sequence[Done[Task, Annotation]],
    resolved: Mapping[str, Resolved],
    without: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """What was pasted and is not merged, with the reason, for the admin."""
    pages = []
    for done in tasks:
        merged = agreed(done, resolved, without) if done.settled else {}
        asked = {p.id for p in done.task.passages}
        for person, said in (*done.first.items(), *done.second.items()):
            text = said.other.strip()
            if not text:
                continue
            place = resolved.get(text, Resolved(problem="not looked for"))
            if place.passage in merged:
                continue
            problem = place.problem or (
                "was asked about" if place.passage in asked
                else "the question is not finished" if not done.settled else "only one person"
            )  # fmt: skip
            pages.append(
                Pasted(done.task.query, done.task.question, person, text, place.passage,
                       place.title, problem)
            )  # fmt: skip
    return [msgspec.structs.asdict(p) for p in pages]
