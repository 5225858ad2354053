"""Records by their keys: in memory where they are few, else on disk while a command works."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from whichone.files.seen import Seen
from whichone.files.spool import IN_MEMORY, Spool, blocks

T = TypeVar("T")

_BLOCK = 4_096


class KeyedSpool(Mapping[str, T]):
    """Records on disk, read in their order, or by their keys: best many at once; of a key's records the first counts."""

    def __init__(
        self, kind: type[T], pairs: Iterable[tuple[str, T]], near: str | Path | None = None
    ) -> None:
        self.records: Spool[T] = Spool(kind, near)
        self._keys: Spool[str] = Spool(str, near)
        self._places = Seen(near)
        for block in blocks(pairs, _BLOCK):
            keys = [key for key, _ in block]
            self._places.add(keys, range(len(self._keys), len(self._keys) + len(block)))
            self._keys.extend(keys)
            self.records.extend(record for _, record in block)

    def many(self, keys: Sequence[str]) -> list[T | None]:
        """The record of each key, None where there is none."""
        places = self._places.numbers(keys)
        return [None if place is None else self.records[place] for place in places]

    def __getitem__(self, key: str) -> T:
        place = self._places.numbers([key])[0]
        if place is None:
            raise KeyError(key)
        return self.records[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self.records)

    def values(self) -> ValuesView[T]:
        return _Values(self)

    def items(self) -> ItemsView[str, T]:
        return _Items(self)


class _Values(ValuesView[T]):
    """Read in order, without looking each key up."""

    def __init__(self, spool: KeyedSpool[T]) -> None:
        super().__init__(spool)
        self._spool = spool

    def __iter__(self) -> Iterator[T]:
        return iter(self._spool.records)


class _Items(ItemsView[str, T]):
    def __init__(self, spool: KeyedSpool[T]) -> None:
        super().__init__(spool)
        self._spool = spool

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return zip(self._spool, self._spool.records, strict=True)


def keyed(kind: type[T], pairs: Iterable[tuple[str, T]]) -> Mapping[str, T]:
    """All records by their keys: a dictionary where they are few."""
    iterator = iter(pairs)
    first = list(islice(iterator, IN_MEMORY + 1))
    if len(first) <= IN_MEMORY:
        return dict(first)
    return KeyedSpool(kind, chain(first, iterator))


def of_keys(records: Mapping[str, T], keys: Sequence[str]) -> list[T | None]:
    """The record of each key, None where there is none: many at once where they are on disk."""
    return records.many(keys) if isinstance(records, KeyedSpool) else [*map(records.get, keys)]
