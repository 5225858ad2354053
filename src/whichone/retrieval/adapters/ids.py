"""From what a system calls its documents to pages and passages of the corpus, by a rule that is given.

passage           the hit's id is a passage of the corpus, such as enwiki:307#0
page              the hit's id is a page, such as enwiki:307
source            the corpus' own id: its passages' where it has such, else its pages' (307)
title             the hit's id is a page's title
metadata:FIELD    a field of the hit's metadata is a passage or a page
metadata:FIELD:R  a field of the hit's metadata, read by one of the first four rules
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, did_you_mean, sample

KINDS = ("passage", "page", "source", "title")
METADATA = "metadata"


class Hit(msgspec.Struct, frozen=True):
    """One document as a system returned it."""

    id: str
    score: float | None = None
    metadata: Mapping[str, Any] = {}


class CorpusIds:
    """What each rule makes of an id; None where the corpus has nothing of that name."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._sources = sorted({page.partition(":")[0] for page in corpus.page_ids(_some(corpus))})

    def find(self, kind: str, text: str) -> str | None:
        if kind == "any":
            return self.find("passage", text) or self.find("page", text)
        if kind == "title":
            return self._titled(text) or self._titled(text.replace("_", " "))
        if kind == "source":
            return self._own(text)
        known = self._corpus.row if kind == "passage" else self._corpus.page_row
        return None if known(text) is None else text

    def _own(self, text: str) -> str | None:
        """A passage by the corpus' own id; a page's id where the corpus has no own ids."""
        row = self._corpus.by_source_id([text])[0]
        if row is not None:
            return self._corpus.ids([row])[0]
        if self._corpus.has_source_ids:
            return None
        pages = (f"{source}:{text}" for source in self._sources)
        return next((page for page in pages if self._corpus.page_row(page) is not None), None)

    def _titled(self, title: str) -> str | None:
        bearers = self._corpus.names.bearers(title)
        for page in self._corpus.page_ids(sorted({b.page for b in bearers if b.kind == "title"})):
            if self._corpus.title(page) == title:
                return page
        return None


def _some(corpus: Corpus) -> list[int]:
    """Pages spread over the corpus; all pages of one source are named alike."""
    return sorted({n * corpus.page_count // 100 for n in range(100)}) if corpus.page_count else []


class IdRule:
    """The rule as it was given, ready for one corpus."""

    def __init__(self, given: str, corpus: Corpus) -> None:
        self.text = given
        self.field, self.kind = parse_rule(given)
        self._ids = CorpusIds(corpus)
        self._corpus = corpus

    def apply(self, question: str, hits: Sequence[Hit]) -> list[tuple[str, float | None]]:
        """Our ids in the hits' order; an id that comes again counts where it came first."""
        best: dict[str, float | None] = {}
        for hit in hits:
            ours = self._one(hit)
            if ours is None:
                raise self._wrong(question, hits, hit)
            best.setdefault(ours, hit.score)
        return list(best.items())

    def _one(self, hit: Hit) -> str | None:
        text = value(hit, self.field)
        return None if text is None else self._ids.find(self.kind, text)

    def _wrong(self, question: str, hits: Sequence[Hit], hit: Hit) -> BadInput:
        """What came back, and which rules would have fitted all of it."""
        fitting = [rule for rule in self._other_rules(hits) if rule != self.text]
        example = self._corpus.ids([0])[0] if len(self._corpus) else "nothing"
        hint = (
            f"these rules fit what came back: {', '.join(f'ids={rule}' for rule in fitting[:4])}"
            if fitting
            else f"passages of this corpus are called {example}; was this very corpus indexed?"
        )
        if self.field is not None and self.field not in hit.metadata:
            fields = sample(sorted(map(str, hit.metadata))) or "no fields"
            message = f"ids={self.text}: a hit has no {self.field!r} in its metadata ({fields})"
        else:
            text = value(hit, self.field)
            message = f"ids={self.text}: the corpus has no such {self._noun}: {text!r}"
        return BadInput(message, ids=[question], hint=hint)

    @property
    def _noun(self) -> str:
        return (
            "page or passage"
            if self.kind == "any"
            else f"{self.kind} id".replace("title id", "title")
        )

    def _other_rules(self, hits: Sequence[Hit]) -> list[str]:
        fields: list[str | None] = [None, *sorted({str(f) for hit in hits for f in hit.metadata})]
        rules = []
        for field in fields:
            for kind in KINDS:
                texts = [value(hit, field) for hit in hits]
                if all(t is not None and self._ids.find(kind, t) is not None for t in texts):
                    rules.append(kind if field is None else f"{METADATA}:{field}:{kind}")
        return rules


def value(hit: Hit, field: str | None) -> str | None:
    """What the rule reads of a hit, as text."""
    if field is None:
        return hit.id
    field_value = hit.metadata.get(field)
    return None if field_value is None else str(field_value)


def parse_rule(given: str) -> tuple[str | None, str]:
    """The metadata field, if any, and the kind of id."""
    head, _, rest = given.partition(":")
    if head == METADATA and rest:
        field, mark, kind = rest.rpartition(":")
        if mark and kind in KINDS:
            return field, kind
        return rest, "any"
    if given not in KINDS:
        raise UsageError(
            f"ids={given} is no rule",
            hint=did_you_mean(given, KINDS) if head != METADATA else "write ids=metadata:FIELD",
        )
    return None, given
