"""Answers on disk: what a reader said to every question, naming its run, reader and setting."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa

from whichone.files.arrow_records import keyed
from whichone.files.tables import TableSchema
from whichone.records import Answer
from whichone.runs.results import Results

KIND = "answers"

ANSWERS = TableSchema(
    "answers",
    pa.schema(
        [
            ("question", pa.string()),
            ("text", pa.string()),  # null is a refusal, or a question back
            ("asks", pa.string()),  # the question back
            ("passages", pa.list_(pa.string())),  # those the answer rests on
            ("shown", pa.list_(pa.string())),  # those the reader was shown, in their order
            ("score", pa.float64()),
            ("notes", pa.string()),  # JSON
        ]
    ),
    ("question",),
)
LEFT_OUT = TableSchema(
    "left_out",
    pa.schema([("question", pa.string()), ("reason", pa.string())]),
    ("question",),
)
TIMING = TableSchema(
    "timing",
    pa.schema(
        [
            ("question", pa.string()),
            ("seconds", pa.float64()),
            ("prompt_tokens", pa.int64()),
            ("tokens", pa.int64()),
            ("cost", pa.float64()),
            ("cached", pa.bool_()),
        ]
    ),
    ("question",),
)


class Answers(Results):
    """What one reader said to the questions of one benchmark under one setting."""

    kind = KIND

    @functools.cached_property
    def shown(self) -> Mapping[str, tuple[str, ...]]:
        """The passages each question was shown with, in their order."""
        rows = self.folder.rows_of(ANSWERS.name, ["question", "shown"])
        pairs = ((row["question"], tuple(row["shown"] or ())) for row in rows)
        return keyed(tuple[str, ...], pairs)

    @functools.cached_property
    def answers(self) -> Mapping[str, Answer]:
        """By question; failed ones and those that were not asked are not among them."""
        rows = self.folder.rows_of(ANSWERS.name)
        return keyed(Answer, ((row["question"], _answer(row)) for row in rows))

    @functools.cached_property
    def left_out(self) -> dict[str, str]:
        """Questions that the setting does not fit, with the reason."""
        return {r["question"]: r["reason"] for r in self.folder.rows_of(LEFT_OUT.name)}


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        question=row["question"],
        text=row["text"],
        asks=row.get("asks"),
        passages=tuple(row["passages"] or ()),
        score=row["score"],
        notes=msgspec.json.decode(row["notes"]) if row["notes"] else {},
    )
