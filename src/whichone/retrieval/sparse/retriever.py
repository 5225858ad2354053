"""Learned sparse retrieval: an inverted index whose weights a model has written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BrokenFolder, Missing, UsageError
from whichone.files.folder import Folder
from whichone.progress import progress, talk
from whichone.records import Question, Ranking
from whichone.retrieval.bm25.real_weights import RealPostings
from whichone.retrieval.bm25.scoring import Scorer
from whichone.retrieval.indexes import corpus_hash, index_folder
from whichone.retrieval.sparse.encoder import (
    LONGEST,
    SparseEncoder,
    open_sparse_encoder,
    passage_texts,
    strongest,
)
from whichone.retrieval.sparse.postings import FILES, Block, merge

KIND = "sparse index"
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

    Parameters = SparseParameters

    def __init__(
        self, encoder: SparseEncoder, folder: Folder, parameters: SparseParameters
    ) -> None:
        self.encoder = encoder
        self._parameters = parameters
        self._scorer = Scorer(RealPostings.open(folder.root))
        self._ids = msgspec.json.decode(folder.path("ids.json").read_bytes(), type=list[str])

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path, **options: Any) -> Sparse:
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        given = {**msgspec.to_builtins(parameters), "corpus": corpus_hash(benchmark)}
        return cls.build(benchmark, index_folder(work, "sparse", given), **options)

    @classmethod
    def build(cls, corpus: Benchmark, folder: str | Path, **options: Any) -> Sparse:
        """Index the passages into a folder, or open the index that is there already."""
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        encoder = open_sparse_encoder(
            parameters.model, device=parameters.device, longest=parameters.longest
        )
        described = {
            **msgspec.to_builtins(parameters),
            "encoder": encoder.describe(),
            "corpus": corpus_hash(corpus),
        }
        place = Path(folder)
        try:
            made = Folder.open(place, KIND)
        except (Missing, BrokenFolder):
            made = None
        if made is None or made.manifest.parameters != described:
            _index(corpus, encoder, place, parameters, described)
        return cls(encoder, Folder.open(place, KIND), parameters)

    @classmethod
    def open(cls, folder: str | Path, *, device: str | None = None) -> Sparse:
        """Open an index; its postings are mapped, not read."""
        made = Folder.open(folder, KIND)
        given = {
            k: v for k, v in made.manifest.parameters.items() if k not in ("encoder", "corpus")
        }
        parameters = msgspec.convert(given, SparseParameters)
        encoder = open_sparse_encoder(
            parameters.model, device=device or parameters.device, longest=parameters.longest
        )
        if encoder.describe() != made.manifest.parameters["encoder"]:
            raise UsageError(
                "the model is not the one that the passages were indexed with",
                where=parameters.model,
                hint="build the index again, or put the same weights there",
            )
        return cls(encoder, made, parameters)

    def describe(self) -> dict[str, Any]:
        given = {k: v for k, v in msgspec.to_builtins(self._parameters).items() if v is not None}
        return {"retriever": "sparse", **given, "word_model": self.encoder.describe()}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question, weights in zip(questions, self._weights(questions), strict=True):
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self._ids[i] for i in ordinals.tolist()),
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


def _index(
    corpus: Benchmark,
    encoder: SparseEncoder,
    place: Path,
    parameters: SparseParameters,
    described: dict[str, Any],
) -> None:
    """Encode block by block; a killed one goes on with the next block."""
    table = corpus.passages.select(["id", "title", "text"])
    total = table.num_rows
    with Folder.create(place, KIND, resume=True) as folder:
        entries = folder.journal.read()
        if not entries or entries[0] != msgspec.to_builtins(described):
            for file in folder.partial.iterdir():
                file.unlink()
            folder.journal.append(described)
        elif list(folder.partial.glob("block-*.npy")):
            talk(f"going on with the index in {place}")
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
        folder.write_bytes("ids.json", msgspec.json.encode(table["id"].to_pylist()))
        folder.commit(parameters=described, counts={"passages": total})
