"""RAG: a generator over documents that a question encoder retrieves, marginalised over the documents."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.arrow_records import blocks
from whichone.files.output import cache_folder
from whichone.reading.checkpoint import in_batches, initialisation_of, read_taught, weights_fingerprint
from whichone.reading.rag_model import CLASSES, DecodingOptions, RagModel, decode
from whichone.records import Answer, ReadingTask
from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.dense.dpr import is_dpr, open_side
from whichone.retrieval.dense.encoder import Vectors, need_encoder

# The fixed index of a RAG model: passage vectors that no training changes.


Rows = npt.NDArray[np.int64]


class DocumentIndex:
    """Passages by the inner product of their vectors with a question's; searched as `dense` searches.

    `options` are those of `dense`: `search`, `index`, `precision` and `vectors`.
    """

    def __init__(self, corpus: Corpus, encoder: Any, work: Path, **options: Any) -> None:
        self.corpus = corpus
        self.described = {
            **getattr(encoder, "describe_passages", encoder.describe)(),
            **{name: value for name, value in options.items() if value is not None},
        }
        self._dense = Dense.over(corpus, work, encoder=encoder, **options)
        self.size = self._dense.encoder.size

    @classmethod
    def over(
        cls, corpus: Corpus, passage_encoder: str, work: Path, device: str | None = None, **options: Any
    ) -> Self:
        place = passage_folder(passage_encoder)
        dpr = place.is_dir() and is_dpr(place)
        encoder = open_side("passage", place, device) if dpr else need_encoder(str(place), device=device)
        return cls(corpus, encoder, work, **options)

    def check(self, size: int) -> None:
        if size != self.size:
            raise BadInput(
                f"questions become vectors of {size} numbers, the passages have {self.size}",
                hint="the passage encoder is another one than the question encoder was trained with",
            )

    def best(self, questions: torch.Tensor, count: int) -> Rows:
        """Rows of the documents of each question vector."""
        vectors: Vectors = questions.detach().float().cpu().numpy()
        rows = self._dense.best(vectors, count)[0]
        if (rows < 0).any():
            raise BadInput(
                f"the index gave fewer than {count} documents", hint="-o index=exact, or fewer documents"
            )
        return rows

    def vectors(self, rows: Rows) -> Vectors:
        return self._dense.vectors(rows)

    def scores(self, questions: torch.Tensor, rows: Rows) -> torch.Tensor:
        """Inner products with the documents' vectors; gradients reach the questions."""
        held = self.vectors(rows.reshape(-1)).reshape(*rows.shape, self.size)
        return torch.einsum("bh,bdh->bd", questions, torch.from_numpy(held).to(questions.device))

    def texts(self, rows: Rows) -> list[list[tuple[str, str, str]]]:
        """Id, title and text of the documents of each question, all read together."""
        table = self.corpus.take(rows.reshape(-1), ["id", "title", "text"])
        columns = (table[name].to_pylist() for name in ("id", "title", "text"))
        read = ((i, title or "", text) for i, title, text in zip(*columns, strict=True))
        return list(blocks(read, rows.shape[1]))


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


DOCUMENTS = 5
FILE = "rag.json"


class TrainedRag(msgspec.Struct, frozen=True, kw_only=True):
    """What a RAG's training wrote beside its weights: the index it belongs to."""

    passage_encoder: str
    documents: int = DOCUMENTS


class Rag:
    """The best answer summed over the documents that the question encoder finds.

    `passages` is the folder of the passage encoder, fixed since the training; `marginal` sequence or
    token, as the checkpoint says where it is not given. `search`, `index`, `precision` and `vectors` are
    those of `dense`; `batch` is how many questions are answered together.
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
        options: DecodingOptions | None = None,
        place: str | Path = "",
        batch: int = 8,
    ) -> None:
        if documents < 1:
            raise UsageError("documents must be at least 1")
        self.model, self.index, self.batch = model, index, int(batch)
        self.documents = min(documents, len(index.corpus))
        self.options, self.place = options or DecodingOptions(), place
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
        batch: int = 8,
        **search: Any,
    ) -> Self:
        opened = RagModel.open(model, device)
        if marginal is not None and marginal not in CLASSES:
            raise UsageError(f"no marginal {marginal!r}", hint=did_you_mean(marginal, CLASSES))
        opened.marginal = marginal or opened.marginal
        file = Path(model) / FILE
        trained = msgspec.json.decode(file.read_bytes(), type=TrainedRag) if file.is_file() else None
        value = passages or (trained.passage_encoder if trained else None)
        if value is None:
            raise UsageError(
                "RAG needs the passage encoder of its index",
                where=str(model),
                hint="-o passages=FOLDER, DPR's context encoder that it was trained with",
            )
        work = cache_folder() / "indexes" / corpus.hash[:16]  # where retrieval keeps the same vectors
        index = DocumentIndex.over(corpus, value, work, device, **search)
        taught = read_taught(model)
        options = msgspec.convert(
            {
                "decoding": decoding,
                "beams": beams,
                "longest": longest or (taught.longest if taught else 0) or DecodingOptions().longest,
                "shortest": shortest,
                "length_penalty": length_penalty,
            },
            DecodingOptions,
            strict=False,
        )
        count = documents or (trained.documents if trained else DOCUMENTS)
        return cls(opened, index, documents=int(count), options=options, place=model, batch=batch)

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
        """Passages that are shown are not used: what it rests on, it finds, for all questions at once."""
        with torch.inference_mode():
            vectors = self.model.question_vectors([task.question.text for task in tasks])
            self.index.check(vectors.shape[1])
            rows = self.index.best(vectors, self.documents)
            shares = torch.log_softmax(self.index.scores(vectors, rows), 1)
        results = self.index.texts(rows)
        yield from in_batches(self._answers, list(zip(tasks, shares, results, strict=True)), self.batch)

    def _answers(
        self, part: Sequence[tuple[ReadingTask, torch.Tensor, list[tuple[str, str, str]]]]
    ) -> list[Answer]:
        texts = []
        for task, _, result in part:
            asked = self.model.asked(task.question.text, task.question.task)
            texts.append([self.model.input_text(title, text, asked) for _, title, text in result])
        return [
            Answer(
                question=task.question.id,
                text=said or None,
                passages=tuple((identity for identity, _, _ in result)),
                score=score,
                notes={"documents": [round(float(s), 6) for s in shares.exp()]},
            )
            for (task, shares, result), (said, score) in zip(
                part,
                decode(self.model, texts, torch.stack([shares for _, shares, _ in part]), self.options),
                strict=True,
            )
        ]
