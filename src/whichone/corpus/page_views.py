"""A corpus' pages as a set and their titles as a mapping, looked up in the corpus and never loaded."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Set, ValuesView

from whichone.corpus.corpus import Corpus


class PageIds(Set[str]):
    """The ids of all pages; what it gives with `&` and `-` is a frozenset."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def _from_iterable(cls, ids: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(ids)

    def __contains__(self, page: object) -> bool:
        return isinstance(page, str) and self._corpus.page_row(page) is not None

    def __iter__(self) -> Iterator[str]:
        for batch in self._corpus.page_table.batches(["page"]):
            yield from batch["page"].to_pylist()

    def __len__(self) -> int:
        return self._corpus.page_count


class PageTitles(Mapping[str, str]):
    """The title of each page by its id."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __getitem__(self, page: str) -> str:
        row = self._corpus.page_row(page)
        if row is None:
            raise KeyError(page)
        return str(self._corpus.page_table.value(row, "title") or "")

    def __contains__(self, page: object) -> bool:
        return isinstance(page, str) and self._corpus.page_row(page) is not None

    def __iter__(self) -> Iterator[str]:
        return (page for page, _ in self.pairs())

    def __len__(self) -> int:
        return self._corpus.page_count

    def items(self) -> ItemsView[str, str]:
        return _Items(self)

    def values(self) -> ValuesView[str]:
        return _Values(self)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pages and titles in the order of the corpus, read in batches."""
        for batch in self._corpus.page_table.batches(["page", "title"]):
            titles = (title or "" for title in batch["title"].to_pylist())
            yield from zip(batch["page"].to_pylist(), titles, strict=True)


class _Items(ItemsView[str, str]):
    _mapping: PageTitles

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._mapping.pairs()


class _Values(ValuesView[str]):
    _mapping: PageTitles

    def __iter__(self) -> Iterator[str]:
        return (title for _, title in self._mapping.pairs())
