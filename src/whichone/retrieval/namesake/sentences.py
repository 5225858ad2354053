"""How close does a page's closest sentence come to the question?

A passage's vector is a mixture of all it says; the one sentence that answers is closer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from whichone.retrieval.dense.encoder import Encoder, Vectors
from whichone.retrieval.namesake.sentence_store import SentenceStore

_END = re.compile(r'(?<=[.!?])\s+(?=[A-Z0-9"“(])')
MOST_SENTENCES = 24
MOST_OF_A_PASSAGE = 8
LONGEST_SENTENCE = 600
MOST_HELD = 50_000


def split_sentences(text: str) -> list[str]:
    """A text's sentences; a stretch without a full stop is cut where it gets too long to encode."""
    return [piece[:LONGEST_SENTENCE] for piece in _END.split(text.strip()) if piece.strip()]


def rules() -> dict[str, int]:
    """What decides which sentences of a page are encoded."""
    return {
        "most": MOST_SENTENCES,
        "most_of_a_passage": MOST_OF_A_PASSAGE,
        "longest": LONGEST_SENTENCE,
    }


class SentenceCloseness:
    """Encodes the sentences of a page the first time they are asked for, and keeps them."""

    def __init__(
        self,
        encoder: Encoder,
        texts: Callable[[int], Sequence[str]],
        store: SentenceStore | None = None,
    ) -> None:
        self._encoder = encoder
        self._texts = texts
        self._store = store
        self._held: dict[int, tuple[list[str], Vectors]] = {}
        for page, vectors in store.read(MOST_HELD) if store is not None else ():
            sentences = self._sentences(page)
            if len(sentences) == len(vectors):
                self._held[page] = (sentences, vectors)

    def close(self) -> None:
        """Write down what was encoded."""
        if self._store is not None:
            self._store.flush()

    def learn(self, pages: Sequence[int]) -> None:
        """Encode the sentences of pages that are not held yet, together."""
        fresh = [page for page in dict.fromkeys(pages) if page not in self._held]
        if len(self._held) + len(fresh) > MOST_HELD:
            self._held.clear()
            fresh = list(dict.fromkeys(pages))
        sentences = {page: self._sentences(page) for page in fresh}
        every = [sentence for page in fresh for sentence in sentences[page]]
        if not fresh:
            return
        vectors = (
            self._encoder.passages([""] * len(every), every)
            if every
            else np.zeros((0, self._encoder.size), np.float32)
        )
        at = 0
        for page in fresh:
            size = len(sentences[page])
            self._held[page] = (sentences[page], vectors[at : at + size])
            if self._store is not None:
                self._store.add(page, vectors[at : at + size])
            at += size

    def closest(self, question: Vectors, page: int) -> tuple[float, str]:
        """The closeness of the closest sentence, and that sentence; 0 for a page without text."""
        sentences, vectors = self._held[page]
        if not sentences:
            return 0.0, ""
        scores = vectors @ question
        best = int(scores.argmax())
        return float(scores[best]), sentences[best]

    def _sentences(self, page: int) -> list[str]:
        found: list[str] = []
        for text in self._texts(page):
            found += split_sentences(text)[:MOST_OF_A_PASSAGE]
        return found[:MOST_SENTENCES]
