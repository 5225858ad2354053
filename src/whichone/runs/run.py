"""A run on disk: rankings of all questions, failures, timing, and how it was made."""

from __future__ import annotations

import functools

import pyarrow as pa

from whichone.files.tables import TableSchema
from whichone.runs.results import Results

KIND = "run"

RANKINGS = TableSchema(
    "rankings",
    pa.schema(
        [
            ("question", pa.string()),
            ("rank", pa.int32()),  # from 1
            ("passage", pa.string()),  # a passage id, or a page id for page-level systems
            ("page", pa.string()),
            ("score", pa.float64()),
        ]
    ),
    ("question", "rank"),
)
NOTES = TableSchema(
    "notes",
    pa.schema([("question", pa.string()), ("notes", pa.string())]),
    ("question",),
)
TIMING = TableSchema(
    "timing",
    pa.schema([("question", pa.string()), ("seconds", pa.float64())]),
    ("question",),
)


class Run(Results):
    """Rankings of every question of one benchmark by one system."""

    kind = KIND

    @functools.cached_property
    def rankings(self) -> pa.Table:
        return self.folder.table("rankings")

    def ranked_pages(self) -> dict[str, list[str]]:
        """For each question the pages in order of their best passage, each once."""
        pages: dict[str, list[str]] = {}
        seen: set[tuple[str, str]] = set()
        table = self.rankings
        for question, page in zip(
            table["question"].to_pylist(), table["page"].to_pylist(), strict=True
        ):
            if (question, page) not in seen:
                seen.add((question, page))
                pages.setdefault(question, []).append(page)
        return pages
