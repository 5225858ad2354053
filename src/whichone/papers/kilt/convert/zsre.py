"""Zero Shot RE: positive examples by subject and relation, relations split 84, 12 and 24."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from whichone.errors import BadInput
from whichone.files.arrow_records import SortedRows
from whichone.files.lines import read_text_lines
from whichone.papers.kilt.convert.original import Original, made_id, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

SLOT = "XXX"
SHARES = {"train": 84, "dev": 12, "test": 24}

_Example = tuple[str, str, int, int, str, str, list[str]]
"""Subject, relation, place among all examples, line, question, sentence and answers."""
_Group = tuple[int, int, str, str, list[str], list[tuple[str, str]]]
"""First place, line, subject, relation, questions, and answers with their sentences."""


def relation_splits(relations: list[str], seed: int) -> dict[str, str]:
    """A split for each relation, none in two; of other numbers than 120, the same shares."""
    shuffled = sorted(set(relations))
    random.Random(seed).shuffle(shuffled)
    total = sum(SHARES.values())
    first = round(len(shuffled) * SHARES["train"] / total)
    second = first + round(len(shuffled) * SHARES["dev"] / total)
    return {
        relation: "train" if n < first else "dev" if n < second else "test"
        for n, relation in enumerate(shuffled)
    }


def convert_zsre(original: Original) -> Iterator[TaskRecord]:
    """One record a subject and relation: all its questions, answers and sentences together."""
    examples, relations = _examples(original)
    splits = relation_splits(sorted(relations), original.seed)
    groups: SortedRows[_Group] = SortedRows(_Group, original.near)
    for (subject, relation), rows in groupby(examples, itemgetter(0, 1)):
        if splits[relation] == original.split:
            groups.append(_group(subject, relation, list(rows)))
        else:
            original.left_out["relations of other splits"] += 1
    for _, line, subject, relation, questions, answers in groups:
        yield TaskRecord(
            made_id("zsre", subject, relation),
            f"{subject} [SEP] {relation}",
            tuple(TaskOutput(answer, (sentence(subject, text),)) for answer, text in answers),
            line,
            {"meta": {"template_questions": questions}},
        )


def _group(subject: str, relation: str, rows: list[_Example]) -> _Group:
    questions = dict.fromkeys(row[4] for row in rows)
    answers = dict.fromkeys((answer, row[5]) for row in rows for answer in row[6])
    return rows[0][2], rows[0][3], subject, relation, list(questions), list(answers)


def _examples(original: Original) -> tuple[SortedRows[_Example], set[str]]:
    """The positive examples by subject and relation, and the relations of all examples."""
    examples: SortedRows[_Example] = SortedRows(_Example, original.near)
    relations: set[str] = set()
    place = 0
    for file in original.files:
        for line, text_line in read_text_lines(file):
            parts = text_line.split("\t")
            if len(parts) < 4:
                raise BadInput(
                    "relation, question, subject, sentence and answers are expected, by tabs",
                    file=file,
                    line=line,
                )
            relation, question, subject, text, *answers = parts
            relations.add(relation)
            if not any(answer.strip() for answer in answers):
                original.left_out["negative examples"] += 1
                continue
            asked = question.replace(SLOT, subject)
            given = list(filter(None, answers))
            examples.append((subject, relation, place, line, asked, text, given))
            place += 1
    return examples, relations
