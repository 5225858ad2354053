"""A run on disk: rankings of all questions, failures, timing, and how it was made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.files.tables import TableSchema
from whichone.runs.ranked import ROWS_IN_MEMORY, by_question, stored_rankings
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

    def ranked_pages(self) -> Mapping[str, Sequence[str]]:
        """For each question the pages in order of their best passage, each once."""
        return self._ranked_pages

    @functools.cached_property
    def _ranked_pages(self) -> Mapping[str, Sequence[str]]:
        if self._many:
            return stored_rankings(self.folder.path(RANKINGS.file), "page", once=True)
        table = self.folder.table(RANKINGS.name, ["question", "page"])
        return {q: list(dict.fromkeys(pages)) for q, pages in by_question(table, "page")}

    def ranked_passages(self) -> Mapping[str, Sequence[str]]:
        """For each question what the system returned, best first."""
        if self._many:
            return stored_rankings(self.folder.path(RANKINGS.file), "passage", once=False)
        table = self.folder.table(RANKINGS.name, ["question", "passage"])
        return dict(by_question(table, "passage"))

    def firsts(self, questions: Sequence[str]) -> dict[str, tuple[str, str]]:
        """What came first for each of a few questions, and its page; only their part of the table is read."""
        rows = self.rows_of(questions, 1).to_pylist()
        return {row["question"]: (row["passage"], row["page"]) for row in rows}

    def rows_of(self, questions: Sequence[str], depth: int) -> pa.Table:
        """The rankings of a few questions down to a depth; only their part of the table is read."""
        wanted = [("question", "in", sorted(questions)), ("rank", "<=", depth)]
        if not questions:
            return RANKINGS.empty()
        return pq.read_table(self.folder.path(RANKINGS.file), filters=wanted, pre_buffer=False)

    @property
    def _many(self) -> bool:
        rows = self.folder.manifest.files[RANKINGS.file].rows
        return rows is not None and rows > ROWS_IN_MEMORY
