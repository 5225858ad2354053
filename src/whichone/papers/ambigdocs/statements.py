"""Which passage of a bearer's page states its value of a property: facts and pages walk together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from whichone.papers.ambigdocs.answers import answer_forms
from whichone.papers.ambigdocs.built import Statement
from whichone.papers.ambigdocs.entailment import ByRule, Claimed, Entailment
from whichone.papers.ambigdocs.shared_facts import BearerPage
from whichone.records import Passage


class Stated(NamedTuple):
    """One bearer's statement of one property, under one of the names it bears."""

    key: str
    property: str
    statement: Statement


class PageText:
    """The passages of one page, and what decides whether one of them states a fact."""

    def __init__(self, passages: Iterable[Passage], entailment: Entailment | None = None) -> None:
        self._passages = list(passages)
        self._entailment = entailment or ByRule()

    def stating(self, fact: Claimed) -> str | None:
        """The first passage that states a fact."""
        return next((p.id for p in self._passages if self._entailment.states(p, fact)), None)


def statement(
    bearer: BearerPage,
    prop: str,
    facts: Iterable[Mapping[str, Any]],
    labels: Mapping[str, Sequence[str]],
    page: PageText,
    *,
    label: str | None = None,
    language: str = "en",
) -> Statement | None:
    """A bearer's answer: its first value (preferred ones before others) that its page states.

    It is written as the page has it; the value's other names and the other values are right too,
    and become aliases.
    """
    ranked = sorted(facts, key=lambda fact: fact["rank"] != "preferred")
    values = [forms for fact in ranked if (forms := answer_forms(fact, labels, language))]
    for form in itertools.chain.from_iterable(values):
        passage = page.stating(Claimed(bearer.title, prop, label, form))
        if passage is not None:
            others = dict.fromkeys(f for value in values for f in value if f != form)
            return Statement(bearer, form, tuple(others), passage)
    return None


def stated(
    facts: Iterable[Mapping[str, Any]],
    passages: Iterable[Passage],
    bearers: Mapping[str, BearerPage],
    labels: Mapping[str, Sequence[str]],
    *,
    properties: Mapping[str, str] | None = None,
    entailment: Entailment | None = None,
    language: str = "en",
) -> Iterator[Stated]:
    """All statements; facts come ordered by page, name and property, passages by page.

    Only one page's text is held at a time.
    """
    pages = itertools.groupby(passages, lambda passage: passage.page)
    current, texts = next(pages, (None, iter(())))
    for page, own in itertools.groupby(facts, lambda fact: fact["page"]):
        while current is not None and current < page:
            current, texts = next(pages, (None, iter(())))
        if current != page:
            continue
        page_tokens = PageText(texts, entailment)
        for (key, prop), values in itertools.groupby(own, lambda f: (f["key"], f["property"])):
            label = (properties or {}).get(prop)
            stated_fact = statement(
                bearers[page], prop, values, labels, page_tokens, label=label, language=language
            )
            if stated_fact is not None:
                yield Stated(key, prop, stated_fact)
