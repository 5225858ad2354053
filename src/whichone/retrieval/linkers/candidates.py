"""Who may a mention mean, and how likely is each before anything else of the question is read?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.names import name_key
from whichone.records import Record
from whichone.retrieval.namesake.names import PageNames


class Span(Record, frozen=True):
    """A mention at its place in a question; `score` is how sure its finder is."""

    text: str
    start: int
    end: int
    score: float = 1.0


class Candidate(Record, frozen=True):
    """A page that a mention may mean; `prior` is its share among all candidates."""

    page: str
    prior: float
    entity: str | None = None


class Names(Protocol):
    """Names with their bearers."""

    def find(self, text: str) -> list[Span]: ...

    def candidates(self, name: str) -> list[Candidate]: ...

    def describe(self) -> dict[str, Any]: ...


class LinkNames:
    """The names of a corpus: titles, redirects, texts of links, names in first sentences.

    The prior is the share of links with that text that lead to the page, with one link added for
    every page of that name; of pages nobody links to, one whose whole title is the name comes first.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._index = PageNames(corpus=corpus.names)

    def describe(self) -> dict[str, Any]:
        return {"names": "corpus"}

    def find(self, text: str) -> list[Span]:
        """Names written like names; where none is, the longest of those that are not."""
        mentions = self._index.find(text)
        proper = [m for m in mentions if m.proper]
        kept = proper or sorted(mentions, key=lambda m: m.start - m.end)[:1]
        return [Span(text=m.name, start=m.start, end=m.end) for m in kept]

    def candidates(self, name: str) -> list[Candidate]:
        links: dict[int, float] = {}
        for bearing in self._corpus.names.bearers(name):
            if bearing.kind != "before comma":
                count = bearing.count if bearing.kind == "anchor" else 0
                links[bearing.page] = links.get(bearing.page, 1.0) + count
        pages = sorted(links)
        ids = dict(zip(pages, self._corpus.page_ids(pages), strict=True))
        titles = self._corpus.page_table.strings(pages, "title")
        exact = {
            p for p, title in zip(pages, titles, strict=True) if name_key(title) == name_key(name)
        }
        total = sum(links.values())
        ordered = sorted(links, key=lambda p: (-links[p], p not in exact, p))
        return [Candidate(page=ids[p], prior=links[p] / total) for p in ordered]


class KnowledgeNames:
    """All names of a knowledge base: labels, aliases, titles, redirects, texts of links.

    The prior is how often a link with that text leads to the candidate, smoothed by one further link
    that is shared out by views.
    """

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        from whichone.files.folder import Folder
        from whichone.knowledge.knowledge_tables import KIND
        from whichone.knowledge.lookup import NameIndex

        self.folder = Folder.open(path, KIND)
        self._index = NameIndex.open(self.folder)
        self._corpus = corpus
        self._check()

    def _check(self) -> None:
        lookup = self._index.lookup
        some = self._corpus.page_ids(range(min(1000, self._corpus.page_count)))
        if some and not any(map(lookup.page, some)):
            raise BadInput(
                "none of the corpus' first 1,000 pages is in this knowledge base",
                file=self.folder.root,
                hint="name the knowledge base that the corpus was made from",
            )

    def describe(self) -> dict[str, Any]:
        name = self.folder.manifest.name or "knowledge"
        return {"names": f"{name}-{self.folder.content_hash[:12]}"}

    def find(self, text: str) -> list[Span]:
        mentions = self._index.find(text)
        return [Span(text=m.text, start=m.start, end=m.end) for m in mentions]

    def candidates(self, name: str) -> list[Candidate]:
        """Bearers without a page in the corpus keep their share, but cannot be returned."""
        bearers = self._index.lookup.bearers(name)
        views = [1 + (b.about.popularity or 0.0) for b in bearers]
        links, total = 1 + sum(b.links for b in bearers), sum(views)
        candidates: dict[str, Candidate] = {}
        for bearer, seen in zip(bearers, views, strict=True):
            prior = (bearer.links + seen / total) / links
            for page in self._index.lookup.pages_of(bearer.about.entity):
                if page.kind == "article" and self._corpus.page_row(page.page) is not None:
                    candidate = Candidate(page=page.page, prior=prior, entity=bearer.about.entity)
                    candidates.setdefault(page.page, candidate)
        return sorted(candidates.values(), key=lambda c: (-c.prior, c.page))


def open_names(corpus: Corpus, knowledge: str | Path | None) -> Names:
    return KnowledgeNames(knowledge, corpus) if knowledge else LinkNames(corpus)


def around(text: str, spans: Sequence[Span]) -> list[str]:
    """The pieces of a text around its mentions."""
    pieces, at = [], 0
    for span in sorted(spans, key=lambda s: s.start):
        pieces.append(text[at : span.start])
        at = max(at, span.end)
    pieces.append(text[at:])
    return [piece for piece in pieces if piece.strip()]
