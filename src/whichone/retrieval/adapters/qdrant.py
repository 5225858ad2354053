"""`qdrant`: a collection in Qdrant, on a server or in its local mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import Missing, UsageError
from whichone.retrieval.adapters.adapted import Hit, missing
from whichone.retrieval.adapters.vector_store import VectorCollection
from whichone.retrieval.dense.encoder import Encoder


class Qdrant(VectorCollection):
    """Searches a Qdrant collection; one of the benchmark's passages is made when none is named.

    `url` is a server, `path` a folder of the local mode, ":memory:" or nothing at all a folder
    beside the other indexes. `vector` is the name of the vector in a collection that has several.
    """

    def __init__(
        self, corpus: Corpus, client: Any, *, vector: str | None = None, **options: Any
    ) -> None:
        super().__init__(corpus, **options)
        self.client, self._vector = client, vector
        if self.own and not self._whole(corpus):
            self._make(corpus)
        if not self.own and not client.collection_exists(self.collection):
            raise Missing(f"Qdrant has no collection {self.collection!r}")
        self.check_size(self._size(), "Qdrant")

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        url: str | None = None,
        path: str | None = None,
        api_key_variable: str | None = None,
        encoder: Encoder | str = "auto",
        collection: str | None = None,
        vector: str | None = None,
        ids: str | None = None,
    ) -> Qdrant:
        if url and path:
            raise UsageError("url and path are two places; name one")
        client = _client(url, path or str(work / "qdrant"), api_key_variable)
        return cls(
            corpus,
            client,
            encoder=encoder,
            collection=collection,
            vector=vector,
            ids=ids,
            work=work,
        )

    def describe(self) -> dict[str, Any]:
        return {"retriever": "qdrant", **self.details(), "ids": self.rule.text}

    def close(self) -> None:
        self.client.close()

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        from qdrant_client import models

        requests = [
            models.QueryRequest(
                query=vector.tolist(), using=self._vector, limit=k, with_payload=True
            )
            for vector in self.question_vectors(texts)
        ]
        replies = self.client.query_batch_points(self.collection, requests)
        return [
            [Hit(str(p.id), p.score, p.payload or {}) for p in reply.points] for reply in replies
        ]

    def _whole(self, corpus: Corpus) -> bool:
        if not self.client.collection_exists(self.collection):
            return False
        count: int = self.client.count(self.collection, exact=True).count
        return count == int(corpus.passages.num_rows)

    def _make(self, corpus: Corpus) -> None:
        """From the first passage on: a half-filled collection is filled again over itself."""
        from qdrant_client import models

        if not self.client.collection_exists(self.collection):
            size = models.VectorParams(size=self.encoder.size, distance=models.Distance.DOT)
            self.client.create_collection(self.collection, vectors_config=size)
        for payloads, vectors in self.fill(corpus):
            points = [
                models.PointStruct(id=payload["number"], vector=vector.tolist(), payload=payload)
                for payload, vector in zip(payloads, vectors, strict=True)
            ]
            self.client.upsert(self.collection, points, wait=True)

    def _size(self) -> int | None:
        vector_sizes = self.client.get_collection(self.collection).config.params.vectors
        vector_size = (
            vector_sizes.get(self._vector) if isinstance(vector_sizes, dict) else vector_sizes
        )
        if vector_size is None:
            raise UsageError(
                f"the collection has no vector {self._vector!r}",
                hint=f"-o vector= one of {', '.join(vector_sizes or {})}",
            )
        return int(vector_size.size)


def _client(url: str | None, path: str, api_key_variable: str | None) -> Any:
    import os

    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise missing("qdrant-client", error) from error
    if url:
        key = os.environ.get(api_key_variable) if api_key_variable else None
        return QdrantClient(url=url, api_key=key)
    return QdrantClient(location=path) if path == ":memory:" else QdrantClient(path=path)
