"""From what a system calls its documents to pages and passages of the corpus, by a rule that is told.

passage           the hit's id is a passage of the corpus, such as enwiki:307#0
page              the hit's id is a page, such as enwiki:307
source            the corpus' own id: its passages' where it has such, else its pages' (307)
title             the hit's id is a page's title
metadata:FIELD    a field of the hit's metadata is a passage or a page
metadata:FIELD:R  a field of the hit's metadata, read by one of the first four rules
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
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

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def find(self, kind: str, text: str) -> str | None:
        if kind == "any":
            return self.find("passage", text) or self.find("page", text)
        if kind == "title":
            return self._titles.get(text) or self._titles.get(text.replace("_", " "))
        return getattr(self, f"_{kind}s").get(text)  # type: ignore[no-any-return]

    @functools.cached_property
    def _passages(self) -> dict[str, str]:
        return {i: i for i in self._benchmark.passages["id"].to_pylist()}

    @functools.cached_property
    def _pages(self) -> dict[str, str]:
        return {page: page for page in self._benchmark.pages}

    @functools.cached_property
    def _sources(self) -> dict[str, str]:
        table = self._benchmark.passages
        theirs, ours = table["source_id"].to_pylist(), table["id"].to_pylist()
        own = {a: b for a, b in zip(theirs, ours, strict=True) if a is not None}
        return own or {page.partition(":")[2]: page for page in sorted(self._benchmark.pages)}

    @functools.cached_property
    def _titles(self) -> dict[str, str]:
        titles = sorted(self._benchmark.page_titles.items(), reverse=True)
        return {title: page for page, title in titles}


class IdRule:
    """The rule as it was told, ready for one corpus."""

    def __init__(self, told: str, benchmark: Benchmark) -> None:
        self.told = told
        self.field, self.kind = parse_rule(told)
        self._ids = CorpusIds(benchmark)
        self._benchmark = benchmark

    def apply(self, question: str, hits: Sequence[Hit]) -> list[tuple[str, float | None]]:
        """Our ids in the hits' order; an id that comes again stands where it came first."""
        found: dict[str, float | None] = {}
        for hit in hits:
            ours = self._one(hit)
            if ours is None:
                raise self._wrong(question, hits, hit)
            found.setdefault(ours, hit.score)
        return list(found.items())

    def _one(self, hit: Hit) -> str | None:
        text = value(hit, self.field)
        return None if text is None else self._ids.find(self.kind, text)

    def _wrong(self, question: str, hits: Sequence[Hit], hit: Hit) -> BadInput:
        """What came back, and which rules would have fitted all of it."""
        fitting = [rule for rule in self._other_rules(hits) if rule != self.told]
        example = self._benchmark.passages["id"][0].as_py()
        hint = (
            f"these rules fit what came back: {', '.join(f'ids={rule}' for rule in fitting[:4])}"
            if fitting
            else f"passages of this corpus are called {example}; was this very corpus indexed?"
        )
        if self.field is not None and self.field not in hit.metadata:
            fields = sample(sorted(map(str, hit.metadata))) or "no fields"
            message = f"ids={self.told}: a hit has no {self.field!r} in its metadata ({fields})"
        else:
            text = value(hit, self.field)
            message = f"ids={self.told}: the corpus has no such {self._noun}: {text!r}"
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
    told = hit.metadata.get(field)
    return None if told is None else str(told)


def parse_rule(told: str) -> tuple[str | None, str]:
    """The metadata field, if any, and the kind of id."""
    head, _, rest = told.partition(":")
    if head == METADATA and rest:
        field, mark, kind = rest.rpartition(":")
        if mark and kind in KINDS:
            return field, kind
        return rest, "any"
    if told not in KINDS:
        raise UsageError(
            f"ids={told} is no rule",
            hint=did_you_mean(told, KINDS) if head != METADATA else "write ids=metadata:FIELD",
        )
    return None, told
