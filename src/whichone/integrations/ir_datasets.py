"""Benchmarks as datasets of ir_datasets: documents, queries and judgements in its own types.

import ir_datasets
import whichone.integrations.ir_datasets

dataset = whichone.integrations.ir_datasets.register("BENCH")      # a folder, or builtin/amber
ir_datasets.load(dataset.dataset_id()).queries_iter()
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.exports import exported_ids, judgements
from whichone.corpus.corpus import to_trec
from whichone.errors import needs

with needs("ir_datasets"):
    import ir_datasets
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, TrecQrel


class PassageDoc(NamedTuple):
    """A passage, with the page that it is on."""

    doc_id: str
    title: str
    text: str
    page: str

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


class NameQuery(NamedTuple):
    """A question, and whose name it has in it."""

    query_id: str
    text: str
    answers: tuple[str, ...]
    name: str
    name_set: str
    role: str

    def default_text(self) -> str:
        return self.text


class Docs(BaseDocs):  # type: ignore[misc]
    def __init__(self, benchmark: Benchmark, name: str) -> None:
        self._benchmark, self._name = benchmark, name

    @cached_property
    def _ids(self) -> dict[str, str]:
        return exported_ids(self._benchmark)

    def docs_iter(self) -> Iterator[PassageDoc]:
        for p in self._benchmark.corpus.passage_records():
            yield PassageDoc(self._ids[p.id], p.title, p.text, p.page)

    def docs_store(self) -> Store:
        return Store(self._benchmark, self._ids)

    def docs_count(self) -> int:
        return len(self._benchmark.corpus)

    def docs_cls(self) -> type[PassageDoc]:
        return PassageDoc

    def docs_namespace(self) -> str:
        return self._name

    def docs_lang(self) -> str:
        return self._benchmark.corpus.language


class Store:
    """Documents by id, read from the corpus when they are asked for."""

    def __init__(self, benchmark: Benchmark, ids: dict[str, str]) -> None:
        self._corpus = benchmark.corpus
        self._ours = {theirs: ours for ours, theirs in ids.items()}

    def get(self, doc_id: str, field: str | None = None) -> Any:
        row = self._corpus.row(self._ours[doc_id])
        assert row is not None
        table = self._corpus.take([row], ["title", "text", "page"]).to_pylist()[0]
        doc = PassageDoc(doc_id, table["title"], table["text"], table["page"])
        return getattr(doc, field) if field else doc

    def get_many_iter(self, doc_ids: Any) -> Iterator[PassageDoc]:
        return (self.get(doc_id) for doc_id in doc_ids if doc_id in self._ours)

    def get_many(self, doc_ids: Any, field: str | None = None) -> dict[str, Any]:
        return {d: self.get(d, field) for d in doc_ids if d in self._ours}


class Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, benchmark: Benchmark, name: str) -> None:
        self._benchmark, self._name = benchmark, name

    def queries_iter(self) -> Iterator[NameQuery]:
        for q in self._benchmark.queries:
            shared = (q.name or "", q.name_set or "", q.role or "")
            yield NameQuery(to_trec(q.id), q.input, tuple(q.answers()), *shared)

    def queries_cls(self) -> type[NameQuery]:
        return NameQuery

    def queries_namespace(self) -> str:
        return self._name

    def queries_lang(self) -> str:
        return self._benchmark.queries[0].language


class Qrels(BaseQrels):  # type: ignore[misc]
    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def qrels_iter(self) -> Iterator[Any]:
        ids = exported_ids(self._benchmark)
        for query, passage, relevance in judgements(self._benchmark):
            yield TrecQrel(to_trec(query.id), ids.get(passage, passage), relevance, "0")

    def qrels_cls(self) -> type[Any]:
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        return {0: "judged, not relevant", 1: "a passage of a gold page"}


def dataset(benchmark: str | Path | Benchmark, name: str | None = None) -> Any:
    """A benchmark as a dataset of ir_datasets, in the ids that every export of it has."""
    opened = Benchmark.open(benchmark)
    named = str(benchmark).replace("/", "-") if str(benchmark).startswith("builtin/") else opened.name
    called = name or f"whichone/{named}"
    created = ir_datasets.Dataset(Docs(opened, called), Queries(opened, called), Qrels(opened))
    created.dataset_id = lambda: called
    created.corpus_id = lambda: called
    created.metadata = dict
    return created


def register(benchmark: str | Path | Benchmark, name: str | None = None) -> Any:
    """The same, and known to `ir_datasets.load` by its name, `whichone/NAME`."""
    created = dataset(benchmark, name)
    if created.dataset_id() not in ir_datasets.registry:
        ir_datasets.registry.register(created.dataset_id(), created)
    return created
