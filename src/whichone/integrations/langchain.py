"""`namesake` in LangChain: a retriever, and a document compressor for retrievers that exist already."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, PrivateAttr

from whichone.namesake import Namesake, NamesakeAround


class LangChainNamesakeRetriever(BaseRetriever):  # type: ignore[misc]
    """Documents from a `whichone.Namesake`, with id, score, title, entity and fields as metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    namesake: Namesake
    k: int = 5
    filter: dict[str, Any] | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        documents = []
        for hit in self.namesake.search(query, self.k, filter=self.filter):
            known = {"title": hit.passage.title, "entity": hit.passage.entity, "score": hit.score}
            documents.append(
                Document(id=hit.id, page_content=hit.passage.text, metadata={**hit.fields, **known})
            )
        return documents


class NamesakeCompressor(BaseDocumentCompressor):  # type: ignore[misc]
    """Puts the documents of another retriever in a better order, and keeps the first `top_n`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    names: Any = None
    top_n: int | None = None
    _around: NamesakeAround = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._around = NamesakeAround(None, self.names)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return self._around.rerank(query, documents)[: self.top_n]
