"""What the bearers of one name are called, so that a reader can tell them apart.

A title that no other bearer has is enough. Otherwise it is followed by the attribute that tells the bearers apart, else
by their type, else by the first words of their page, and where even those are equal by their id.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import own_id
from whichone.corpus.corpus import Corpus
from whichone.files.arrow_records import MappedRecords, Seen, blocks
from whichone.records import Bearer, NameSet, Query, Record

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_WORDS = 12
_LONGEST = 80


class BearerLabels:
    """The labels of all bearers of a benchmark; each is made when it is first asked for."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._known: dict[str, list[str]] = {}

    def of_set(self, name_set: NameSet) -> list[str]:
        if name_set.id not in self._known:
            self._known[name_set.id] = distinct_labels(
                name_set.bearers, self._benchmark.corpus, self._attributes, self._words
            )
        return self._known[name_set.id]

    def of_page(self, page: str, name_set: str | None = None) -> str:
        """The label of the bearer whose page it is, in one name set or the first; else the page's title."""
        if (place := self.place(page, name_set)) is None:
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
        place = self.place(entity, name_set)
        return None if place is None else self.of_set(place[0])[place[1]]

    def title(self, page: str) -> str:
        corpus = self._benchmark.corpus
        return corpus.title(page) if corpus.page_row(page) is not None else page

    def own_type(self, name_set: NameSet, number: int) -> str:
        """The types of a bearer in words, where no other bearer of the name has the same."""
        types = [in_words(bearer.types, self._words) for bearer in name_set.bearers]
        return types[number] if types.count(types[number]) == 1 else ""

    def attribute(self, entity: str) -> str:
        """What questions say of an entity to tell it apart, the first of several; may be empty."""
        return next(iter(self._attributes.get(entity, ())), "")

    def place(self, key: str, name_set: str | None) -> tuple[NameSet, int] | None:
        """The name set and the number of the bearer that is this entity or has this page."""
        if name_set is None:
            first = self._first_sets.numbers_of([key])[0]
            known = None if first is None else self._benchmark.sets[first]
        else:
            known = self._benchmark.set_by_id(name_set)
        if known is None:
            return None
        return next(((known, n) for n, b in enumerate(known.bearers) if key in (b.entity, *b.pages)), None)

    @cached_property
    def _words(self) -> Mapping[str, str]:
        return words_of_ids(self._benchmark.folder.manifest.parameters)

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
        results: dict[str, dict[str, None]] = {}
        for query in self._benchmark.queries:
            if query.entity and (said := qualifier_of(query.attributes)):
                results.setdefault(query.entity, {})[said] = None
        return {entity: list(values) for entity, values in results.items()}


def words_of_ids(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Words for the ids of types and relations: those of papers, and of the collections a benchmark was built with."""
    words = (labels() for labels in registry.every("labels").values())
    of_papers = {key: word for known in words for key, word in known.items() if word}
    return of_papers | _words_of_collections(parameters)


def _words_of_collections(parameters: Mapping[str, Any]) -> dict[str, str]:
    results: dict[str, str] = {}
    for key, value in parameters.items():
        if isinstance(value, Mapping) and key == "collection":
            types = value.get("types") or {}
            results |= {t["id"]: t["label"] for t in types.values() if t.get("id") and t.get("label")}
        elif isinstance(value, Mapping):
            results |= _words_of_collections(value)
    return results


_ID = re.compile(r"[A-Za-z]*\d+")


def in_words(types: Sequence[str], words: Mapping[str, str]) -> str:
    """Types in words; an id without one says nothing."""
    return ", ".join(words.get(kind, kind) for kind in types if kind in words or not _ID.fullmatch(kind))


def qualifier_of(attributes: Mapping[str, Any]) -> str:
    """What a question says of an entity to tell it from its namesakes, "department Payroll"; may be empty."""
    value = attributes.get("qualifier")
    return f"{attributes.get('qualifier_label') or ''} {value}".strip() if value else ""


def distinct_labels(
    bearers: Sequence[Bearer],
    corpus: Corpus,
    attributes: Mapping[str, Sequence[str]],
    words: Mapping[str, str],
) -> list[str]:
    """A label for each bearer of one name; `attributes` are what questions say of each entity, `words` those of ids."""
    ways: tuple[tuple[Callable[[Bearer], str], str], ...] = (
        (lambda bearer: next(iter(attributes.get(bearer.entity, ())), ""), "{}, {}"),
        (lambda bearer: in_words(bearer.types, words), "{} ({})"),
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
    return titles.pop() if len(titles) == 1 else bearer.label or min(titles, default=bearer.entity)


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


# AmbER's three-document choice (Table 8): a question, its gold page, and two namesakes' pages.
# The same items are asked of retrievers (`whichone score three`) and of people (the user study).


DOCUMENTS = 3
_BLOCK = 1_024
Fewer = Literal["skip", "pad"]


class ThreeChoice(Record, frozen=True):
    """One question with three bearers' pages in a seeded order, one of them gold."""

    query: str
    question: str
    name: str
    gold: str
    pages: tuple[str, ...]
    answers: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()  # All gold pages: somebody may have several
    padded: int = 0  # How many of the pages are no namesake's, because the name has fewer bearers with pages


class ThreeChoices(msgspec.Struct, frozen=True):
    """Items, and how many queries could not become one, by reason."""

    items: Sequence[ThreeChoice]
    skipped: dict[str, int]


def three_choices(
    benchmark: Benchmark,
    *,
    seed: int = 0,
    most: int | None = None,
    tasks: Sequence[str] = ("qa",),
    fewer: Fewer = "skip",
) -> ThreeChoices:
    """Queries of the given tasks whose name has pages of three bearers, a seeded sample of them.

    A name with fewer is skipped, or padded with pages of other names' bearers in its collection.
    """
    skipped = {"other task": 0, "no gold page": 0, "no page says who is meant": 0,
               "fewer than three bearers with pages": 0}  # fmt: skip
    pool = _pages_by_collection(benchmark) if fewer == "pad" else {}
    items: Sequence[ThreeChoice] = MappedRecords(ThreeChoice).extend(
        _items(benchmark, seed, tasks, pool, skipped)
    )
    if most is not None and len(items) > most:
        items = tuple(random.Random(f"{seed}").sample(items, most))
    return ThreeChoices(items, skipped)


def _items(
    benchmark: Benchmark, seed: int, tasks: Sequence[str], pool: dict[str, list[str]], skipped: dict[str, int]
) -> Iterator[ThreeChoice]:
    for block in blocks(benchmark.queries, _BLOCK):
        asked = [query for query in block if query.task in tasks]
        skipped["other task"] += len(block) - len(asked)
        others_of = benchmark.others_of(asked)
        pages = sorted({page for query in asked for page in query.gold_pages()}.union(*others_of))
        rows = benchmark.corpus.page_rows(pages)
        known = frozenset(page for page, row in zip(pages, rows, strict=True) if row is not None)
        for query, own, pages_of_others in zip(asked, benchmark.sets_of(asked), others_of, strict=True):
            gold = sorted(query.gold_pages() & known)
            telling = _telling(query, gold, benchmark.corpus) if gold else None
            if telling is None:
                skipped["no page says who is meant" if gold else "no gold page"] += 1
                continue
            others = [*_page_each(own.bearers if own else (), pages_of_others & known)]
            draw = random.Random(f"{seed}:{own_id(query)}")
            lacking = max(0, DOCUMENTS - 1 - len(others))
            strangers = _strangers(draw, query, own, pool) if lacking and own else []
            if lacking > len(strangers):
                skipped["fewer than three bearers with pages"] += 1
                continue
            pages = [telling, *draw.sample(others, DOCUMENTS - 1 - lacking), *strangers[:lacking]]
            draw.shuffle(pages)
            yield ThreeChoice(
                query=query.id,
                question=query.input,
                name=query.name or "",
                gold=telling,
                accepted=tuple(gold),
                pages=tuple(pages),
                answers=query.answers(),
                padded=lacking,
            )


def _telling(query: Query, gold: Sequence[str], corpus: Corpus) -> str | None:
    """The first gold page that decides by itself: it states the clue of a question that has one, and an answer."""
    clue, answers = query.attributes.get("clue_value"), query.answers()
    if clue is None:
        return None if query.attributes.get("resolvable") == "no" else gold[0]
    texts = ((page, " ".join([corpus.title(page), *corpus.texts_on(page)]).casefold()) for page in gold)
    return next(
        (
            page
            for page, text in texts
            if str(clue).casefold() in text and any(answer.casefold() in text for answer in answers)
        ),
        None,
    )


def _page_each(bearers: Sequence[Bearer], known: Container[str]) -> dict[str, None]:
    pages = (next((p for p in bearer.pages if p in known), None) for bearer in bearers)
    return dict.fromkeys(page for page in pages if page is not None)


def _pages_by_collection(benchmark: Benchmark) -> dict[str, list[str]]:
    all_pages: dict[str, dict[str, None]] = {}
    for name_set in benchmark.sets:
        all_pages.setdefault(name_set.collection, {}).update(_page_each(name_set.bearers, benchmark.pages))
    return {collection: list(pages) for collection, pages in all_pages.items()}


def _strangers(draw: random.Random, query: Query, own: NameSet, pool: dict[str, list[str]]) -> list[str]:
    """A few drawn pages of other names' bearers, none of them a page of this name."""
    namesakes = {page for bearer in own.bearers for page in bearer.pages} | query.gold_pages()
    pages = pool.get(own.collection, [])
    drawn = draw.sample(pages, min(len(pages), DOCUMENTS + len(namesakes)))
    return [page for page in drawn if page not in namesakes]
