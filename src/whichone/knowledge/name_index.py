"""Finding the names of a knowledge base in a text: the longest first, case folded, accents kept.

The beginnings of all names lie as two sorted arrays on disk, which are mapped into memory and
never read whole; who has a name comes from `lookup.sqlite`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from whichone.files.folder import Folder
from whichone.files.manifest import is_whole
from whichone.knowledge.lookup import Lookup, NameBearer
from whichone.knowledge.lookup_build import LONGEST_NAME, NAME_HASHES, NAME_NUMBERS, build_lookup
from whichone.knowledge.name_pieces import Pieces, begin, extend, folded
from whichone.knowledge.tables import KIND
from whichone.records import Record


class Mention(Record, frozen=True):
    """A name in a text; `number` is what its bearers are asked for by."""

    text: str
    start: int
    end: int
    number: int


class NameIndex:
    def __init__(
        self, lookup: Lookup, hashes: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]
    ) -> None:
        self.lookup = lookup
        self._hashes = hashes
        self._numbers = numbers
        self._bearers = lru_cache(16_384)(lookup.bearers_of_number)

    @classmethod
    def open(cls, base: str | Path | Folder) -> NameIndex:
        """The name index of a knowledge base, made first where it is missing or out of date."""
        folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
        lookup = Lookup.open(folder)
        files = (folder.root / NAME_HASHES, folder.root / NAME_NUMBERS)
        if not all(file.exists() and is_whole(file) for file in files):
            lookup.close()
            build_lookup(folder)
            lookup = Lookup.open(folder)
        hashes, numbers = (np.load(file, mmap_mode="r") for file in files)
        return cls(lookup, hashes, numbers)

    def close(self) -> None:
        self.lookup.close()

    def __enter__(self) -> NameIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def bearers(self, mention: Mention) -> list[NameBearer]:
        """Who a mention may mean, the most popular first."""
        return self._bearers(mention.number)

    def find(
        self, text: str, *, overlapping: bool = False, lower_case: bool = False
    ) -> list[Mention]:
        """The names in a text, in order of where they begin.

        Of overlapping names the longest counts, of equally long ones the first; all of them with
        `overlapping`. A single word in lower case counts only with `lower_case`, or when the whole
        text is in lower case, as typed questions are: most names of one word are also words.
        """
        low, places = folded(text)
        mentions = self._spans(Pieces(low), text, places)
        if not lower_case and text != low:
            mentions = [m for m in mentions if not (m.text.islower() and m.text.isalpha())]
        return mentions if overlapping else _longest(mentions)

    def _spans(self, pieces: Pieces, text: str, places: Any) -> list[Mention]:
        mentions: list[Mention] = []
        starts = np.arange(len(pieces))
        hashes = begin(pieces.bare)
        for length in range(1, LONGEST_NAME + 1):
            numbers, known = self._numbers_of(hashes)
            for start, number in zip(starts[numbers > 0], numbers[numbers > 0], strict=True):
                a, b = pieces.spans[start][0], pieces.spans[start + length - 1][1]
                a, b = (a, b) if places is None else (places[a], _end(places, b))
                mentions.append(Mention(text=text[a:b], start=a, end=b, number=int(number)))
            going = known & (starts + length < len(pieces))
            starts = starts[going]
            if not len(starts):
                break
            hashes = extend(hashes[going], pieces.following[starts + length])
        return sorted(mentions, key=lambda m: (m.start, m.end))

    def _numbers_of(self, hashes: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """For each hash the number of the name (0: none), and whether some name begins so."""
        if not len(self._hashes):
            return np.zeros(len(hashes), np.uint32), np.zeros(len(hashes), bool)
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known = self._hashes[at] == hashes
        return np.where(known, self._numbers[at], 0), known


def _end(places: Any, end: int) -> int:
    """Where a folded stretch ends in the text: where the next character begins."""
    last = places[end - 1]
    while places[end] == last:
        end += 1
    return int(places[end])


def _longest(mentions: list[Mention]) -> list[Mention]:
    taken: list[Mention] = []
    covered = bytearray(max((m.end for m in mentions), default=0))
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.start)):
        if covered.find(1, mention.start, mention.end) < 0:
            covered[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            taken.append(mention)
    return sorted(taken, key=lambda m: m.start)
