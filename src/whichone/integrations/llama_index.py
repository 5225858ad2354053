"""`namesake` in LlamaIndex: a retriever, and a node post-processor for retrievers that exist already."""

from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from whichone.namesake import Namesake, NamesakeAround


class LlamaIndexNamesakeRetriever(BaseRetriever):  # type: ignore[misc]
    """Nodes from a `whichone.Namesake`, with title, entity and fields as metadata."""

    def __init__(
        self, namesake: Namesake, k: int = 5, filter: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self._namesake, self._k, self._filter = namesake, k, filter
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = []
        for hit in self._namesake.search(query_bundle.query_str, self._k, filter=self._filter):
            known = {"title": hit.passage.title, "entity": hit.passage.entity}
            node = TextNode(id_=hit.id, text=hit.passage.text, metadata={**hit.fields, **known})
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes


class NamesakePostprocessor(BaseNodePostprocessor):  # type: ignore[misc]
    """Puts the nodes of another retriever in a better order, and keeps the first `top_n`."""

    names: Any = None
    top_n: int | None = None
    _around: NamesakeAround = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._around = NamesakeAround(None, self.names)

    @classmethod
    def class_name(cls) -> str:
        return "NamesakePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        return self._around.rerank(query_bundle.query_str, nodes)[: self.top_n]
