"""`milvus`: a collection in Milvus, on a server or in a file of Milvus Lite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import Missing
from whichone.retrieval.adapters.adapted import Hit, missing
from whichone.retrieval.adapters.vector_store import VectorCollection
from whichone.retrieval.dense.encoder import Encoder


class Milvus(VectorCollection):
    """Searches a Milvus collection; one of the benchmark's passages is made when none is named.

    `uri` is a server's address or a file for Milvus Lite, by default one beside the other indexes;
    `vector` the field of the vectors.
    """

    def __init__(
        self, corpus: Corpus, client: Any, *, vector: str = "vector", **options: Any
    ) -> None:
        super().__init__(corpus, **options)
        self.client, self._vector = client, vector
        if self.own and not self._whole(corpus):
            self._make(corpus)
        if not client.has_collection(self.collection):
            raise Missing(f"Milvus has no collection {self.collection!r}")
        self._fields = self._described()
        client.load_collection(self.collection)

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        uri: str | None = None,
        token_variable: str | None = None,
        encoder: Encoder | str = "auto",
        collection: str | None = None,
        vector: str = "vector",
        ids: str | None = None,
    ) -> Milvus:
        try:
            from pymilvus import MilvusClient
        except ImportError as error:
            raise missing("pymilvus", error) from error
        work.mkdir(parents=True, exist_ok=True)
        token = os.environ.get(token_variable, "") if token_variable else ""
        client = MilvusClient(uri or str(work / "milvus.db"), token=token)
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
        return {"retriever": "milvus", **self.details(), "ids": self.rule.text}

    def close(self) -> None:
        self.client.close()

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        replies = self.client.search(
            self.collection,
            data=self.question_vectors(texts).tolist(),
            anns_field=self._vector,
            limit=k,
            output_fields=self._fields,
        )
        return [[self._hit(point) for point in hits] for hits in replies]

    def _hit(self, item: Any) -> Hit:
        entity = dict(item.get("entity") or {})
        identity = item.get("id", item.get("number", ""))
        return Hit(str(identity), float(item["distance"]), entity)

    def _whole(self, corpus: Corpus) -> bool:
        if not self.client.has_collection(self.collection):
            return False
        self.client.flush(self.collection)
        count = int(self.client.get_collection_stats(self.collection)["row_count"])
        if count == corpus.passages.num_rows:
            return True
        self.client.drop_collection(self.collection)  # one of ours, filled by half
        return False

    def _make(self, corpus: Corpus) -> None:
        from pymilvus import DataType

        schema = self.client.create_schema(auto_id=False)
        schema.add_field("number", DataType.INT64, is_primary=True)
        schema.add_field("passage", DataType.VARCHAR, max_length=1024)
        schema.add_field("page", DataType.VARCHAR, max_length=1024)
        schema.add_field(self._vector, DataType.FLOAT_VECTOR, dim=self.encoder.size)
        index = self.client.prepare_index_params()
        index.add_index(self._vector, index_type="FLAT", metric_type="IP")
        self.client.create_collection(self.collection, schema=schema, index_params=index)
        for rows_of_block, vectors in self.fill(corpus):
            rows = zip(rows_of_block, vectors, strict=True)
            self.client.insert(
                self.collection, [{**row, self._vector: v.tolist()} for row, v in rows]
            )
        self.client.flush(self.collection)

    def _described(self) -> list[str]:
        """The fields that are no vectors; the size of the vectors is checked on the way."""
        fields = self.client.describe_collection(self.collection)["fields"]
        names = []
        for field in fields:
            size = field.get("params", {}).get("dim")
            if size is None:
                names.append(field["name"])
            elif field["name"] == self._vector:
                self.check_size(int(size), "Milvus")
        return names
