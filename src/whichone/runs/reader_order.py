"""`reader-order`: a reader's own re-ranking as a run, as in KILT's row "DPR + BERT".

The passages that the answer rests on come first, then the others the reader was shown, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.records import Question, Ranking

ANSWERS = "answers"


class ReaderOrder:
    """Returns what a reader made of the passages it was shown; nothing is searched."""

    def __init__(self, order: Mapping[str, Sequence[str]], told: dict[str, Any]) -> None:
        self._order = order
        self._told = told

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, answers: str) -> ReaderOrder:
        """Read a folder of answers over the same benchmark."""
        folder = Folder.open(answers, ANSWERS)
        made_on = folder.manifest.parents.get("benchmark")
        if made_on != benchmark.id:
            raise BadInput(
                f"the answers are over {made_on}, not over {benchmark.id}", file=folder.root
            )
        order = {
            row["question"]: list(dict.fromkeys([*(row["passages"] or ()), *(row["shown"] or ())]))
            for row in folder.table("answers", ["question", "passages", "shown"]).to_pylist()
        }
        if not any(order.values()):
            raise BadInput("the reader was shown no passages", file=folder.root)
        told = {
            "answers": answers,
            "from": {"answers": folder.manifest.name, "hash": folder.content_hash[:12]},
        }
        return cls(order, told)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "reader-order", **self._told}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            passages = tuple(self._order.get(question.id, ()))[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(passages) + 1))
            yield Ranking(question=question.id, passages=passages, scores=scores)
