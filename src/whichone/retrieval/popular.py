"""`popular`: the most popular bearer of a name in the question, the caricature of popularity bias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import Bearing
from whichone.errors import UsageError
from whichone.names import plain_signs, token_key, token_places
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.indexes import created, opened

LONGEST = 16


class Popular:
    """Finds the longest name in a question and returns its bearers' pages, the most popular first.

    Popularity is how often a link with that name leads to the page; with a knowledge base, its views.
    """

    name = "popular"

    def __init__(self, corpus: Corpus, knowledge: str | Path | None = None) -> None:
        self._corpus = corpus
        self._names: dict[str, list[int]] = {}
        self._views: Mapping[int, float] = {}
        self._knowledge: str | None = None
        if knowledge:
            self._read(knowledge)
        elif not any("anchor" in set(b["kind"].to_pylist()) for b in corpus.names.table.batches()):
            raise UsageError(
                f"nothing says who is popular in {corpus.name}: it has no texts of links",
                hint="-o knowledge=KB names a knowledge base with views",
            )

    def _read(self, place: str | Path) -> None:
        from whichone.retrieval.namesake.knowledge import Knowledge

        knowledge = Knowledge(place, self._corpus)
        self._knowledge = knowledge.id
        self._views = knowledge.popularity()
        for name, page in knowledge.names():
            self._names.setdefault(token_key(name), []).append(page)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, knowledge: str | None = None) -> Popular:
        return cls(corpus, knowledge)

    @classmethod
    def build(
        cls, corpus: Corpus | Iterable[Passage], folder: Path, *, knowledge: str | None = None
    ) -> Popular:
        options = {"knowledge": str(Path(knowledge).resolve())} if knowledge else {}
        with created(Path(folder), cls.name, corpus, options) as (_, held):
            cls(held, knowledge)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Popular:
        _, corpus, options = opened(folder, cls.name)
        return cls(corpus, options.get("knowledge"))

    @property
    def sees(self) -> tuple[str, ...]:
        return ("corpus", "knowledge base") if self._knowledge else ("corpus",)

    def describe(self) -> dict[str, Any]:
        known = {"knowledge_base": self._knowledge} if self._knowledge else {}
        return {"retriever": self.name, **known}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            pages = tuple(self._corpus.page_ids(self._bearers(question.text)[:k]))
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=pages, scores=scores)

    def _bearers(self, text: str) -> list[int]:
        """The pages of the longest name that several pages share, else of the longest name."""
        text = plain_signs(text)
        words = [text[start:end].casefold() for start, end in token_places(text)]
        spans = [
            " ".join(words[start : start + length])
            for length in range(min(LONGEST, len(words)), 0, -1)
            for start in range(len(words) - length + 1)
        ]
        named = self._corpus.names.look_up(spans)
        alone: list[int] = []
        for span in spans:
            pages = self._ordered(named.get(span, []), self._names.get(span, []))
            if len(pages) > 1:
                return pages
            alone = alone or pages
        return alone

    def _ordered(self, bearers: Sequence[Bearing], known: Sequence[int]) -> list[int]:
        popularity: dict[int, float] = {page: self._views.get(page, 0.0) for page in known}
        for bearer in bearers:
            links = 0.0 if self._views or bearer.kind != "anchor" else float(bearer.count)
            least = max(links, self._views.get(bearer.page, 0.0))
            popularity[bearer.page] = max(popularity.get(bearer.page, 0.0), least)
        return sorted(popularity, key=lambda page: (-popularity[page], page))
