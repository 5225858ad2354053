"""Learned sparse retrieval: an inverted index whose weights a model has written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.progress import progress, talk
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25.real_weights import RealPostings
from whichone.retrieval.bm25.scoring import Scorer
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.retrieval.sparse.encoder import (
    LONGEST,
    SparseEncoder,
    open_sparse_encoder,
    passage_texts,
    strongest,
)
from whichone.retrieval.sparse.postings import FILES, Block, merge

BLOCK = 2_048


class SparseParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is a SPLADE folder, an ONNX folder or file, or the name of a model on this machine.

    `questions=words` asks with a question's own words, each with weight 1 a time, for models whose
    passages alone were taught. `passage_words` and `question_words` keep the strongest so many.
    """

    model: str
    questions: Literal["encoded", "words"] = "encoded"
    passage_words: Annotated[int, msgspec.Meta(ge=1)] | None = None
    question_words: Annotated[int, msgspec.Meta(ge=1)] | None = None
    longest: Annotated[int, msgspec.Meta(ge=8)] = LONGEST
    device: str | None = None


class Sparse:
    """Ranks passages by the inner product of the words' weights."""

    name = "sparse"
    Parameters = SparseParameters

    def __init__(
        self, encoder: SparseEncoder, folder: Folder, corpus: Corpus, parameters: SparseParameters
    ) -> None:
        self.encoder = encoder
        self.corpus = corpus
        self._parameters = parameters
        self._scorer = Scorer(RealPostings.open(folder.root))

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Sparse:
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        model = _encoder(parameters).describe()
        wanted = msgspec.to_builtins(parameters)
        return cls.open(found_or_built(cls, corpus, work, wanted, model))

    @classmethod
    def build(
        cls, corpus: Corpus | Iterable[Passage], folder: str | Path, **options: Any
    ) -> Sparse:
        """Index passages into a folder; killed and started again it goes on with the next block."""
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        encoder = _encoder(parameters)
        kept = {"parameters": msgspec.to_builtins(parameters), "encoder": encoder.describe()}
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            _index(held, encoder, place, parameters)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path, *, device: str | None = None) -> Sparse:
        """Open an index; its postings are mapped, not read."""
        place, corpus, kept = opened(folder, cls.name)
        parameters = msgspec.convert(kept["parameters"], SparseParameters)
        encoder = _encoder(parameters, device)
        if encoder.describe() != kept["encoder"]:
            raise UsageError(
                "the model is not the one that the passages were indexed with",
                where=parameters.model,
                hint="build the index again, or put the same weights there",
            )
        return cls(encoder, place, corpus, parameters)

    def describe(self) -> dict[str, Any]:
        given = {k: v for k, v in msgspec.to_builtins(self._parameters).items() if v is not None}
        return {"retriever": "sparse", **given, "word_model": self.encoder.describe()}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question, weights in zip(questions, self._weights(questions), strict=True):
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.corpus.ids(ordinals.tolist())),
                scores=tuple(scores.tolist()),
            )

    def _weights(self, questions: Sequence[Question]) -> Iterator[dict[int, float]]:
        if self._parameters.questions == "words":
            for question in questions:
                counted: dict[int, float] = {}
                for word in self.encoder.tokens(question.text):
                    counted[word] = counted.get(word, 0.0) + 1.0
                yield counted
            return
        for text in self.encoder.encode([question.text for question in questions]):
            words, weights = strongest(text, self._parameters.question_words)
            yield dict(zip(words.tolist(), weights.tolist(), strict=True))


def _encoder(parameters: SparseParameters, device: str | None = None) -> SparseEncoder:
    return open_sparse_encoder(
        parameters.model, device=device or parameters.device, longest=parameters.longest
    )


def _index(
    corpus: Corpus, encoder: SparseEncoder, folder: Folder, parameters: SparseParameters
) -> None:
    """Encode block by block; blocks of another model or of other options are not used."""
    table = corpus.passages.select(["title", "text"])
    total = table.num_rows
    described = msgspec.to_builtins(
        {**msgspec.structs.asdict(parameters), "encoder": encoder.describe(), "corpus": corpus.hash}
    )
    entries = folder.journal.read()
    if not entries or entries[0] != described:
        for file in folder.partial.glob("block-*"):
            file.unlink()
        folder.journal.path.unlink(missing_ok=True)
        folder.journal.append(described)
    elif list(folder.partial.glob("block-*.npy")):
        talk(f"going on with the index in {folder.root}")
    blocks = []
    with progress("encoding", total, "passages") as advance:
        for number, start in enumerate(range(0, total, BLOCK)):
            rows = table.slice(start, BLOCK)
            block = Block(folder.partial, number)
            if not block.done:
                texts = passage_texts(rows["title"].to_pylist(), rows["text"].to_pylist())
                encoded = encoder.encode(texts)
                block.write([strongest(e, parameters.passage_words) for e in encoded], start)
            blocks.append(block)
            advance(rows.num_rows)
    merge(blocks, encoder.words, total, folder.partial)
    for name in FILES:
        folder.adopt(f"{name}.npy")
