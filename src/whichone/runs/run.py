"""A run on disk: rankings of all questions, failures, timing, and how it was made."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
        return self._ranked_pages

    @functools.cached_property
    def _ranked_pages(self) -> dict[str, list[str]]:
        return {q: list(dict.fromkeys(pages)) for q, pages in self._by_question("page")}

    def ranked_passages(self) -> dict[str, list[str]]:
        """For each question what the system returned, best first."""
        return dict(self._by_question("passage"))

    def _by_question(self, column: str) -> Iterator[tuple[str, list[str]]]:
        """A column's values for each question; the table is in the order of questions and ranks.

        Equal values are one object: most runs return a page many times.
        """
        table = self.folder.table("rankings", ["question", column])
        questions = pc.dictionary_encode(table["question"].combine_chunks())
        values = pc.dictionary_encode(table[column].combine_chunks())
        distinct = np.array(values.dictionary.to_pylist(), object)
        places = values.indices.to_numpy()
        owners = questions.indices.to_numpy()
        bounds = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), len(owners)]
        names = questions.dictionary.to_pylist()
        for start, end in itertools.pairwise(bounds):
            yield names[owners[start]], distinct[places[start:end]].tolist()
