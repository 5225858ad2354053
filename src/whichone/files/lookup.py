"""Values by their names, on disk: written once, looked up many at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from whichone.files.hash_index import Hashes, HashIndex, Rows, hashes
from whichone.files.spool import Spool, blocks, existing

T = TypeVar("T")

_BLOCK = 4_096


class Lookup(Generic[T]):
    """All values of a name, in the order in which they were given."""

    def __init__(
        self, kind: Any, pairs: Iterable[tuple[str, T]], near: str | Path | None = None
    ) -> None:
        self._pairs: Spool[tuple[str, T]] = Spool(tuple[str, kind], near)
        with tempfile.TemporaryDirectory(dir=existing(near), prefix=".lookup-") as folder:
            HashIndex.write(Path(folder), "names", self._written(pairs))
            self._index = HashIndex.open(Path(folder), "names")  # mapped: the files may go

    def _written(self, pairs: Iterable[tuple[str, T]]) -> Iterator[tuple[Hashes, Rows]]:
        for block in blocks(pairs, _BLOCK):
            start = len(self._pairs)
            self._pairs.extend(block)
            rows = np.arange(start, len(self._pairs), dtype=np.int64)
            yield hashes(name for name, _ in block), rows

    def get(self, names: Collection[str]) -> dict[str, list[T]]:
        """The values of these names; a name without one is not in the result."""
        asked = list(names)
        results: dict[str, list[T]] = {}
        for name, *bounds in zip(asked, *self._index.bounds(asked), strict=True):
            for place in range(*bounds):
                own, value = self._pairs[self._index.row(place)]
                if own == name:  # another name may have the same hash
                    results.setdefault(name, []).append(value)
        return results
