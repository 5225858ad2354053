"""Slots as questions: `Nike [SEP] country` becomes "What is the country of Nike?"."""

from __future__ import annotations

from whichone.records import Question

SEPARATOR = "[SEP]"


def as_question(question: Question) -> str:
    """The question's text; a slot by template, everything else as it is."""
    subject, mark, relation = question.text.partition(SEPARATOR)
    if question.task != "sf" or not mark:
        return question.text
    return f"What is the {relation.strip()} of {subject.strip()}?"
