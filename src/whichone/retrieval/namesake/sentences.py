"""How close does a page's closest sentence come to the question?

A passage's vector is a mixture of all it says; the one sentence that answers is closer.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from whichone.retrieval.dense.encoder import Encoder, Vectors
from whichone.text.language import base_code
from whichone.text.language import split_sentences as by_language

_END = re.compile(r'(?<=[.!?])\s+(?=[^\W\d_a-zß-ÿ]|[0-9"“«„(¿¡])')
MOST_SENTENCES = 24
MOST_OF_A_PASSAGE = 8
LONGEST_SENTENCE = 600
MOST_HELD = 5_000


def split_sentences(text: str, language: str = "en") -> list[str]:
    """A text's sentences; a stretch without a full stop is cut where it gets too long to encode."""
    own = _END.split(text.strip()) if base_code(language) == "en" else by_language(text, language)
    return [piece[:LONGEST_SENTENCE] for piece in own if piece.strip()]


def page_sentences(texts: Iterable[str], language: str = "en") -> list[str]:
    """The sentences of a page that are encoded: the first of each passage."""
    sentences: list[str] = []
    for text in texts:
        sentences += split_sentences(text, language)[:MOST_OF_A_PASSAGE]
        if len(sentences) >= MOST_SENTENCES:
            break
    return sentences[:MOST_SENTENCES]


class SentenceCloseness:
    """Compares a question with the sentences of pages, whose vectors were made when indexing.

    Only pages without such vectors, because they were added since, are encoded when asked for.
    """

    def __init__(
        self,
        encoder: Callable[[], Encoder],
        texts: Callable[[int], Sequence[str]],
        stored: Callable[[int], Vectors | None],
        *,
        language: str = "en",
    ) -> None:
        self._language = language
        self._load = encoder
        self._texts = texts
        self._stored = stored
        self._fresh: dict[int, Vectors] = {}

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return self._load()

    @functools.lru_cache(4_096)  # noqa: B019
    def question(self, text: str) -> Vectors:
        """A question's vector."""
        vectors: Vectors = self._encoder.questions([text])[0]
        return vectors

    def learn(self, pages: Sequence[int]) -> None:
        """Encode the sentences of pages that have no vectors yet, together."""
        fresh = [
            p for p in dict.fromkeys(pages) if p not in self._fresh and self._stored(p) is None
        ]
        if not fresh:
            return
        if len(self._fresh) + len(fresh) > MOST_HELD:
            self._fresh.clear()
        sentences = [page_sentences(self._texts(page), self._language) for page in fresh]
        every = [sentence for some in sentences for sentence in some]
        size = self._encoder.size
        vectors = (
            self._encoder.passages([""] * len(every), every)
            if every
            else np.zeros((0, size), np.float32)
        )
        at = 0
        for page, some in zip(fresh, sentences, strict=True):
            self._fresh[page] = vectors[at : at + len(some)]
            at += len(some)

    def closest(self, question: Vectors, page: int) -> tuple[float, str]:
        """The closeness of the closest sentence, and that sentence; 0 for a page without text."""
        vectors = self._stored(page)
        if vectors is None:
            vectors = self._fresh[page]
        if not len(vectors):
            return 0.0, ""
        scores = vectors @ question
        best = int(scores.argmax())
        return float(scores[best]), page_sentences(self._texts(page), self._language)[best]
