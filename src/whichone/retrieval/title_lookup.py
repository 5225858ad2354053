"""`title-lookup`: pages whose title is the subject before [SEP]; a ceiling row, not a retriever.

A slot-filling question names its subject outright, and its subject is often the title of the gold page.
Looking the title up reads no text and ranks nothing: its row shows how much of a score that shortcut
explains, and its runs are marked so.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.names import name_key, title_key, without_parentheses
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.indexes import created, opened

SEPARATOR = " [SEP] "


class TitleLookup:
    """The page with exactly this title first, then those with the title but for parentheses."""

    name = "title-lookup"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def over(cls, corpus: Corpus, work: Path) -> TitleLookup:
        return cls(corpus)

    @classmethod
    def build(cls, corpus: Corpus | Iterable[Passage], folder: Path) -> TitleLookup:
        """The corpus alone: its names are the index."""
        with created(Path(folder), cls.name, corpus, {}):
            pass
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> TitleLookup:
        return cls(opened(folder, cls.name)[1])

    def describe(self) -> dict[str, Any]:
        return {"retriever": "title-lookup", "shortcut": ["looks up the title before [SEP]"]}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            subject, separator, _ = question.text.partition(SEPARATOR)
            name = question.mention or (subject if separator else None)
            pages = [] if name is None else self._pages(name)[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=tuple(pages), scores=scores)

    def _pages(self, name: str) -> list[str]:
        bare = without_parentheses(html.unescape(name))
        bearers = [b for b in self._corpus.names.bearers(bare) if b.kind == "title"]
        pages = self._corpus.page_ids(list(dict.fromkeys(b.page for b in bearers)))
        titled = [(page, self._corpus.title(page)) for page in pages]
        same = title_key(name)
        kept = [(page, title) for page, title in titled if title_key(title) == same]
        exact = name_key(name)
        return [page for page, title in sorted(kept, key=lambda p: (name_key(p[1]) != exact, p[0]))]
