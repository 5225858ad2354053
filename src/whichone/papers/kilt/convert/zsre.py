"""Zero Shot RE: positive examples by subject and relation, relations split 84, 12 and 24."""

from __future__ import annotations

import random
from collections.abc import Iterator

from whichone.errors import BadInput
from whichone.files.lines import read_text_lines
from whichone.papers.kilt.convert.original import Original, made_id, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

SLOT = "XXX"
SHARES = {"train": 84, "dev": 12, "test": 24}


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
    questions: dict[tuple[str, str], dict[str, None]] = {}
    answers: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    lines: dict[tuple[str, str], int] = {}
    relations: set[str] = set()
    for file in original.files:
        for line, text_line in read_text_lines(file):
            parts = text_line.split("\t")
            if len(parts) < 4:
                raise BadInput(
                    "relation, question, subject, sentence and answers are expected, by tabs",
                    file=file,
                    line=line,
                )
            relation, question, subject, text, *rest_fields = parts
            relations.add(relation)
            if not any(answer.strip() for answer in rest_fields):
                original.left_out["negative examples"] += 1
                continue
            key = (subject, relation)
            lines.setdefault(key, line)
            questions.setdefault(key, {}).setdefault(question.replace(SLOT, subject))
            for answer in filter(None, rest_fields):
                answers.setdefault(key, {}).setdefault((answer, text))
    splits = relation_splits(sorted(relations), original.seed)
    for (subject, relation), listed in questions.items():
        if splits[relation] != original.split:
            original.left_out["relations of other splits"] += 1
            continue
        outputs = tuple(
            TaskOutput(answer, (sentence(subject, text),))
            for answer, text in answers[subject, relation]
        )
        yield TaskRecord(
            made_id("zsre", subject, relation),
            f"{subject} [SEP] {relation}",
            outputs,
            lines[subject, relation],
            {"meta": {"template_questions": list(listed)}},
        )
