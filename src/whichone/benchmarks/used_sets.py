"""Name sets that questions turn out to need, each once, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whichone.files.seen import Seen
from whichone.files.spool import Spool
from whichone.records import NameSet


class UsedSets:
    """Name sets in the order in which they were first used."""

    def __init__(self, near: str | Path | None = None) -> None:
        self._sets = Spool(NameSet, near)
        self._seen = Seen(near)

    def add(self, sets: Iterable[NameSet]) -> None:
        given = list(sets)
        before = self._seen.add([s.id for s in given], [0] * len(given))
        self._sets.extend(s for s, known in zip(given, before, strict=True) if known is None)

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[NameSet]:
        return iter(self._sets)
