"""RAG as a reader: it retrieves for itself over a corpus, and answers with the documents it used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.files.output import cache_folder
from whichone.reading.checkpoint import weights_fingerprint
from whichone.reading.initialisation import initialisation_of, read_taught
from whichone.reading.inputs import fitted_question
from whichone.reading.rag.decode import Options, decode
from whichone.reading.rag.index import DocumentIndex
from whichone.reading.rag.model import RagModel, checked_marginal
from whichone.records import Answer, ReadingTask

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
