"""`mteb`: any model that speaks mteb's search protocol, by its name there or as an object."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.adapted import Adapted, SystemHit, needs_adapter, user_object

_LANGUAGES = {"en": "eng-Latn", "de": "deu-Latn", "fr": "fra-Latn", "es": "spa-Latn"}


class Mteb(Adapted):
    """Lets a model of mteb index the benchmark's passages and search them.

    An encoder is wrapped as mteb itself wraps it for retrieval tasks.
    """

    def __init__(self, corpus: Corpus, model: Any, *, ids: str = "passage", language: str = "en") -> None:
        super().__init__(corpus, ids=ids)
        self._model = _searcher(model)
        self._about: dict[str, Any] = {
            "task_metadata": _task(_LANGUAGES.get(language, "eng-Latn")),
            "hf_split": "test",
            "hf_subset": "default",
            "encode_kwargs": {"batch_size": 32, "show_progress_bar": False},
            "num_proc": None,
        }
        self._model.index(_corpus(corpus), **self._about)

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        model: str | None = None,
        make: Any = None,
        ids: str = "passage",
        language: str = "en",
    ) -> Self:
        if (model is None) == (make is None):
            raise UsageError("mteb needs -o model=NAME or -o make=MODULE:NAME, one of the two")
        asked = _named(model) if model else user_object(make, corpus, "mteb")
        return cls(corpus, asked, ids=ids, language=language)

    def describe(self) -> dict[str, Any]:
        meta = self._model.mteb_model_meta
        description = {"model": meta.name, "revision": meta.revision} if meta else {}
        return {"retriever": "mteb", **description, "ids": self.rule.text}

    def hits(self, texts: list[str], k: int) -> list[list[SystemHit]]:
        from datasets import Dataset

        numbers = [str(n) for n in range(len(texts))]
        queries = Dataset.from_dict({"id": numbers, "text": texts})
        rankings = self._model.search(queries, top_k=k, top_ranked=None, **self._about)
        return [
            [
                SystemHit(i, float(s))
                for i, s in sorted(rankings.get(n, {}).items(), key=lambda r: (-r[1], r[0]))[:k]
            ]
            for n in numbers
        ]


def _corpus(corpus: Corpus) -> Any:
    from datasets import Dataset

    columns = corpus.passages.select(["id", "title", "text"])
    return Dataset.from_dict({name: columns[name].to_pylist() for name in columns.column_names})


def _searcher(model: Any) -> Any:
    with needs_adapter("mteb"):
        from mteb.models import SearchProtocol
        from mteb.models.search_wrappers import SearchEncoderWrapper
    if isinstance(model, SearchProtocol):
        return model
    if hasattr(model, "encode") and hasattr(model, "similarity"):
        return SearchEncoderWrapper(model)
    raise UsageError(f"a model with mteb's search or encoder protocol is wanted, not {model!r}")


def _named(name: str) -> Any:
    with needs_adapter("mteb"):
        import mteb
    try:
        return mteb.get_model(name)
    except (KeyError, ValueError, OSError) as error:
        raise Missing(f"mteb cannot give the model {name!r}: {error}") from error


def _task(language: str) -> Any:
    """What mteb tells a model about the task: text retrieval in one language."""
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name="Whichone",
        description="Questions about namesakes",
        dataset={"path": "whichone", "revision": "1"},
        type="Retrieval",
        category="t2t",
        eval_langs=[language],
        main_score="ndcg_at_10",
    )


# `haystack`: a Haystack retriever component, or a pipeline that ends in one.


_QUESTION_INPUTS = ("query", "text")


class Haystack(Adapted):
    """Runs a Haystack component or pipeline and takes the documents that come out.

    A component gets the question as `query`; a pipeline at every open input called query or text
    that must be filled, and k at every open `top_k`.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        with needs_adapter("haystack-ai"):
            from haystack import Pipeline
        if not callable(getattr(asked, "run", None)):
            raise UsageError(f"a Haystack component or pipeline is wanted, not {type(asked).__name__}")
        self._asked = asked
        self._pipeline = isinstance(asked, Pipeline)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage") -> Self:
        os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # an evaluation reports nobody
        return cls(corpus, user_object(make, corpus, "haystack"), ids=ids)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "retriever": "haystack", "class": type(self._asked).__name__}

    def hits(self, texts: list[str], k: int) -> list[list[SystemHit]]:
        return [[SystemHit(str(d.id), d.score, d.meta) for d in self._documents(text, k)] for text in texts]

    def _documents(self, text: str, k: int) -> list[Any]:
        if self._pipeline:
            output = self._asked.run(self._inputs(text, k))
            ends = [o["documents"] for o in output.values() if "documents" in o]
        else:
            output = self._asked.run(query=text, top_k=k)
            ends = [output["documents"]] if "documents" in output else []
        if len(ends) != 1:
            raise BadInput(
                f"{len(ends)} outputs called documents came back, one is expected",
                hint="let one component at the end give the documents",
            )
        return list(ends[0])

    def _inputs(self, text: str, k: int) -> Mapping[str, dict[str, Any]]:
        filled: dict[str, dict[str, Any]] = {}
        for component, sockets in self._asked.inputs().items():
            for name, socket in sockets.items():
                if name in _QUESTION_INPUTS and socket["is_mandatory"]:
                    filled.setdefault(component, {})[name] = text
                elif name == "top_k":
                    filled.setdefault(component, {})[name] = k
        return filled


# `langchain`: any LangChain retriever or vector store.


class LangChain(Adapted):
    """Invokes a LangChain retriever, or searches a vector store by similarity.

    A retriever returns as many documents as it was made for; a vector store is asked for k.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        with needs_adapter("langchain-core"):
            from langchain_core.retrievers import BaseRetriever
            from langchain_core.vectorstores import VectorStore
        if not isinstance(asked, BaseRetriever | VectorStore):
            raise UsageError(
                f"a LangChain BaseRetriever or VectorStore is wanted, not {type(asked).__name__}"
            )
        self._asked = asked
        self._scored = isinstance(asked, VectorStore)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage") -> Self:
        return cls(corpus, user_object(make, corpus, "langchain"), ids=ids)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "retriever": "langchain", "class": type(self._asked).__name__}

    def hits(self, texts: list[str], k: int) -> list[list[SystemHit]]:
        if not self._scored:
            return [[_langchain_hit(d) for d in documents] for documents in self._asked.batch(texts)]
        pairs = [self._asked.similarity_search_with_score(text, k=k) for text in texts]
        return [[_langchain_hit(document, score) for document, score in documents] for documents in pairs]


def _langchain_hit(document: Any, score: float | None = None) -> SystemHit:
    return SystemHit(str(document.id or ""), None if score is None else float(score), document.metadata)


# `llama-index`: any LlamaIndex retriever, or an index as its own retriever.


class LlamaIndex(Adapted):
    """Asks a LlamaIndex retriever, or an index through its own retriever with k.

    A retriever returns as many nodes as it was made for. The hit's id is the node's; what the node
    was cut from is in the metadata as `ref_doc_id`.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        with needs_adapter("llama-index-core"):
            from llama_index.core.base.base_retriever import BaseRetriever
            from llama_index.core.indices.base import BaseIndex
        if not isinstance(asked, BaseRetriever | BaseIndex):
            raise UsageError(f"a LlamaIndex BaseRetriever or index is wanted, not {type(asked).__name__}")
        self._asked = asked
        self._index = isinstance(asked, BaseIndex)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage") -> Self:
        return cls(corpus, user_object(make, corpus, "llama-index"), ids=ids)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "retriever": "llama-index", "class": type(self._asked).__name__}

    def hits(self, texts: list[str], k: int) -> list[list[SystemHit]]:
        asked = self._asked.as_retriever(similarity_top_k=k) if self._index else self._asked
        return [
            [
                SystemHit(str(n.node.node_id), n.score, {"ref_doc_id": n.node.ref_doc_id, **n.node.metadata})
                for n in asked.retrieve(text)
            ]
            for text in texts
        ]
