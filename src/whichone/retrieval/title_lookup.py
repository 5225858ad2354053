"""`title-lookup`: pages whose title is the subject before [SEP]; a ceiling row, not a retriever.

A slot-filling question names its subject outright, and its subject is often the title of the gold page.
Looking the title up reads no text and ranks nothing: its row shows how much of a score that shortcut
explains, and its runs are marked so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.names import name_key, title_key
from whichone.records import Question, Ranking

SEPARATOR = " [SEP] "


class TitleLookup:
    """The page with exactly this title first, then those with the title but for parentheses."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        self._exact: dict[str, list[str]] = {}
        self._bare: dict[str, list[str]] = {}
        for page, title in sorted(titles.items()):
            self._exact.setdefault(name_key(title), []).append(page)
            self._bare.setdefault(title_key(title), []).append(page)

    @classmethod
    def for_benchmark(cls, benchmark: Benchmark, work: Path) -> TitleLookup:
        return cls(benchmark.page_titles)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "title-lookup", "shortcut": ["looks up the title before [SEP]"]}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            subject, separator, _ = question.text.partition(SEPARATOR)
            name = question.mention or (subject if separator else None)
            pages: list[str] = []
            if name is not None:
                exact = self._exact.get(name_key(name), [])
                pages = list(dict.fromkeys([*exact, *self._bare.get(title_key(name), [])]))[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=tuple(pages), scores=scores)
