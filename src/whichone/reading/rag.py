"""RAG: a generator over documents that a question encoder retrieves, marginalised over the documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.files.output import cache_folder
from whichone.reading.checkpoint import initialisation_of, read_taught, weights_fingerprint
from whichone.reading.rag_model import Options, RagModel, checked_marginal, decode
from whichone.reading.seq2seq import fitted_question
from whichone.records import Answer, ReadingTask
from whichone.retrieval.dense.dpr import is_dpr, open_side
from whichone.retrieval.dense.encoder import Vectors, need_encoder
from whichone.retrieval.dense.exact_search import NumpySearch
from whichone.retrieval.dense.vectors import encode_corpus

if TYPE_CHECKING:
    import torch


# The fixed index of a RAG model: passage vectors that no training changes.


Rows = npt.NDArray[np.int64]


class DocumentIndex:
    """Passages by the inner product of their vectors with a question's."""

    def __init__(self, corpus: Corpus, encoder: Any, work: Path) -> None:
        self.corpus = corpus
        self.described = getattr(encoder, "describe_passages", encoder.describe)()
        self._stored = encode_corpus(corpus, encoder, work)
        self._search = NumpySearch(self._stored)
        self.size = self._stored.size

    @classmethod
    def over(
        cls, corpus: Corpus, passage_encoder: str, work: Path, device: str | None = None
    ) -> DocumentIndex:
        place = passage_folder(passage_encoder)
        dpr = place.is_dir() and is_dpr(place)
        encoder = (
            open_side("passage", place, device) if dpr else need_encoder(str(place), device=device)
        )
        return cls(corpus, encoder, work)

    def check(self, size: int) -> None:
        if size != self.size:
            raise BadInput(
                f"questions become vectors of {size} numbers, the passages have {self.size}",
                hint="the passage encoder is another one than the question encoder was trained with",
            )

    def best(self, questions: torch.Tensor, count: int) -> Rows:
        """Rows of the documents of each question vector."""
        vectors: Vectors = questions.detach().float().cpu().numpy()
        return self._search.best(vectors, count)[0]

    def scores(self, questions: torch.Tensor, rows: Rows) -> torch.Tensor:
        """Inner products with the documents' vectors; gradients reach the questions."""
        import torch

        held = self._stored.read(rows.reshape(-1)).reshape(*rows.shape, self.size)
        documents = torch.from_numpy(held).to(questions.device)
        return torch.einsum("bh,bdh->bd", questions, documents)

    def texts(self, rows: Rows) -> list[list[tuple[str, str, str]]]:
        """Id, title and text of the documents of each question."""
        ids = [self.corpus.ids(row.tolist()) for row in rows]
        known = self.corpus.get([identity for row in ids for identity in row])
        return [[(i, known[i].title, known[i].text) for i in row] for row in ids]


def passage_folder(given: str) -> Path:
    """`passages/` of a pair, or the folder itself."""
    inner = Path(given) / "passages"
    return inner if inner.is_dir() else Path(given)


def question_folder(given: str) -> Path:
    inner = Path(given) / "questions"
    place = inner if inner.is_dir() else Path(given)
    if place.is_dir() and not is_dpr(place):
        raise UsageError(
            "RAG's question encoder is one of DPR's", where=str(place),
            hint="train one: whichone train retriever ... --preset dpr",
        )  # fmt: skip
    return place


# RAG as a reader: it retrieves for itself over a corpus, and answers with the documents it used.


DOCUMENTS = 5
FILE = "rag.json"


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What a RAG's training wrote beside its weights: the index it belongs to."""

    passage_encoder: str
    documents: int = DOCUMENTS


class Rag:
    """The best answer summed over the documents that the question encoder finds.

    `passages` is the folder of the passage encoder, fixed since the training; `marginal` sequence or
    token, as the checkpoint says where it is not given.
    """

    name: str = "rag"
    cites = "corpus"
    retrieves = True

    def __init__(
        self,
        model: RagModel,
        index: DocumentIndex,
        *,
        documents: int = DOCUMENTS,
        options: Options | None = None,
        place: str | Path = "",
    ) -> None:
        if documents < 1:
            raise UsageError("documents must be at least 1")
        self.model, self.index, self.documents = model, index, documents
        self.options, self.place = options or Options(), place
        self.options.check()
        self.initialisation = initialisation_of(place, model.rag)
        self.name = f"RAG-{model.marginal} {self.initialisation.label()}"

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        model: str,
        *,
        passages: str | None = None,
        documents: int | None = None,
        marginal: str | None = None,
        device: str | None = None,
        decoding: str = "thorough",
        beams: int = 4,
        longest: int | None = None,
        shortest: int = 0,
        length_penalty: float = 1.0,
    ) -> Self:
        opened = RagModel.open(model, device)
        if marginal is not None:
            opened.marginal = checked_marginal(marginal)
        trained = read_trained(model)
        value = passages or (trained.passage_encoder if trained else None)
        if value is None:
            raise UsageError(
                "RAG needs the passage encoder of its index",
                where=str(model),
                hint="-o passages=FOLDER, DPR's context encoder that it was trained with",
            )
        index = DocumentIndex.over(corpus, value, work_folder(corpus), device)
        taught = read_taught(model)
        options = msgspec.convert(
            {
                "decoding": decoding,
                "beams": beams,
                "longest": longest or (taught.longest if taught else 0) or Options().longest,
                "shortest": shortest,
                "length_penalty": length_penalty,
            },
            Options,
            strict=False,
        )
        count = documents or (trained.documents if trained else DOCUMENTS)
        return cls(opened, index, documents=int(count), options=options, place=model)

    def describe(self) -> dict[str, Any]:
        return {
            "reader": "rag",
            "model": str(self.place),
            "weights": weights_fingerprint(self.place) if str(self.place) else "",
            "initialisation": msgspec.to_builtins(self.initialisation),
            "marginal": self.model.marginal,
            "documents": self.documents,
            "index": self.index.described,
            **msgspec.to_builtins(self.options),
        }

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        """Passages that are shown are not used: what it rests on, it finds."""
        import torch

        for task in tasks:
            question = task.question.text
            with torch.inference_mode():
                vector = self.model.question_vectors([question])
                self.index.check(vector.shape[1])
                rows = self.index.best(vector, self.documents)
                shares = torch.log_softmax(self.index.scores(vector, rows)[0], 0)
            result = self.index.texts(rows)[0]
            asked = fitted_question(
                self.model.tokenizer, question, task.question.task, self.model.longest // 2
            )
            texts = [self.model.input_text(title, text, asked) for _, title, text in result]
            said, score = decode(self.model, texts, shares, self.options)
            yield Answer(
                question=task.question.id,
                text=said or None,
                passages=tuple(identity for identity, _, _ in result),
                score=score,
                notes={"documents": [round(float(s), 6) for s in shares.exp()]},
            )


def read_trained(place: str | Path) -> Trained | None:
    file = Path(place) / FILE
    return msgspec.json.decode(file.read_bytes(), type=Trained) if file.is_file() else None


def work_folder(corpus: Corpus) -> Path:
    """Where retrieval keeps the same vectors."""
    return cache_folder() / "indexes" / corpus.hash[:16]
