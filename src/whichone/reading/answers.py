"""Answers on disk: what a reader said to every question, naming its run, reader and setting."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema
from whichone.records import Answer
from whichone.retrieval.run import FAILURES, benchmark_of

KIND = "answers"

ANSWERS = TableSchema(
    "answers",
    pa.schema(
        [
            ("question", pa.string()),
            ("text", pa.string()),  # null is a refusal
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


class Answers:
    """What one reader said to the questions of one benchmark under one setting."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> Answers:
        return cls(Folder.open(path, KIND))

    @property
    def path(self) -> Path:
        return self.folder.root

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def description(self) -> dict[str, Any]:
        """Reader and setting, with every parameter."""
        return self.folder.manifest.parameters

    @property
    def benchmark_id(self) -> str:
        return self.folder.manifest.parents["benchmark"]

    @functools.cached_property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """The passages each question was shown with, in their order."""
        rows = self.folder.table("answers", ["question", "shown"]).to_pylist()
        return {row["question"]: tuple(row["shown"] or ()) for row in rows}

    @functools.cached_property
    def answers(self) -> dict[str, Answer]:
        """By question; failed ones and those that were not asked are not among them."""
        return {
            row["question"]: Answer(
                question=row["question"],
                text=row["text"],
                passages=tuple(row["passages"] or ()),
                score=row["score"],
                notes=msgspec.json.decode(row["notes"]) if row["notes"] else {},
            )
            for row in self.folder.table("answers").to_pylist()
        }

    @functools.cached_property
    def failures(self) -> dict[str, str]:
        rows = self.folder.table(FAILURES.name).to_pylist()
        return {row["question"]: row["error"] for row in rows}

    @functools.cached_property
    def left_out(self) -> dict[str, str]:
        """Questions that the setting does not fit, with the reason."""
        rows = self.folder.table(LEFT_OUT.name).to_pylist()
        return {row["question"]: row["reason"] for row in rows}

    def benchmark(self, where: str | Path | None = None) -> Benchmark:
        return benchmark_of(self.folder, where)
