"""Does a page state the fact? One of the value's names must appear in its first 350 tokens.

Each candidate page is cut and normalised once, whatever the number of values and names looked for.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from whichone.benchmarks.relations import Account
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.names import name_key
from whichone.papers.amber.collection import AmberRules, AmberSet, AmberTuple, AmberValue, PageRef
from whichone.papers.amber.distinguishing import USERS, Pipeline
from whichone.records import grouped
from whichone.text import normalisers

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Engine


# An entity and a property: whether its values are stated does not depend on the name set.
Key = tuple[str, str]


class Aligned(msgspec.Struct, frozen=True):
    """Which of a fact's values appear in the entity's pages, and in which pages, in order of discovery."""

    found: tuple[bool, ...]
    pages: tuple[PageRef, ...]


def beginning(text: str, tokens: int) -> str:
    """The first tokens of a page, split at white space, normalised and fenced by blanks."""
    return _fenced(text.split(None, tokens)[:tokens])


def _fenced(words: Sequence[str]) -> str:
    return f" {' '.join(normalisers.amber_tokens(' '.join(words)))} "


def needle(name: str, rules: AmberRules) -> str | None:
    """A name as it is looked for; a name that normalises to nothing is found everywhere or nowhere."""
    return _needle(name, rules.empty_names_match)


@functools.lru_cache(100_000)
def _needle(name: str, empty_names_match: bool) -> str | None:  # rules are hashed anew at each call
    if normal := " ".join(normalisers.amber_tokens(name)):
        return f" {normal} "
    return "" if empty_names_match else None


class ValueHit(NamedTuple):
    """A value's name on a page: the n-th name of the v-th value of a property."""

    property: str
    v: int
    n: int


Names: TypeAlias = Mapping[str, Sequence[Sequence[str]]]  # The names of an entity's values, by property


class PageHits(msgspec.Struct, frozen=True):
    """What of an entity's values appears on one of its pages; `position` is the page's place in its source.

    `mentioned` are the frequent values of its properties that appear anywhere on the page: property and place.
    """

    entity: str
    page: PageRef
    position: int
    hits: list[ValueHit]
    mentioned: set[tuple[str, int]]


def hits(names: Names, document: str, rules: AmberRules) -> list[ValueHit]:
    return [
        ValueHit(prop, v, n)
        for prop, values in names.items()
        for v, own in enumerate(values)
        for n, name in enumerate(own)
        if (looked_for := needle(name, rules)) is not None and looked_for in document
    ]


def aligned(facts: Mapping[Key, Sequence[AmberValue]], pages: Iterable[PageHits]) -> dict[Key, Aligned]:
    """Every fact that some page states: pages by value, then name, then place in the source."""
    places = grouped(
        ((page.entity, prop), (v, n, page.position, page.page)) for page in pages for prop, v, n in page.hits
    )
    stated = {}
    for key, seen in places.items():
        seen.sort(key=lambda hit: (*hit[:3], hit[3].page))
        values = {v for v, *_ in seen}
        stated[key] = Aligned(
            tuple(v in values for v in range(len(facts[key]))), tuple(dict.fromkeys(ref for *_, ref in seen))
        )
    return stated


def align(
    facts: Mapping[Key, Sequence[AmberValue]],
    book: ValueBook,
    engine: Engine,
    pages: Table,
    rules: AmberRules,
) -> dict[Key, Aligned]:
    """What of the facts the pages state; what they mention of the frequent values is in the book then."""
    by_entity: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for (entity, prop), values in facts.items():
        by_entity.setdefault(entity, {})[prop] = [value.names for value in values]
    asked = ((entity, msgspec.msgpack.encode(names)) for entity, names in by_entity.items())
    look, seen = _Look(rules, book.frequent), list[PageHits]()
    for page in map(_HITS.decode, look_on_pages(engine, pages, "entity", asked, look)):
        seen.append(page)
        if page.mentioned:
            book.mentioned.setdefault(page.entity, set()).update(page.mentioned)
    return aligned(facts, seen)


_NAMES = msgspec.msgpack.Decoder(dict[str, list[list[str]]])
_HITS = msgspec.msgpack.Decoder(PageHits)


class _Look:
    """Looks for the values of one page's entity, and for the frequent ones of its properties."""

    def __init__(self, rules: AmberRules, frequent: Mapping[str, Sequence[AmberValue]]) -> None:
        self._rules = rules
        self._properties = frozenset(frequent)
        # By first word: a page that has it is searched for the whole name, where there is more.
        self._frequent: dict[str, list[tuple[str, int, str]]] = {}
        named = (
            (p, v, name)
            for p, values in frequent.items()
            for v, value in enumerate(values)
            for name in value.names
        )
        for prop, v, name in named:
            if (looked_for := needle(name, rules)) is not None:
                word, more, _ = looked_for.strip().partition(" ")
                self._frequent.setdefault(word, []).append((prop, v, looked_for if more else ""))

    def __call__(self, page: PageRow) -> bytes | None:
        text = " ".join(part for part in page.paragraphs or () if part is not None)
        words = text.split(None, self._rules.tokens)
        document = _fenced(words[: self._rules.tokens])
        names = _NAMES.decode(page.asked)
        seen = hits(names, document, self._rules) if document != "  " else []
        mentioned: set[tuple[str, int]] = set()
        if asked := self._properties & names.keys():
            whole = document if len(words) <= self._rules.tokens else _fenced(text.split())
            firsts = {"", *whole.split()} if whole != "  " else set()
            places = (place for word in firsts & self._frequent.keys() for place in self._frequent[word])
            mentioned.update((prop, v) for prop, v, more in places if prop in asked and more in whole)
        if page.entity is None or not (seen or mentioned):
            return None
        ref = PageRef(page.page, page.title)
        return msgspec.msgpack.encode(PageHits(page.entity, ref, page.position, seen, mentioned))


_twister = random.Random()  # always seeded before it is asked
_DIGITS = re.compile(r"[A-Za-z]+(\d+)")


def tuple_id(name: str, entity: str, prop: str) -> str:
    """MD5 of the text Python prints for the list [name, entity, property]; quoting rules included."""
    return hashlib.md5(repr([name, entity, prop]).encode()).hexdigest()


def query_id(tuple_id: str, text: str) -> str:
    return f"{tuple_id}={hashlib.md5(text.encode()).hexdigest()}"


def choose_template(entity: str, prop: str, templates: Sequence[str]) -> str:
    """The template that Python's Mersenne Twister draws, seeded with both ids' digits in a row.

    Ids of other shapes, such as a catalogue's, seed it with their text.
    """
    return templates[_drawn(entity, prop, len(templates))]


@functools.lru_cache(maxsize=1 << 17)  # questions and claims ask the same
def _drawn(entity: str, prop: str, count: int) -> int:
    item, two = _DIGITS.fullmatch(entity), _DIGITS.fullmatch(prop)
    _twister.seed(int(item[1] + two[1]) if item and two else f"{entity} {prop}")
    return _twister.choice(range(count))


def amount_name(amount: str) -> str:
    """A quantity as an answer: its digits without the sign, so that -3 turns into 3."""
    return amount[1:] if amount[:1] in ("+", "-") else amount


@functools.cache
def number_words(amount: str) -> tuple[str, ...]:
    """A quantity in English words ("one hundred"), or nothing where there are none."""
    with suppress(Exception):  # the released program swallows whatever the library raises
        words = _inflect().number_to_words(amount_name(amount))
        return (words,) if isinstance(words, str) and words else ()
    return ()


@functools.cache
def _inflect() -> Any:
    """Without the checks that typeguard compiles into all of it: two seconds, for numbers as words."""
    try:
        import typeguard
    except ImportError:  # inflect before version 7
        return importlib.import_module("inflect").engine()
    checked, typeguard.typechecked = typeguard.typechecked, lambda function: function  # type: ignore[assignment]
    try:
        return importlib.import_module("inflect").engine()
    finally:
        typeguard.typechecked = checked


def fill(template: str, name: str, value: str = "") -> str:
    """Slots replaced one after the other: a name that contains `$object` is rewritten, as released.

    Questions and slots have no value, and such a name stays as it is in them.
    """
    text = template.replace("$name", name)
    return text.replace("$object", value) if value else text


class ValueNames(msgspec.Struct):
    """Names, types and users' names of one entity that is a value."""

    names: list[str]
    types: tuple[str, ...]
    extra: set[str]


class ValueBook:
    def __init__(self, entities: dict[str, ValueNames], *, extra_answers: bool, signs: bool = False) -> None:
        self._entities = entities
        self._extra_answers = extra_answers
        self._signs = signs
        # The most frequent values of each property, for false claims.
        self.frequent: dict[str, list[AmberValue]] = {}
        # By bearer, which of these its pages mention: property and place.
        self.mentioned: dict[str, set[tuple[str, int]]] = {}

    def value(self, kind: str, value: str, unit: str | None = None) -> AmberValue | None:
        """A fact's value with its names; None for an entity without any."""
        if kind == "entity":
            if (known := self._entities.get(value)) is None:
                return None
            names, extra = tuple(known.names), tuple(sorted(known.extra))
            return AmberValue(kind=kind, value=value, names=names, types=known.types, extra=extra)
        if kind == "quantity":
            extra = number_words(value) if self._extra_answers else ()
            name = value.removeprefix("+") if self._signs else amount_name(value)
            return AmberValue(kind=kind, value=value, unit=unit, names=(name,), extra=extra)
        shown = plain_time(value) if kind == "time" else value
        return AmberValue(kind=kind, value=value, names=(shown,))


def plain_time(value: str) -> str:
    """A point in time as a page may state it: Wikidata's form without sign, clock and empty parts."""
    return value.lstrip("+").partition("T")[0].removesuffix("-00").removesuffix("-00")


def value_book(pipeline: Pipeline, *, claims: bool = True) -> ValueBook:
    """Names of every entity that is a value of a distinguishing fact or, for `claims`, of a false one."""
    rules, naming = pipeline.rules, pipeline.naming()
    having = pipeline.relations.keys() & {"distinguishing_facts", "qualifiers", "value_counts"}
    rows = [pipeline.relations[name] for name in sorted(having)]
    of_entities = [r.filter(r.kind == "entity").select("value") for r in rows]
    wanted = pipeline.keep("wanted_values", functools.reduce(lambda a, b: a.union(b), of_entities).distinct())
    people_naming = naming
    if pipeline.ranked:
        people = pipeline.population()
        people_naming = naming.semi_join(people, naming.bearer == people.entity)
    borne = people_naming if rules.value_needs_views else naming
    about = pipeline.tables.entities
    typed = about.semi_join(wanted, about.entity == wanted.value).select("entity", "types")
    known = {entity: tuple(types or ()) for entity, types in pipeline.tuples(typed)}
    entities = {
        entity: ValueNames(own, known.get(entity, ()), set())
        for entity, own in pipeline.names_of(wanted, "value", borne).items()
    }
    if rules.extra_answers:  # names of those who practise or use a value: a guitarist for the guitar
        stated = pipeline.tables.facts
        uses = stated.filter(stated["property"].isin(USERS), stated.kind == "entity")
        uses = uses.semi_join(wanted, uses.entity == wanted.value).select(used="entity", user="value")
        named = uses.inner_join(people_naming, uses.user == people_naming.bearer).select("used", "name")
        for used, name in pipeline.tuples(named):
            if used in entities:
                entities[used].extra.add(name)
    book = ValueBook(entities, extra_answers=rules.extra_answers, signs=rules.name == "paper")
    if claims and (counted := pipeline.relations.get("value_counts")) is not None:
        counted = counted.select("property", "frequency_rank", "kind", "value")
        ordered = pipeline.tuples(counted.order_by("property", "frequency_rank"))
        named = ((prop, book.value(kind, value)) for prop, _, kind, value in ordered)
        book.frequent = grouped((prop, value) for prop, value in named if value is not None)
    return book


_key = functools.lru_cache(maxsize=1 << 16)(name_key)


class MostFrequentInTuples:
    """The released program: most frequent among the first names of all surviving tuples' values.

    Ties go to the value that came first; only first names are compared, so that an alias of a true
    value may be claimed as false.
    """

    def __init__(self, sets: Iterable[AmberSet]) -> None:
        self._counts: dict[str, Counter[str]] = {}
        for _, fact in _tuples(sets):
            self._counts.setdefault(fact.property, Counter()).update(v.names[0] for v in fact.values)

    def other_than(self, entity: str, fact: AmberTuple) -> str | None:
        true = {value.names[0] for value in fact.values}
        ordered = self._counts[fact.property].most_common()
        return next((name for name, _ in ordered if name not in true), None)


WIDER = ("P279", "P361")  # subclass of, part of


class MostFrequentInKnowledgeBase:
    """The paper: the most popular value of the property in all of the knowledge base.

    Passed over is a value that shares a name with a true one, that the bearer's page mentions, that is true of the
    bearer by another property or because a true value is a kind or part of it, or that so many false claims have
    already that it gives the verdict away.
    """

    def __init__(
        self, pipeline: Pipeline, book: ValueBook, sets: Sequence[AmberSet], account: Account
    ) -> None:
        self._book = book
        # Every bearer with the entities that are its values, whatever the property, or what these are a kind or part of:
        # who fought at Ypres fought in World War I.
        stated = pipeline.tables.facts.filter(pipeline.tables.facts.kind == "entity")
        held = stated.semi_join(pipeline.relations["set_bearers"], "entity").select("entity", "value")
        wider = stated.filter(stated["property"].isin(WIDER)).select(value="entity", whole="value")
        for _ in range(2):
            held = held.union(held.inner_join(wider, "value").select("entity", value="whole"))
        self._held = set(pipeline.tuples(held.distinct()))
        facts = Counter(fact.property for _, fact in _tuples(sets))
        # How many false claims of a property may have one value: a tenth of its facts, and at least five.
        self._most = {p: max(5, math.ceil(0.1 * n)) for p, n in facts.items()}
        self._uses: Counter[tuple[str, str]] = Counter()
        unit = "values for false claims"
        self._unmentioned = account.step("the bearer's page does not mention it", unit)
        self._untrue = account.step("not true of the bearer by another property", unit)
        self._unworn = account.step("not the value of many other false claims", unit)

    def other_than(self, entity: str, fact: AmberTuple) -> str | None:
        prop = fact.property
        ids = {value.value for value in fact.values}
        true = {_key(name) for value in fact.values for name in value.names}
        mentioned = self._book.mentioned.get(entity, ())
        usable: list[AmberValue] = []
        for place, value in enumerate(self._book.frequent.get(prop, ())):
            shown = f"{entity} {prop} {value.names[0]}"
            if value.value in ids or not true.isdisjoint(map(_key, value.names)):
                continue
            if (prop, place) in mentioned:
                self._unmentioned.remove(shown)
                continue
            self._unmentioned.kept += 1
            if value.kind == "entity" and (entity, value.value) in self._held:
                self._untrue.remove(shown)
                continue
            self._untrue.kept += 1
            usable.append(value)
            if self._uses[prop, value.value] < self._most[prop]:
                break
        if not usable:
            return None
        chosen = min(usable, key=lambda value: self._uses[prop, value.value])
        for value in usable:
            if value is not chosen:
                self._unworn.remove(f"{entity} {prop} {value.names[0]}")
        self._unworn.kept += 1
        self._uses[prop, chosen.value] += 1
        return chosen.names[0]


def _tuples(sets: Iterable[AmberSet]) -> Iterator[tuple[str, AmberTuple]]:
    return ((b.entity, fact) for s in sets for b in s.bearers for fact in b.tuples)
