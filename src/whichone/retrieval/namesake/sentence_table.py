"""The vectors of the sentences of pages whose name is shared, encoded when an index is built; mapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import key_hashes
from whichone.files.folder import Folder
from whichone.progress import progress
from whichone.retrieval.dense.encoder import Encoder, Vectors
from whichone.retrieval.namesake.sentences import page_sentences

FILES = ("sentence-pages.npy", "sentence-starts.npy", "sentence-vectors.npy")
_TOGETHER = 2_048
MOST_BEARERS = 64
"""A name that more pages have is no name whose bearers could be weighed one by one."""


def sentence_files(folder: Folder) -> bool:
    return folder.has(FILES[0])


class SentenceTable:
    """Pages in ascending order, with the rows of their sentences' vectors."""

    def __init__(self, pages: Any, starts: Any, vectors: Any) -> None:
        self._pages, self._starts, self._vectors = pages, starts, vectors

    @classmethod
    def open(cls, folder: Path) -> SentenceTable:
        return cls(*(np.load(folder / f, mmap_mode="r").view(np.ndarray) for f in FILES))

    def vectors(self, page: int) -> Vectors | None:
        """The vectors of a page's sentences; None for a page that was not encoded."""
        at = int(self._pages.searchsorted(page))
        if at == len(self._pages) or self._pages[at] != page:
            return None
        result: Vectors = self._vectors[self._starts[at] : self._starts[at + 1]].astype(np.float32)
        return result

    @classmethod
    def write(cls, corpus: Corpus, encoder: Encoder, folder: Path) -> list[str]:
        """Encode and write; the names of the files."""
        pages = pages_of_shared_names(corpus)
        counts = np.zeros(len(pages), np.int64)
        for n, page in enumerate(pages.tolist()):
            counts[n] = len(page_sentences(corpus.texts(corpus.rows_of(page)), corpus.language))
        starts = np.concatenate([[0], np.cumsum(counts)])
        vectors = np.lib.format.open_memmap(
            folder / FILES[2], "w+", np.float16, (int(starts[-1]), encoder.size)
        )
        at = 0
        with progress("encoding sentences", int(starts[-1]), "sentences") as advance:
            for block in _blocks(corpus, pages):
                vectors[at : at + len(block)] = encoder.passages([""] * len(block), block)
                at += len(block)
                advance(len(block))
        vectors.flush()
        np.save(folder / FILES[0], pages)
        np.save(folder / FILES[1], starts)
        return list(FILES)


def _blocks(corpus: Corpus, pages: npt.NDArray[np.int64]) -> Iterator[list[str]]:
    held: list[str] = []
    for page in pages.tolist():
        held += page_sentences(corpus.texts(corpus.rows_of(page)), corpus.language)
        while len(held) >= _TOGETHER:
            yield held[:_TOGETHER]
            held = held[_TOGETHER:]
    if held:
        yield held


def pages_of_shared_names(corpus: Corpus) -> npt.NDArray[np.int64]:
    """The pages whose name another page has too, in ascending order."""
    table = corpus.names.table
    beginnings = [rows for _, rows in key_hashes(table)]
    starts = np.concatenate(beginnings) if beginnings else np.zeros(0, np.int64)
    parts = [np.asarray(batch["page"]) for batch in table.batches(["page"])]
    pages = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(pages))
    shared: list[npt.NDArray[np.int64]] = []
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        distinct = np.unique(pages[start:end])
        if 1 < len(distinct) <= MOST_BEARERS:
            shared.append(distinct)
    return np.unique(np.concatenate(shared)) if shared else np.zeros(0, np.int64)
