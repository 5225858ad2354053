"""What a campaign for categories comes to: the majority's category beside the automatic one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichone.measures.comparison import cohen_kappa, fleiss_kappa, mean_cohen_kappa
from whichone.papers.ambigdocs.campaign.labels import Labels, controls, majority
from whichone.papers.ambigdocs.scores.agreement import compare_labels
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.web.annotation.campaign_kind import flagged_people, people_of

NOBODY: frozenset[str] = frozenset()
_MOST_LISTED = 200


def category_results(
    tasks: Sequence[Labels], *, without_flagged: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Counts, agreement between people and with the measure, people, where both differ.

    Controls tell only who can be relied on: they count in nothing else.
    """
    people = people_of(tasks, controls)
    without = frozenset(flagged_people(people)) if without_flagged else NOBODY
    asked = [d for d in tasks if not d.task.control]
    settled = [d for d in asked if d.settled]
    decided = [(d, label) for d in settled if (label := majority(d, without)) is not None]
    ratings = ratings_of(asked)
    for person, figures in people.items():
        figures["kappa_with_measure"] = _kappa_with_measure(asked, person)
    systems = sorted({d.task.system for d in asked})
    return {
        "tasks": len(asked),
        "controls": len(tasks) - len(asked),
        "annotations": sum(len(d.first) + len(d.second) for d in tasks),
        "finished": sum(d.full for d in asked),
        "in_second_queue": sum(d.waiting for d in asked),
        "undecided": len(settled) - len(decided),
        "decided": len(decided),
        "cohen": mean_cohen_kappa(ratings),
        "fleiss": fleiss_kappa(ratings),
        "with_measure": agreement_of(decided, seed),
        "systems": {
            system: _shares([(d, c) for d, c in decided if d.task.system == system])
            for system in systems
        },
        "people": people,
        "flagged": flagged_people(people),
        "differences": [_difference(d, c) for d, c in decided if c.value != d.task.automatic][
            :_MOST_LISTED
        ],
    }


def agreement_of(
    decided: Sequence[tuple[Labels, Category]], seed: int = 0
) -> dict[str, Any] | None:
    """Kappa of the majority with the measure, with an interval by name, and the confusion matrix."""
    if not decided:
        return None
    rows = [
        (f"{d.task.query} {d.task.system}", Category(d.task.automatic), label, d.task.name)
        for d, label in decided
    ]
    agreement = compare_labels(rows, seed=seed)
    agreement.pop("disagreements")
    return agreement


def ratings_of(asked: Sequence[Labels]) -> dict[str, dict[Any, Any]]:
    """For each person their label of each answer of the first queue."""
    ratings: dict[str, dict[Any, Any]] = {}
    for done in asked:
        for person, said in done.first.items():
            ratings.setdefault(person, {})[done.number] = said.category
    return ratings


def _kappa_with_measure(asked: Sequence[Labels], person: str) -> float | None:
    pairs = [
        (Category(d.task.automatic), Category(d.first[person].category))
        for d in asked
        if person in d.first
    ]
    return cohen_kappa([a for a, _ in pairs], [p for _, p in pairs])


def _shares(decided: Sequence[tuple[Labels, Category]]) -> dict[str, Any]:
    """How many answers of a system are in each category, by people and by the measure."""
    return {
        "decided": len(decided),
        "people": {c.value: sum(label is c for _, label in decided) for c in Category},
        "measure": {
            c.value: sum(d.task.automatic == c.value for d, _ in decided) for c in Category
        },
    }


def _difference(done: Labels, label: Category) -> dict[str, Any]:
    task = done.task
    return {
        "query": task.query, "question": task.question, "system": task.system, "text": task.text,
        "people": label.value, "measure": task.automatic,
    }  # fmt: skip
