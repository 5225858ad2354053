"""Which passage of a bearer's page states its value of a property."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from whichone.corpus.cut import Cut, cut_page
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.papers.ambigdocs.answers import answer_forms
from whichone.papers.ambigdocs.built import Statement
from whichone.papers.ambigdocs.entailment import ByRule, Claimed, Entailment, entailment_by
from whichone.papers.ambigdocs.shared_facts import BearerPage
from whichone.records import Passage, passage_id

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables


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


def page_statements(
    bearer: BearerPage,
    facts: Iterable[Mapping[str, Any]],
    labels: Mapping[str, Sequence[str]],
    page: PageText,
    *,
    properties: Mapping[str, str] | None = None,
    language: str = "en",
) -> Iterator[Stated]:
    """What a page states of its bearer's facts, which come ordered by name and property."""
    for (key, prop), values in itertools.groupby(facts, lambda f: (f["key"], f["property"])):
        label = (properties or {}).get(prop)
        stated = statement(bearer, prop, values, labels, page, label=label, language=language)
        if stated is not None:
            yield Stated(key, prop, stated)


class _Asked(msgspec.Struct, frozen=True):
    """What is looked for on one page, with the names of the values and of the properties."""

    bearer: BearerPage
    facts: list[dict[str, Any]]
    labels: dict[str, tuple[str, ...]]
    properties: dict[str, str]


_ASKED = msgspec.msgpack.Decoder(_Asked)
_STATED = msgspec.msgpack.Decoder(list[Stated])


def stated(
    tables: Tables,
    facts: Iterable[Mapping[str, Any]],
    bearers: Mapping[str, BearerPage],
    labels: Mapping[str, Sequence[str]],
    looking: Look,
    *,
    properties: Mapping[str, str],
) -> Iterator[Stated]:
    """All statements on the bearers' pages; facts come ordered by page, name and property."""
    asked = _asked(facts, bearers, labels, properties)
    for seen in look_on_pages(tables.engine, tables.pages, "page", asked, looking):
        yield from _STATED.decode(seen)


def _asked(
    facts: Iterable[Mapping[str, Any]],
    bearers: Mapping[str, BearerPage],
    labels: Mapping[str, Sequence[str]],
    properties: Mapping[str, str],
) -> Iterator[tuple[str, bytes]]:
    for page, group in itertools.groupby(facts, lambda fact: fact["page"]):
        own = [dict(fact) for fact in group]
        named = {fact["value"] for fact in own} | {fact["unit"] for fact in own}
        asked = _Asked(
            bearers[page],
            own,
            {value: tuple(labels[value]) for value in sorted(named & labels.keys())},
            {p: properties[p] for fact in own if (p := fact["property"]) in properties},
        )
        yield page, msgspec.msgpack.encode(asked)


class Look:
    """Looks for the facts of one page; a model that judges is opened where the pages are."""

    def __init__(self, cut: Cut, entailment: str, language: str) -> None:
        self._cut, self._method, self._language = cut, entailment, language

    def __call__(self, page: PageRow) -> bytes | None:
        asked = _ASKED.decode(page.asked)
        passages = [
            Passage(id=passage_id(page.page, n), page=page.page, title=page.title, text=text)
            for n, text in enumerate(cut_page(page.paragraphs or (), self._cut))
        ]
        if not passages:
            return None
        found = page_statements(
            asked.bearer,
            asked.facts,
            asked.labels,
            PageText(passages, _entailment(self._method, self._language)),
            properties=asked.properties,
            language=self._language,
        )
        return msgspec.msgpack.encode(list(found))


@functools.lru_cache(1)
def _entailment(method: str, language: str) -> Entailment:
    return entailment_by(method, language)
