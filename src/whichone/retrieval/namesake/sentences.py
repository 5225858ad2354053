"""How close does a page's closest sentence come to the question?

A passage's vector is a mixture of all it says; the one sentence that answers is closer.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import key_hashes
from whichone.errors import BadInput, missing_extra
from whichone.files.folder import Folder
from whichone.files.mapped import PathOf, mapped_array
from whichone.progress import progress
from whichone.retrieval.dense.encoder import Encoder, Vectors, each_batch
from whichone.text.language import base_code
from whichone.text.language import split_sentences as by_language

_END = re.compile(r'([.!?])\s+(?=[^\W\d_a-zß-ÿ]|[0-9"“«„(¿¡])')
MOST_SENTENCES = 24
MOST_OF_A_PASSAGE = 8
LONGEST_SENTENCE = 600
MOST_HELD = 5_000


def split_sentences(text: str, language: str = "en") -> list[str]:
    """A text's sentences; a stretch without a full stop is cut where it gets too long to encode."""
    if base_code(language) == "en":
        parts = _END.split(text.strip())
        own = [piece + end for piece, end in zip(parts[::2], (*parts[1::2], ""), strict=True)]
    else:
        own = by_language(text, language)
    return [piece[:LONGEST_SENTENCE] for piece in own if piece.strip()]


def page_sentences(texts: Iterable[str], language: str = "en") -> list[str]:
    """The sentences of a page that are encoded: the first of each passage."""
    sentences = (s for text in texts for s in split_sentences(text, language)[:MOST_OF_A_PASSAGE])
    return [*itertools.islice(sentences, MOST_SENTENCES)]


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
        return self._encoder.questions([text])[0]

    def learn(self, pages: Sequence[int]) -> None:
        """Encode the sentences of pages that have no vectors yet, together."""
        fresh = [p for p in dict.fromkeys(pages) if p not in self._fresh and self._stored(p) is None]
        if not fresh:
            return
        if len(self._fresh) + len(fresh) > MOST_HELD:
            self._fresh.clear()
        sentences = [page_sentences(self._texts(page), self._language) for page in fresh]
        every = [sentence for some in sentences for sentence in some]
        encoder, ends = self._encoder, np.cumsum([len(some) for some in sentences])
        none = np.zeros((0, encoder.size), np.float32)
        vectors = encoder.passages([""] * len(every), every) if every else none
        self._fresh |= zip(fresh, np.split(vectors, ends[:-1]), strict=True)

    def closest(self, question: Vectors, page: int) -> tuple[float, str]:
        """The closeness of the closest sentence, and that sentence; 0 for a page without text."""
        if (vectors := self._stored(page)) is None:
            vectors = self._fresh[page]
        if not len(vectors):
            return 0.0, ""
        scores = vectors @ question
        best = int(scores.argmax())
        return float(scores[best]), page_sentences(self._texts(page), self._language)[best]


# Reads a question together with each bearer's passage: a cross-encoder, or late interaction; ONNX, no torch.


# The package of `whichone[reader]`: a cross-encoder that was trained to tell bearers apart.
READER = "whichone_reader"


def judge_folder(given: str | None) -> str | None:
    """Where the model is that reads: the folder that was given, or the reader's own where it is installed."""
    if given not in (None, "reader"):
        return None if given == "none" else given
    found = importlib.util.find_spec(READER)
    if found is not None and found.origin is not None:
        return str(Path(found.origin).parent)
    if given == "reader":
        raise missing_extra(READER, "reader")
    return None


class Judged(Protocol):
    """A bearer whose best page is read."""

    @property
    def page(self) -> int: ...


class SentenceJudge:
    """Scores the bearers of a name; the higher, the better a bearer's passage answers."""

    def __init__(
        self,
        folder: str,
        passage: Callable[[int, str], tuple[str, str]],
        loaded: SentenceJudge | None = None,
        *,
        words: int = 120,
    ) -> None:
        self._passage = passage
        self._words = words
        self._models: tuple[Any, Any] = _open(folder) if loaded is None else loaded._models
        self._cross, self._tokens = self._models
        own = Path(folder).name == READER
        self.kind = "late" if self._cross is None else "reader" if own else "cross"

    def describe(self) -> dict[str, Any]:
        model = self._cross if self._cross is not None else self._tokens
        return model.describe()

    def scores(self, question: str, bearers: Sequence[Judged]) -> list[tuple[float, str]]:
        """For each bearer its score and the opening sentence of what was read."""
        read = [self._passage(bearer.page, question) for bearer in bearers]
        texts = [f"{title}. {' '.join(text.split()[: self._words])}" for title, text in read]
        shown = [(split_sentences(text) or [""])[0] for _, text in read]
        if self._cross is not None:
            scores = self._cross.scores([(question, text) for text in texts]) / 10
        else:
            asked = self._tokens.questions([question])[0]
            passages = self._tokens.passages([""] * len(texts), texts)
            scores = np.array([float((asked @ p.T).max(1).mean()) for p in passages])
        return list(zip(scores.tolist(), shown, strict=True))


def _open(folder: str) -> tuple[Any, Any]:
    """The cross-encoder of a folder, or its token encoder."""
    from whichone.retrieval.onnx_model import OnnxCrossEncoder
    from whichone.retrieval.token_vectors import OnnxTokens

    try:
        return OnnxCrossEncoder(folder, longest=192), None
    except BadInput as error:
        if "no cross-encoder" not in error.message:
            raise
    return None, OnnxTokens(Path(folder))


# The vectors of the sentences of pages whose name is shared, encoded when an index is built; mapped.


FILES = ("sentence-pages.npy", "sentence-starts.npy", "sentence-vectors.npy")
_TOGETHER = 2_048
MOST_BEARERS = 64  # A name that more pages have is no name whose bearers could be weighed one by one


def sentence_files(folder: Folder) -> bool:
    return folder.has(FILES[0])


class SentenceTable:
    """Pages in ascending order, with the rows of their sentences' vectors."""

    def __init__(self, pages: Any, starts: Any, vectors: Any) -> None:
        self._pages, self._starts, self._vectors = pages, starts, vectors

    @classmethod
    def open(cls, file: PathOf) -> SentenceTable:
        return cls(*(mapped_array(file(name)) for name in FILES))

    def vectors(self, page: int) -> Vectors | None:
        """The vectors of a page's sentences; None for a page that was not encoded."""
        at = int(self._pages.searchsorted(page))
        if at == len(self._pages) or self._pages[at] != page:
            return None
        return self._vectors[self._starts[at] : self._starts[at + 1]].astype(np.float32)

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
                with each_batch(advance, len(block)):
                    vectors[at : at + len(block)] = encoder.passages([""] * len(block), block)
                at += len(block)
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
