"""The lengths of the paragraphs of gold pages, on disk, by one reading of a knowledge base."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from whichone.files.arrow_records import Seen, blocks, existing
from whichone.papers.kilt.snapshot import Snapshot
from whichone.records import Query

_BLOCK = 4_096


class PageLengths:
    """For each gold page that the knowledge base has, how many characters each of its paragraphs has."""

    def __init__(
        self, snapshot: Snapshot, queries: Iterable[Query], near: str | Path | None = None
    ) -> None:
        self._numbers = Seen(near)
        mentions = 0
        for block in blocks(queries, _BLOCK):
            pages = [page for query in block for page in query.gold_pages()]
            self._numbers.add(pages, range(mentions, mentions + len(pages)))
            mentions += len(pages)
        with (
            tempfile.TemporaryFile(dir=existing(near)) as starts,
            tempfile.TemporaryFile(dir=existing(near)) as lengths,
        ):
            starts.truncate(8 * (mentions + 1))
            self._starts: npt.NDArray[np.int64] = np.memmap(starts, np.int64, "r+")
            """By the number of a page where its lengths are, after how many there are; 0 where it is unknown."""
            np.zeros(1, np.int32).tofile(lengths)
            self._read(snapshot, lengths)
            self._lengths: npt.NDArray[np.int32] = np.memmap(lengths, np.int32, "r")

    def _read(self, snapshot: Snapshot, lengths: IO[bytes]) -> None:
        at = 1
        for pages, per_page, offsets in snapshot.paragraph_lengths():
            for place, number in enumerate(self._numbers.numbers(pages)):
                if number is not None:
                    own = per_page[offsets[place] : offsets[place + 1]]
                    np.concatenate([[len(own)], own]).astype(np.int32).tofile(lengths)
                    self._starts[number] = at
                    at += len(own) + 1
        lengths.flush()

    def of(self, pages: Sequence[str]) -> dict[str, list[int]]:
        """The lengths of those that the knowledge base has."""
        known: dict[str, list[int]] = {}
        for page, number in zip(pages, self._numbers.numbers(pages), strict=True):
            start = 0 if number is None else int(self._starts[number])
            if start:
                count = int(self._lengths[start])
                known[page] = self._lengths[start + 1 : start + 1 + count].tolist()
        return known
