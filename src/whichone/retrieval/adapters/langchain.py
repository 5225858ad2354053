"""`langchain`: any LangChain retriever or vector store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.retrieval.adapters.adapted import Adapted, missing, user_object
from whichone.retrieval.adapters.ids import Hit


class LangChain(Adapted):
    """Invokes a LangChain retriever, or searches a vector store by similarity.

    A retriever returns as many documents as it was made for; a vector store is asked for k.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        try:
            from langchain_core.retrievers import BaseRetriever
            from langchain_core.vectorstores import VectorStore
        except ImportError as error:
            raise missing("langchain-core", error) from error
        if not isinstance(asked, BaseRetriever | VectorStore):
            raise UsageError(
                f"a LangChain BaseRetriever or VectorStore is wanted, not {type(asked).__name__}"
            )
        self._asked = asked
        self._scored = isinstance(asked, VectorStore)

    @classmethod
    def over(
        cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage"
    ) -> LangChain:
        return cls(corpus, user_object(make, corpus, "langchain"), ids=ids)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "retriever": "langchain", "class": type(self._asked).__name__}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        if not self._scored:
            return [[_hit(d) for d in documents] for documents in self._asked.batch(texts)]
        pairs = [self._asked.similarity_search_with_score(text, k=k) for text in texts]
        return [[_hit(document, score) for document, score in documents] for documents in pairs]


def _hit(document: Any, score: float | None = None) -> Hit:
    return Hit(str(document.id or ""), None if score is None else float(score), document.metadata)
