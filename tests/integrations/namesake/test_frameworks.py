"""`namesake` as real parts of real pipelines: LangChain, LlamaIndex and Haystack."""

from __future__ import annotations

from typing import Any

import pytest

import whichone

TICKETS = [
    {"id": "t1", "entity": "c1", "tenant": "a", "text": "The printer of Ada Park prints nothing."},
    {"id": "t2", "entity": "c2", "tenant": "a", "text": "Ada Park: the printer prints twice."},
    {"id": "t3", "entity": "c3", "tenant": "b", "text": "The coffee machine of Bo Lind hisses."},
]
PEOPLE = [
    {"id": "c1", "name": "Ada Park", "city": "Leeds"},
    {"id": "c2", "name": "Ada Park", "city": "Turin"},
]
QUESTION = "What is wrong with the printer of Ada Park from Turin?"


@pytest.fixture(scope="module")
def namesake() -> whichone.Namesake:
    return whichone.Namesake.over(TICKETS, names=PEOPLE, encoder="none")


def test_langchain(namesake: whichone.Namesake) -> None:
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    from whichone.integrations.langchain import LangChainNamesakeRetriever, NamesakeCompressor

    def joined(documents: list[Document]) -> str:
        return " | ".join(document.page_content for document in documents)

    retriever = LangChainNamesakeRetriever(namesake=namesake, k=1, filter={"tenant": "a"})
    chain = retriever | RunnableLambda(joined)
    assert chain.invoke(QUESTION) == "Ada Park: the printer prints twice."
    assert retriever.invoke(QUESTION)[0].metadata["entity"] == "c2"
    documents = [
        Document(id=t["id"], page_content=t["text"], metadata={"entity": t["entity"]}) for t in TICKETS
    ]
    compressor = NamesakeCompressor(names=PEOPLE, top_n=2)
    kept = compressor.compress_documents(documents, QUESTION)
    assert [d.id for d in kept] == ["t2", "t1"]
    assert kept[0] is documents[1]


def test_llama_index(namesake: whichone.Namesake) -> None:
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import TextNode

    from whichone.integrations.llama_index import LlamaIndexNamesakeRetriever, NamesakePostprocessor

    retriever = LlamaIndexNamesakeRetriever(namesake, k=1)
    assert [n.node.node_id for n in retriever.retrieve(QUESTION)] == ["t2"]
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert [n.node.node_id for n in engine.query(QUESTION).source_nodes] == ["t2"]
    nodes = [TextNode(id_=t["id"], text=t["text"], metadata={"entity": t["entity"]}) for t in TICKETS]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(4))
    engine = index.as_query_engine(
        llm=MockLLM(), similarity_top_k=3, node_postprocessors=[NamesakePostprocessor(names=PEOPLE, top_n=1)]
    )
    (first,) = engine.query(QUESTION).source_nodes
    assert first.node.node_id in ("t2", "t3")  # places of others stay theirs
    two = NamesakePostprocessor(names=PEOPLE)
    ordered = two.postprocess_nodes(index.as_retriever(similarity_top_k=3).retrieve("x"), query_str=QUESTION)
    ids = [n.node.node_id for n in ordered]
    assert ids.index("t2") < ids.index("t1")


def test_haystack(namesake: whichone.Namesake) -> None:
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from whichone.integrations.haystack import HaystackNamesakeRetriever, NamesakeRanker

    alone = Pipeline()
    alone.add_component("retriever", HaystackNamesakeRetriever(namesake, top_k=1))
    found = alone.run({"retriever": {"query": QUESTION, "filters": {"tenant": "a"}}})
    assert [d.id for d in found["retriever"]["documents"]] == ["t2"]
    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(id=t["id"], content=t["text"], meta={"entity": t["entity"]}) for t in TICKETS]
    )
    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component("namesake", NamesakeRanker(names=PEOPLE, top_k=2))
    pipeline.connect("bm25.documents", "namesake.documents")
    asked: dict[str, Any] = {"bm25": {"query": QUESTION}, "namesake": {"query": QUESTION}}
    assert [d.id for d in pipeline.run(asked)["namesake"]["documents"]] == ["t2", "t1"]
