"""`given`: the documents that a dataset itself puts beside each question, in its order.

RAMDocs shows a model its own documents, noise and misinformation among them; as a run they can be
shown with `--passages retrieved`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.records import Question, Ranking


class Given:
    """Returns what the attribute `documents` of a query lists."""

    sees = ("corpus", "documents given with the question")

    def __init__(self, documents: Mapping[str, Sequence[str]]) -> None:
        self._documents = documents

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path) -> Given:
        documents = {q.id: tuple(q.attributes.get("documents", ())) for q in benchmark.queries}
        if not any(documents.values()):
            raise UsageError(
                f"the questions of {benchmark.name} come without documents of their own",
                hint="use a retriever that searches the corpus",
            )
        return cls(documents)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "given"}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            passages = tuple(self._documents.get(question.id, ()))[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(passages) + 1))
            yield Ranking(question=question.id, passages=passages, scores=scores)
