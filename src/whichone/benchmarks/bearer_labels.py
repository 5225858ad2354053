"""What the bearers of one name are called, so that a reader can tell them apart.

A title that no other bearer has is enough. Otherwise it is followed by the attribute that tells the bearers apart, else
by their type, else by the first words of their page, and where even those are equal by their id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.files.arrow_records import Seen
from whichone.records import Bearer, NameSet

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_WORDS = 12
_LONGEST = 80


class BearerLabels:
    """The labels of all bearers of a benchmark; each is made when it is first asked for."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._known: dict[str, list[str]] = {}

    def of_set(self, name_set: NameSet) -> list[str]:
        """A label for each bearer of a name set, no two of them equal."""
        if name_set.id not in self._known:
            self._known[name_set.id] = distinct_labels(
                name_set.bearers, self._benchmark.corpus, self._attributes
            )
        return self._known[name_set.id]

    def of_page(self, page: str, name_set: str | None = None) -> str:
        """The label of the bearer whose page it is, in one name set or the first; else the page's title."""
        place = self._place(page, name_set)
        if place is None:
            return self.title(page)
        return with_title(self.of_set(place[0])[place[1]], self.title(page))

    def of_pages(self, pages: Sequence[str], name_set: str | None = None) -> list[str]:
        """Labels for a list of pages; pages of nobody that share a title have their first words, or id, too."""
        labels = [self.of_page(page, name_set) for page in pages]
        often, corpus = Counter(labels), self._benchmark.corpus
        for n, page in enumerate(pages):
            if often[labels[n]] > 1:
                said = _first_words(Bearer(entity=page, pages=(page,)), corpus)
                labels[n] = f"{labels[n]}: {said}" if said else f"{labels[n]} ({page})"
        return labels

    def of_entity(self, entity: str, name_set: str | None = None) -> str | None:
        """The label of a bearer; None for an entity that bears no name here."""
        place = self._place(entity, name_set)
        return None if place is None else self.of_set(place[0])[place[1]]

    def title(self, page: str) -> str:
        corpus = self._benchmark.corpus
        return corpus.title(page) if corpus.page_row(page) is not None else page

    def _place(self, key: str, name_set: str | None) -> tuple[NameSet, int] | None:
        """The name set and the number of the bearer that is this entity or has this page."""
        if name_set is None:
            first = self._first_sets.numbers([key])[0]
            known = None if first is None else self._benchmark.sets[first]
        else:
            known = self._benchmark.set_by_id(name_set)
        if known is None:
            return None
        bearers = enumerate(known.bearers)
        return next(((known, n) for n, b in bearers if key in (b.entity, *b.pages)), None)

    @cached_property
    def _first_sets(self) -> Seen:
        """The place of the first name set that has an entity or a page among its bearers."""
        seen = Seen()
        for number, name_set in enumerate(self._benchmark.sets):
            keys = {key for bearer in name_set.bearers for key in (bearer.entity, *bearer.pages)}
            seen.add(sorted(keys), [number] * len(keys))
        return seen

    @cached_property
    def _attributes(self) -> dict[str, list[str]]:
        """What questions say of an entity to tell it apart, "department Payroll", each once."""
        results: dict[str, dict[str, None]] = {}
        for query in self._benchmark.queries:
            if query.entity and (said := qualifier_of(query.attributes)):
                results.setdefault(query.entity, {})[said] = None
        return {entity: list(values) for entity, values in results.items()}


def qualifier_of(attributes: Mapping[str, Any]) -> str:
    """What a question says of an entity to tell it from its namesakes, "department Payroll"; may be empty."""
    value = attributes.get("qualifier")
    return f"{attributes.get('qualifier_label') or ''} {value}".strip() if value else ""


def distinct_labels(
    bearers: Sequence[Bearer], corpus: Corpus, attributes: Mapping[str, Sequence[str]]
) -> list[str]:
    """A label for each bearer of one name; `attributes` are what questions say of each entity."""
    ways: tuple[tuple[Callable[[Bearer], str], str], ...] = (
        (lambda bearer: next(iter(attributes.get(bearer.entity, ())), ""), "{}, {}"),
        (lambda bearer: ", ".join(bearer.types), "{} ({})"),
        (lambda bearer: _first_words(bearer, corpus), "{}: {}"),
        (lambda bearer: bearer.entity, "{} ({})"),
    )
    labels = [_plain(bearer, corpus) for bearer in bearers]
    for describe, joined in ways:
        often = Counter(labels)
        if max(often.values(), default=1) == 1:
            break
        described = [
            describe(bearer) if often[label] > 1 else ""
            for bearer, label in zip(bearers, labels, strict=True)
        ]
        alike = Counter(zip(labels, described, strict=True))
        labels = [
            joined.format(label, own) if own and alike[label, own] == 1 else label
            for label, own in zip(labels, described, strict=True)
        ]
    return labels


def _plain(bearer: Bearer, corpus: Corpus) -> str:
    titles = {corpus.title(p) for p in bearer.pages if corpus.page_row(p) is not None}
    if len(titles) == 1:
        return titles.pop()
    return bearer.label or min(titles, default=bearer.entity)


def _first_words(bearer: Bearer, corpus: Corpus) -> str:
    for page in bearer.pages:
        for passage in corpus.get(corpus.passages_of(page)[:1]).values():
            return first_words(passage.text, passage.title)
    return ""


def with_title(label: str, title: str) -> str:
    """A document's own title before whom it is about, where it says something else."""
    return label if title in label else f"{title} ({label})"


def first_words(text: str, title: str = "") -> str:
    """The beginning of a text's first sentence, without the title that it may begin with."""
    sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    if title and sentence.lower().startswith(title.lower()):
        sentence = sentence[len(title) :].lstrip(" ,:–-")
    words = sentence.split()
    cut = " ".join(words[:_WORDS])[:_LONGEST].strip()
    return cut if len(words) <= _WORDS and len(cut) == len(" ".join(words)) else f"{cut} …"
