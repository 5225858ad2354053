"""`opensearch`: an index in OpenSearch, or in Elasticsearch, which speaks the same of this JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.adapted import Adapted, Hit, missing

_MAPPING = {
    "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "page": {"type": "keyword"},
            "title": {"type": "text", "analyzer": "english"},
            "text": {"type": "text", "analyzer": "english"},
        },
    },
}


class OpenSearch(Adapted):
    """Searches an index by `multi_match`; one of the benchmark's passages is made when none is named.

    `url` is the server; user and password come from the variables that `user_variable` and
    `password_variable` name. `fields` are those searched, such as title^2,text.
    """

    def __init__(
        self,
        corpus: Corpus,
        client: Any,
        *,
        index: str | None = None,
        fields: str = "title,text",
        ids: str | None = None,
    ) -> None:
        if index is not None and ids is None:
            raise UsageError(
                "what are the ids in your index?", hint="-o ids=passage|page|source|metadata:FIELD"
            )
        super().__init__(corpus, ids=ids or "passage")
        self.client, self.fields = client, [field.strip() for field in fields.split(",")]
        self._own = index is None
        self.index = index or f"whichone-{corpus.hash[:16]}"
        self._reached(lambda: self._prepare(corpus))

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        url: str = "http://localhost:9200",
        user_variable: str | None = None,
        password_variable: str | None = None,
        timeout: float = 60.0,
        index: str | None = None,
        fields: str = "title,text",
        ids: str | None = None,
    ) -> OpenSearch:
        try:
            from opensearchpy import OpenSearch as Client
        except ImportError as error:
            raise missing("opensearch-py", error) from error
        who = [os.environ.get(v, "") for v in (user_variable, password_variable) if v]
        client = Client(
            url,
            http_auth=tuple(who) if len(who) == 2 else None,
            timeout=float(timeout),
            retry_on_timeout=True,
            max_retries=3,
        )
        return cls(corpus, client, index=index, fields=fields, ids=ids)

    def describe(self) -> dict[str, Any]:
        named = {} if self._own else {"index": self.index}
        return {"retriever": "opensearch", "fields": self.fields, **named, "ids": self.rule.text}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        body: list[dict[str, Any]] = []
        for text in texts:
            match = {"query": text, "fields": self.fields}
            order = [{"_score": "desc"}, "_doc"]
            asked = {"query": {"multi_match": match}, "size": k, "track_scores": True}
            body += [{}, {**asked, "sort": order, "_source": {"excludes": ["text"]}}]
        replies = self._reached(lambda: self.client.msearch(body=body, index=self.index))
        return [[_hit(hit) for hit in self._found(reply)] for reply in replies["responses"]]

    def _found(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        if "error" in reply:
            problem = msgspec.json.encode(reply["error"])[:300].decode("utf-8", "replace")
            raise BadInput(f"the search failed: {problem}", where=f"index {self.index}")
        return list(reply["hits"]["hits"])

    def _prepare(self, corpus: Corpus) -> None:
        if not self.client.indices.exists(index=self.index):
            if not self._own:
                raise Missing(f"there is no index {self.index!r}")
            self.client.indices.create(index=self.index, body=_MAPPING)
        elif not self._own:
            return
        rows = corpus.passages.num_rows
        if self._count() != rows:
            from opensearchpy import helpers

            helpers.bulk(self.client, self._actions(corpus), chunk_size=500)
            self.client.indices.refresh(index=self.index)
            if (count := self._count()) != rows:
                raise BadInput(
                    f"{count} documents where the corpus has {rows} passages",
                    where=f"index {self.index}",
                    hint="remove the index: it is made again",
                )

    def _count(self) -> int:
        return int(self.client.count(index=self.index)["count"])

    def _actions(self, corpus: Corpus) -> Iterator[dict[str, Any]]:
        for p in corpus.passage_records():
            source = {"page": p.page, "title": p.title, "text": p.text}
            yield {"_index": self.index, "_id": p.id, "_source": source}

    def _reached(self, ask: Any) -> Any:
        """What the client's own errors mean for the user."""
        from opensearchpy import exceptions
        from opensearchpy.helpers import BulkIndexError

        try:
            return ask()
        except exceptions.ConnectionError as error:
            raise Missing(
                f"the server does not answer: {error}",
                hint="is it running? -o url=http://HOST:PORT",
            ) from error
        except (exceptions.TransportError, BulkIndexError) as error:
            raise BadInput(f"the server refused: {error}", where=f"index {self.index}") from error


def _hit(item: dict[str, Any]) -> Hit:
    return Hit(str(item["_id"]), item["_score"], item.get("_source") or {})
