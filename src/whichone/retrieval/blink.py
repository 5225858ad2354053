"""BLINK (Wu et al., EMNLP 2020): a bi-encoder over mentions and entities, then a cross-encoder over the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from whichone.corpus.corpus import Corpus
from whichone.files.folder import Folder
from whichone.progress import progress
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.blink_models import BlinkModel, MentionText, open_blink
from whichone.retrieval.dense.exact_search import NumpySearch, TorchSearch
from whichone.retrieval.dense.vectors import Shard
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.retrieval.linker import Names, Span, make_finder, open_names

SHARD = 4_096
CANDIDATES = 64
"""As many go to the cross-encoder in the paper."""


class BlinkParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever.

    `model` is a folder of released weights or of `train linker`, `base` the BERT whose words released weights
    need. `mentions` is auto, names, given, spacy or flair, and `ner` the model of spaCy or flair. `cross=false`
    leaves the second stage out. `search` says where the first stage runs: "numpy", or a torch device.
    """

    model: str
    base: str | None = None
    mentions: str = "auto"
    ner: str | None = None
    candidates: Annotated[int, msgspec.Meta(ge=1)] = CANDIDATES
    cross: bool = True
    device: str | None = None
    search: str = "numpy"


class EntityVectors:
    """One vector a page, mapped from the index."""

    def __init__(self, folder: Folder, size: int) -> None:
        self.folder, self.size = folder, size
        self.shards: list[Shard] = []
        first = 0
        for name in sorted(n for n in folder.manifest.files if n.startswith("entities-")):
            vectors = np.load(folder.path(name), mmap_mode="r")
            self.shards.append(Shard(first, vectors, None))
            first += len(vectors)
        self._count = first

    def __len__(self) -> int:
        return self._count


class Blink:
    """Links every mention of a question: the best pages of the bi-encoder, ordered by the cross-encoder.

    A question without a mention has an empty result, which the run counts.
    """

    name = "blink"
    Parameters = BlinkParameters

    def __init__(
        self, model: BlinkModel, vectors: EntityVectors, corpus: Corpus, options: BlinkParameters
    ) -> None:
        self.model, self.corpus, self._options = model, corpus, options
        stored: Any = vectors
        self._search = (
            NumpySearch(stored)
            if options.search == "numpy"
            else TorchSearch(stored, options.search)
        )
        names: Names = open_names(corpus, None)
        self._find, self._described = make_finder(options.mentions, names, model=options.ner)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Blink:
        """Encode a corpus' pages in the work folder, or open the vectors that are there already."""
        wanted = _parameters(options)
        model = open_blink(wanted.model, base=wanted.base, cross=wanted.cross, device=wanted.device)
        index = {"model": wanted.model, "base": wanted.base, "cross": False}
        first = model.weights.partition("+")[0]
        place = found_or_built(cls, corpus, work, index, {"weights": first})
        return cls.open(place, blink=model, **msgspec.to_builtins(wanted))

    @classmethod
    def build(
        cls,
        corpus: Corpus | Iterable[Passage],
        folder: Path,
        *,
        blink: BlinkModel | None = None,
        **options: Any,
    ) -> Blink:
        """Encode the pages of a corpus, title and first passage each; killed and started again it goes on."""
        wanted = _parameters(options)
        model = blink or open_blink(
            wanted.model, base=wanted.base, cross=False, device=wanted.device
        )
        kept = msgspec.to_builtins(wanted)
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            encode_pages(held, model, place)
        return cls.open(folder, blink=blink)

    @classmethod
    def open(cls, folder: str | Path, *, blink: BlinkModel | None = None, **options: Any) -> Blink:
        place, corpus, kept = opened(folder, cls.name)
        wanted = _parameters({**kept, **options})
        model = blink or open_blink(
            wanted.model, base=wanted.base, cross=wanted.cross, device=wanted.device
        )
        return cls(model, EntityVectors(place, model.size), corpus, wanted)

    def describe(self) -> dict[str, Any]:
        return {
            "retriever": self.name,
            **self.model.describe(),
            **self._described,
            "candidates": self._options.candidates,
            "cross": self._crosses,
        }

    @property
    def _crosses(self) -> bool:
        return self._options.cross and self.model.cross is not None

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        results = [self._find(question) for question in questions]
        mentions = [
            in_context(question.text, span)
            for question, spans in zip(questions, results, strict=True)
            for span in spans
        ]
        linked = iter(self.link(mentions, k))
        for question, spans in zip(questions, results, strict=True):
            yield _merged(question, [(span, next(linked)) for span in spans], k)

    def nearest(self, mentions: Sequence[MentionText], k: int) -> list[list[int]]:
        """The rows of the pages whose vectors are closest to each mention: the first stage alone."""
        rows, _ = self._search.best(self.model.mentions(mentions), k)
        return [[int(row) for row in near if row >= 0] for near in rows]

    def link(
        self, mentions: Sequence[MentionText], k: int = 1
    ) -> Iterator[list[tuple[str, float]]]:
        """For each mention pages with their scores, best first."""
        if not mentions:
            return
        most = self._options.candidates if self._crosses else max(k, 1)
        rows, scores = self._search.best(self.model.mentions(mentions), most)
        for mention, near, close in zip(mentions, rows, scores, strict=True):
            pages = [int(row) for row in near if row >= 0]
            values = close[: len(pages)].tolist()
            if self._crosses:
                values = self.model.pairs(mention, descriptions(self.corpus, pages))
            ids = self.corpus.page_ids(pages)
            yield sorted(zip(ids, values, strict=True), key=lambda pair: (-pair[1], pair[0]))


def _parameters(options: dict[str, Any]) -> BlinkParameters:
    return msgspec.convert(options, BlinkParameters, strict=False)


def in_context(text: str, span: Span) -> MentionText:
    """A mention with what is around it; KILT's marks are no text."""
    clean = [
        part.replace("[START_ENT]", " ").replace("[END_ENT]", " ")
        for part in (text[: span.start], text[span.end :])
    ]
    return MentionText(left=clean[0].strip(), mention=span.text, right=clean[1].strip())


def descriptions(corpus: Corpus, pages: Sequence[int]) -> list[tuple[str, str]]:
    """Title and first passage of some pages, by their rows."""
    table = corpus.take(corpus.page_firsts[np.asarray(pages, np.int64)], ["title", "text"])
    return list(zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True))


def encode_pages(corpus: Corpus, model: BlinkModel, folder: Folder) -> None:
    """A shard of pages at a time; finished ones are kept when it is started again."""
    total = corpus.page_count
    with progress("encoding", total, "pages") as advance:
        for number, start in enumerate(range(0, total, SHARD)):
            name = f"entities-{number:05}.npy"
            rows = range(start, min(start + SHARD, total))
            if not (folder.partial / name).exists():
                about = descriptions(corpus, rows)
                vectors = model.entities([t for t, _ in about], [d for _, d in about])
                beside = folder.partial / f".{name}"
                np.save(beside, vectors.astype(np.float32))
                beside.replace(folder.partial / name)
            folder.adopt(name)
            advance(len(rows))


def _merged(
    question: Question, linked: Sequence[tuple[Span, Sequence[tuple[str, float]]]], k: int
) -> Ranking:
    """The pages of all mentions by their best score, as KILT merges them."""
    best: dict[str, float] = {}
    for _, pages in linked:
        for page, score in pages:
            best[page] = max(score, best.get(page, score))
    ordered = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
    return Ranking(
        question=question.id,
        passages=tuple(page for page, _ in ordered),
        scores=tuple(score for _, score in ordered),
        notes={"mentions": [{"mention": s.text, "candidates": len(p)} for s, p in linked]},
    )
