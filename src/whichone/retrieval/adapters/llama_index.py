"""`llama-index`: any LlamaIndex retriever, or an index as its own retriever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.retrieval.adapters.adapted import Adapted, missing, user_object
from whichone.retrieval.adapters.ids import Hit


class LlamaIndex(Adapted):
    """Asks a LlamaIndex retriever, or an index through its own retriever with k.

    A retriever returns as many nodes as it was made for. The hit's id is the node's; what the node
    was cut from is in the metadata as `ref_doc_id`.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        try:
            from llama_index.core.base.base_retriever import BaseRetriever
            from llama_index.core.indices.base import BaseIndex
        except ImportError as error:
            raise missing("llama-index-core", error) from error
        if not isinstance(asked, BaseRetriever | BaseIndex):
            raise UsageError(
                f"a LlamaIndex BaseRetriever or index is wanted, not {type(asked).__name__}"
            )
        self._asked = asked
        self._index = isinstance(asked, BaseIndex)

    @classmethod
    def over(
        cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage"
    ) -> LlamaIndex:
        return cls(corpus, user_object(make, corpus, "llama-index"), ids=ids)

    def describe(self) -> dict[str, Any]:
        kind = type(self._asked).__name__
        return {**super().describe(), "retriever": "llama-index", "class": kind}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        asked = self._asked.as_retriever(similarity_top_k=k) if self._index else self._asked
        return [[_hit(node) for node in asked.retrieve(text)] for text in texts]


def _hit(value: Any) -> Hit:
    node = value.node
    metadata = {"ref_doc_id": node.ref_doc_id, **node.metadata}
    return Hit(str(node.node_id), value.score, metadata)
