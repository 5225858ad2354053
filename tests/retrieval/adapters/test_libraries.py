"""The real libraries, each over the same ten pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.protocols import Retriever
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever


def first_pages(system: Retriever, benchmark: Benchmark, tmp_path: Path) -> dict[str, str]:
    run = run_retriever(system, benchmark, tmp_path / "run", k=3, name="theirs")
    assert not run.failures
    return {question: pages[0] for question, pages in run.ranked_pages().items()}


RIGHT = {f"q{n}": f"w:{n}" for n in range(10)}


def embeddings(words: Any) -> Any:
    from langchain_core.embeddings import Embeddings

    class Own(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return words.questions(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return words.questions([text])[0].tolist()

    return Own()


def test_a_langchain_vector_store(small: Benchmark, tmp_path: Path, words: Any) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from whichone.retrieval.adapters.frameworks import LangChain

    store = InMemoryVectorStore(embeddings(words))
    store.add_documents(
        [Document(p.text, metadata={"doc": p.page}, id=p.id) for p in small.passage_records()]
    )
    by_id = LangChain(small.corpus, store)
    assert first_pages(by_id, small, tmp_path / "id") == RIGHT
    assert by_id.describe() == {"retriever": "langchain", "ids": "passage", "class": "InMemoryVectorStore"}
    retriever = store.as_retriever(search_kwargs={"k": 3})
    by_field = LangChain(small.corpus, retriever, ids="metadata:doc")
    assert first_pages(by_field, small, tmp_path / "field") == RIGHT
    with pytest.raises(BadInput, match="ids=title"):
        list(LangChain(small.corpus, store, ids="title").search(small.questions()[:1], 3))
    with pytest.raises(UsageError, match="not dict"):
        LangChain(small.corpus, {})


def test_named_on_the_command_line(small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_core")
    (tmp_path / "my_chain.py").write_text(
        "from langchain_core.retrievers import BaseRetriever\n"
        "from langchain_core.documents import Document\n"
        "class Mine(BaseRetriever):\n"
        "    ids: list\n"
        "    def _get_relevant_documents(self, query, *, run_manager):\n"
        "        return [Document('', id=i) for i in self.ids]\n"
        "def make(benchmark):\n"
        "    return Mine(ids=benchmark.passages['id'].to_pylist()[:2])\n"
        "ready = Mine(ids=['w:4#0'])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, found in (("make", ("w:0#0", "w:0#1")), ("ready", ("w:4#0",))):
        system = make_retriever("langchain", small, tmp_path, {"make": f"my_chain:{name}"})
        (ranking,) = system.search(small.questions()[:1], 5)
        assert (ranking.passages, ranking.scores) == (found, ())
    with pytest.raises(UsageError, match="needs the object"):
        make_retriever("langchain", small, tmp_path, {})
    sys.modules.pop("my_chain", None)


def test_a_llama_index_retriever(small: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from whichone.retrieval.adapters.frameworks import LlamaIndex

    nodes = [TextNode(text=p.text, id_=p.id, metadata={"page": p.page}) for p in small.passage_records()]

    class Overlap(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            asked = set(query_bundle.query_str.strip("?").split())
            scored = [NodeWithScore(node=n, score=len(asked & set(n.text.split()))) for n in nodes]
            return sorted(scored, key=lambda n: -n.score)[:3]

    assert first_pages(LlamaIndex(small.corpus, Overlap()), small, tmp_path / "a") == RIGHT
    by_page = LlamaIndex(small.corpus, Overlap(), ids="metadata:page")
    assert first_pages(by_page, small, tmp_path / "b") == RIGHT
    with pytest.raises(UsageError, match="not str"):
        LlamaIndex(small.corpus, "index")


def test_a_llama_index_index(small: Benchmark, tmp_path: Path, words: Any) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    from whichone.retrieval.adapters.frameworks import LlamaIndex

    class Own(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return words.questions([text])[0].tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    nodes = [TextNode(text=p.text, id_=p.id) for p in small.passage_records()]
    index = VectorStoreIndex(nodes, embed_model=Own())
    assert first_pages(LlamaIndex(small.corpus, index), small, tmp_path) == RIGHT


def haystack_store(small: Benchmark) -> Any:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(id=p.id, content=p.text, meta={"page": p.page}) for p in small.passage_records()]
    )
    return store


def test_a_haystack_component_and_a_pipeline(small: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("haystack")
    from haystack import Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    from whichone.retrieval.adapters.frameworks import Haystack

    component = InMemoryBM25Retriever(haystack_store(small))
    assert first_pages(Haystack(small.corpus, component), small, tmp_path / "a") == RIGHT
    pipeline = Pipeline()
    pipeline.add_component("find", InMemoryBM25Retriever(haystack_store(small)))
    by_page = Haystack(small.corpus, pipeline, ids="metadata:page")
    assert first_pages(by_page, small, tmp_path / "b") == RIGHT
    with pytest.raises(BadInput, match="ids=passage"):
        list(Haystack(small.corpus, component, ids="page").search(small.questions()[:1], 3))


def test_the_documented_function_over_bm25s(
    small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bm25s

    from whichone.retrieval.adapters.adapted import FunctionRetriever

    passages = list(small.passage_records())
    index = bm25s.BM25(corpus=[{"id": p.id, "text": p.text} for p in passages])
    index.index(bm25s.tokenize([p.text for p in passages], show_progress=False), show_progress=False)
    index.save(tmp_path / "index")
    page = Path(__file__).resolve().parents[3] / "docs" / "stores.md"
    code = page.read_text("utf-8").partition("## bm25s")[2].partition("```py\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(code, names)
    assert first_pages(FunctionRetriever(names["search"]), small, tmp_path / "out") == RIGHT


@pytest.mark.slow
def test_a_search_model_of_mteb(small: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("mteb")
    system = make_retriever("mteb", small, tmp_path, {"model": "mteb/baseline-bm25s"})
    assert first_pages(system, small, tmp_path) == RIGHT
    assert system.describe()["model"] == "mteb/baseline-bm25s"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="one of the two"):
        make_retriever("mteb", small, tmp_path, {})
