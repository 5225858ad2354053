"""`namesake` in Haystack: a retriever component, and a ranker for retrievers that exist already."""

from typing import Any

from haystack import Document, component

from whichone.namesake import Namesake, NamesakeAround


@component
class HaystackNamesakeRetriever:
    """Documents from a `whichone.Namesake`, with title, entity and fields as meta."""

    def __init__(self, namesake: Namesake, top_k: int = 5) -> None:
        self.namesake, self.top_k = namesake, top_k

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        documents = []
        for hit in self.namesake.search(query, top_k or self.top_k, filter=filters):
            meta = {**hit.fields, "title": hit.passage.title, "entity": hit.passage.entity}
            documents.append(Document(id=hit.id, content=hit.passage.text, meta=meta, score=hit.score))
        return {"documents": documents}


@component
class NamesakeRanker:
    """Puts the documents of another retriever in a better order, and keeps the first `top_k`."""

    def __init__(self, names: Any = None, top_k: int | None = None) -> None:
        self.top_k = top_k
        self._around = NamesakeAround(None, names)

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        return {"documents": self._around.rerank(query, documents)[: self.top_k]}
