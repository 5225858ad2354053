"""The fixed index of a RAG model: passage vectors that no training changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.retrieval.dense.dpr import is_dpr, open_side
from whichone.retrieval.dense.encoder import Vectors, need_encoder
from whichone.retrieval.dense.search import NumpySearch
from whichone.retrieval.dense.vectors import encode_corpus

if TYPE_CHECKING:
    import torch

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
