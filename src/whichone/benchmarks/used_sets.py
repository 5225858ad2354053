"""Name sets that questions need, each once, on disk: read in order or looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whichone.files.arrow_records import Seen, Spool
from whichone.records import NameSet


class UsedSets:
    """Name sets in the order in which they were first used."""

    def __init__(self, near: str | Path | None = None) -> None:
        self._sets = Spool(NameSet, near)
        self._seen = Seen(near)

    def add(self, sets: Iterable[NameSet]) -> None:
        given = list({s.id: s for s in sets}.values())
        numbers = self._seen.numbers([s.id for s in given])
        new = [s for s, known in zip(given, numbers, strict=True) if known is None]
        first = len(self._sets)
        self._seen.add([s.id for s in new], range(first, first + len(new)))
        self._sets.extend(new)

    def get(self, ids: Iterable[str]) -> dict[str, NameSet]:
        """Those of these ids that there are."""
        wanted = list(dict.fromkeys(ids))
        numbers = zip(wanted, self._seen.numbers(wanted), strict=True)
        return {identity: self._sets[n] for identity, n in numbers if n is not None}

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[NameSet]:
        return iter(self._sets)
