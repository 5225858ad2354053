"""`popular`: the most viewed bearer of a name found in the question, the caricature of popularity bias."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.names import name_key
from whichone.records import NameSet, Question, Ranking

_WORD = re.compile(r"\w+|[^\w\s]")


class Popular:
    """Finds the longest shared name in a question and returns its bearers' pages, most viewed first."""

    def __init__(self, sets: Sequence[NameSet]) -> None:
        self._pages: dict[tuple[str, ...], tuple[str, ...]] = {}
        for name_set in sets:
            key = tuple(_WORD.findall(name_key(name_set.name)))
            bearers = sorted(name_set.bearers, key=lambda b: (-(b.popularity or 0), b.entity))
            pages = [page for bearer in bearers for page in bearer.pages]
            self._pages[key] = tuple(dict.fromkeys((*self._pages.get(key, ()), *pages)))
        self._longest = max(map(len, self._pages), default=0)

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path) -> Popular:
        if not benchmark.sets:
            raise UsageError(
                f"{benchmark.name} has no name sets, so nobody is popular",
                hint="build it from a knowledge base, or use another retriever",
            )
        return cls(benchmark.sets)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "popular"}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            pages = self._bearers(question.text)[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=pages, scores=scores)

    def _bearers(self, text: str) -> tuple[str, ...]:
        words = _WORD.findall(name_key(text))
        for length in range(min(self._longest, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                found = self._pages.get(tuple(words[start : start + length]))
                if found:
                    return found
        return ()
