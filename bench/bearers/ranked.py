"""Rankings that another program wrote (`bench/bearer_model.py` on a GPU), as a retriever for experiments."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whichone.records import Question, Ranking


class Ranked:
    """`file` has rows of passages for each question, `kind` of them is taken; `passages` are the corpora's files, between commas."""

    def __init__(self, rankings: dict[str, list[str]], described: dict[str, Any]) -> None:
        self._rankings, self._described = rankings, described

    @classmethod
    def over(cls, corpus: Any, work: Path, *, file: str, kind: str, passages: str) -> Ranked:
        for place in map(Path, passages.split(",")):
            benchmark = place.name.removeprefix("passages-").partition(".")[0]
            ids = [p["id"] for p in _lines(place)]
            if len(ids) == len(corpus) and corpus.rows(ids[:1]) == [0]:
                rankings = {
                    row["id"]: [ids[n] for n in row["rows"]]
                    for row in _lines(Path(file))
                    if row["b"] == benchmark and row["kind"] == kind
                }
                return cls(rankings, {"file": Path(file).name, "kind": kind})
        raise SystemExit(f"{passages}: these are passages of another corpus")

    def describe(self) -> dict[str, Any]:
        return {"retriever": "ranked elsewhere", **self._described}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            passages = tuple(self._rankings[question.id][:k])
            scores = tuple(1.0 / rank for rank in range(1, len(passages) + 1))
            yield Ranking(question=question.id, passages=passages, scores=scores)


def _lines(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt") as lines:
        for line in lines:
            yield json.loads(line)
