"""What stores of vectors share: an encoder, a collection of a corpus, a check that it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.progress import progress
from whichone.retrieval.adapters.adapted import Adapted
from whichone.retrieval.dense.encoder import Encoder, Vectors, need_encoder
from whichone.retrieval.dense.vectors import encode_corpus

BATCH = 512


class VectorCollection(Adapted):
    """A collection of passage vectors in a store, made of the benchmark or there already.

    Collections that are made here keep `passage` and `page` of each vector, whatever ids the store
    wants. A collection that is named is taken as it is, and never written to. With `work` the vectors
    are made there first, as for `dense`: resumed after a kill, and made once for all stores.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        encoder: Encoder | str = "auto",
        collection: str | None = None,
        ids: str | None = None,
        work: Path | None = None,
    ) -> None:
        if collection is not None and ids is None:
            raise UsageError(
                "what are the ids in your collection?",
                hint="-o ids=passage|page|source|title|metadata:FIELD",
            )
        super().__init__(corpus, ids=ids or "metadata:passage")
        self.encoder = need_encoder(encoder) if isinstance(encoder, str) else encoder
        self._work = work
        self.own = collection is None
        self.collection = collection or collection_name(corpus, self.encoder)

    def details(self) -> dict[str, Any]:
        named = {} if self.own else {"collection": self.collection}
        return {**self.encoder.describe(), **named}

    def question_vectors(self, texts: list[str]) -> Vectors:
        return self.encoder.questions(texts)

    def fill(self, corpus: Corpus) -> Iterator[tuple[list[dict[str, Any]], Vectors]]:
        """All passages in batches, with `number`, `passage` and `page`, and their vectors."""
        table = corpus.passages.select(["id", "page", "title", "text"])
        stored = encode_corpus(corpus, self.encoder, self._work) if self._work else None
        with progress("filling", table.num_rows, "passages") as advance:
            for start in range(0, table.num_rows, BATCH):
                part = table.slice(start, BATCH).to_pylist()
                vectors = (
                    stored.read(np.arange(start, start + len(part)))
                    if stored is not None
                    else self.encoder.passages(
                        [p["title"] for p in part], [p["text"] for p in part]
                    )
                )
                payloads = [
                    {"number": start + n, "passage": p["id"], "page": p["page"]}
                    for n, p in enumerate(part)
                ]
                yield payloads, vectors
                advance(len(part))

    def check_size(self, size: int | None, where: str) -> None:
        if size is not None and size != self.encoder.size:
            raise BadInput(
                f"its vectors have {size} numbers, the encoder's {self.encoder.size}",
                where=f"{where}, collection {self.collection}",
                hint="name the encoder that filled it with -o encoder=PATH|NAME",
            )


def collection_name(corpus: Corpus, encoder: Encoder) -> str:
    """One for each corpus and encoder."""
    import hashlib

    import msgspec

    identity = msgspec.json.encode([corpus.hash, encoder.describe()])
    return f"whichone_{hashlib.sha256(identity).hexdigest()[:16]}"
