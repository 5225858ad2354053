"""Which pages are about an entity, where a corpus says whom its passages are about; looked up on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.files.arrow_records import existing
from whichone.files.mapped import Hashes, HashIndex, Rows, hashes


class EntityPages:
    """Pages by entity, in the order of the corpus; false where no passage is about anybody."""

    def __init__(self, corpus: Corpus, near: str | Path | None = None) -> None:
        self._corpus = corpus
        self._index: HashIndex | None = None
        if any(len(found) for found, _ in self._values()):
            with tempfile.TemporaryDirectory(dir=existing(near), prefix=".entities-") as place:
                HashIndex.write(Path(place), "entity", self._values())
                self._index = HashIndex.open(Path(place), "entity")  # mapped: files may go

    def _values(self) -> Iterator[tuple[Hashes, Rows]]:
        first = 0
        for batch in self._corpus.batches(["entity"]):
            column = batch["entity"]
            rows = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
            yield hashes(column.drop_null().to_pylist()), first + rows
            first += batch.num_rows

    def __bool__(self) -> bool:
        return self._index is not None

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and next(self._rows(entity), None) is not None

    def __getitem__(self, entity: str) -> list[str]:
        pages = dict.fromkeys(str(self._corpus.value(r, "page")) for r in self._rows(entity))
        if not pages:
            raise KeyError(entity)
        return list(pages)

    def _rows(self, entity: str) -> Iterator[int]:
        rows = self._index.rows(entity).tolist() if self._index is not None else ()
        return (row for row in rows if self._corpus.value(row, "entity") == entity)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Entities and pages in the order of the corpus; a pair of several passages in a row comes once."""
        before = None
        for batch in self._corpus.batches(["entity", "page"]) if self else ():
            for pair in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if pair[0] is not None and pair != before:
                    yield pair
                before = pair
