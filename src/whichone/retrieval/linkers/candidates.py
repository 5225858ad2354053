"""Who may a mention mean, and how likely is each before anything else of the question is read?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, WhichoneError
from whichone.names import name_key
from whichone.records import Record


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


class BenchmarkNames:
    """The names of a benchmark's sets, and its pages' titles without their parentheses.

    The prior is the share of views where the sets know them, with one view added for everybody; of
    pages nobody counted, one whose whole title is the name comes first.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        from whichone.retrieval.namesake.names import PageNames, title_names

        self._pages = sorted(benchmark.pages)
        numbers = {page: n for n, page in enumerate(self._pages)}
        names = list(title_names(benchmark.page_titles, numbers))
        self._views: dict[int, float] = {}
        self._entities: dict[int, str] = {}
        for name_set in benchmark.sets:
            for bearer in name_set.bearers:
                for page in bearer.pages:
                    if (number := numbers.get(page)) is not None:
                        names += [(name_set.name, number), (bearer.label or name_set.name, number)]
                        self._views[number] = float(bearer.popularity or 0)
                        self._entities[number] = bearer.entity
        self._titles = {numbers[p]: name_key(t) for p, t in benchmark.page_titles.items()}
        self._index = PageNames(names)

    def describe(self) -> dict[str, Any]:
        return {"names": "benchmark"}

    def find(self, text: str) -> list[Span]:
        """Names written like names; where none is, the longest of those that are not."""
        found = self._index.find(text)
        proper = [m for m in found if m.proper]
        kept = proper or sorted(found, key=lambda m: m.start - m.end)[:1]
        return [Span(text=m.name, start=m.start, end=m.end) for m in kept]

    def candidates(self, name: str) -> list[Candidate]:
        pages = self._index.bearers(name)
        weights = [1 + self._views.get(p, 0.0) for p in pages]
        key, total = name_key(name), sum(weights)
        ordered = sorted(
            zip(pages, weights, strict=True), key=lambda p: (-p[1], self._titles[p[0]] != key, p[0])
        )
        return [
            Candidate(page=self._pages[p], prior=w / total, entity=self._entities.get(p))
            for p, w in ordered
        ]


class KnowledgeNames:
    """All names of a knowledge base: labels, aliases, titles, redirects, texts of links.

    The prior is how often a link with that text leads to the candidate, smoothed by one further link
    that is shared out by views.
    """

    def __init__(self, path: str | Path, benchmark: Benchmark) -> None:
        from whichone.files.folder import Folder
        from whichone.knowledge.name_index import NameIndex
        from whichone.knowledge.tables import KIND

        self.folder = Folder.open(path, KIND)
        self._index = NameIndex.open(self.folder)
        self._corpus = benchmark.pages
        self._check()

    def _check(self) -> None:
        lookup = self._index.lookup
        if self._corpus and not any(map(lookup.page, sorted(self._corpus)[:1000])):
            raise BadInput(
                "none of the corpus' first 1,000 pages is in this knowledge base",
                file=self.folder.root,
                hint="name the knowledge base that the benchmark was made from",
            )

    def describe(self) -> dict[str, Any]:
        name = self.folder.manifest.name or "knowledge"
        return {"names": f"{name}-{self.folder.content_hash[:12]}"}

    def find(self, text: str) -> list[Span]:
        found = self._index.find(text)
        return [Span(text=m.text, start=m.start, end=m.end) for m in found]

    def candidates(self, name: str) -> list[Candidate]:
        """Bearers without a page in the corpus keep their share, but cannot be returned."""
        bearers = self._index.lookup.bearers(name)
        views = [1 + (b.about.popularity or 0.0) for b in bearers]
        links, total = 1 + sum(b.links for b in bearers), sum(views)
        found: dict[str, Candidate] = {}
        for bearer, seen in zip(bearers, views, strict=True):
            prior = (bearer.links + seen / total) / links
            for page in self._index.lookup.pages_of(bearer.about.entity):
                if page.page in self._corpus and page.kind == "article":
                    told = Candidate(page=page.page, prior=prior, entity=bearer.about.entity)
                    found.setdefault(page.page, told)
        return sorted(found.values(), key=lambda c: (-c.prior, c.page))


def open_names(benchmark: Benchmark, knowledge: str | Path | None) -> Names:
    return KnowledgeNames(knowledge, benchmark) if knowledge else BenchmarkNames(benchmark)


def knowledge_beside(benchmark: Benchmark) -> str | None:
    """The knowledge base that a benchmark was made from, where it lies beside it as `kb`."""
    from whichone.files.folder import Folder
    from whichone.knowledge.tables import KIND

    place = benchmark.folder.root.parent / "kb"
    try:
        found = Folder.open(place, KIND).content_hash
    except WhichoneError:
        return None
    made_from = benchmark.folder.manifest.parents.get("knowledge base")
    return str(place) if found == made_from else None


def around(text: str, spans: Sequence[Span]) -> list[str]:
    """The pieces of a text around its mentions."""
    pieces, at = [], 0
    for span in sorted(spans, key=lambda s: s.start):
        pieces.append(text[at : span.start])
        at = max(at, span.end)
    pieces.append(text[at:])
    return [piece for piece in pieces if piece.strip()]
