"""The passages of a benchmark by their id and by their page."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Passage


class Corpus:
    """Looks passages up in the benchmark's table, which stays in Arrow."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._table = benchmark.passages.select(["id", "page", "title", "text", "source_id"])

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        return {identity: n for n, identity in enumerate(self._table["id"].to_pylist())}

    @functools.cached_property
    def _pages(self) -> dict[str, list[str]]:
        """The passages of each page; the table is in the order of page and number."""
        pages: dict[str, list[str]] = {}
        ids, names = self._table["id"].to_pylist(), self._table["page"].to_pylist()
        for identity, page in zip(ids, names, strict=True):
            pages.setdefault(page, []).append(identity)
        return pages

    def __contains__(self, identity: str) -> bool:
        return identity in self._rows

    def has(self, identity: str) -> bool:
        """Whether this is a passage or a page of the corpus."""
        return identity in self._rows or identity in self._pages

    def of_page(self, page: str) -> list[str]:
        """The ids of a page's passages in their order; none for a page that is not in the corpus."""
        return self._pages.get(page, [])

    def passage(self, identity: str) -> Passage:
        row = self._table.slice(self._rows[identity], 1).to_pylist()[0]
        return Passage(**row)

    def passages(self, identities: Iterable[str]) -> dict[str, Passage]:
        """Many at once, which is much faster than one by one."""
        wanted = list(dict.fromkeys(identities))
        rows = self._table.take([self._rows[i] for i in wanted]).to_pylist() if wanted else []
        return {row["id"]: Passage(**row) for row in rows}
