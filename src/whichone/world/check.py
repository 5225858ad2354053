"""The rules that a world's source must keep, each broken one reported with file, line and what it is."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from whichone.text import normalisers
from whichone.world.markup import LINK, link_targets
from whichone.world.pages import PageText
from whichone.world.source import NameFile, Source, SourceEntity, SourceFact

FEWEST_WORDS, MOST_WORDS = 60, 250
ALIGNED_WORDS = 350
SMALLEST_GAP = 0.1


def problems(source: Source) -> list[str]:
    """Every broken rule, in the order of the files."""
    issues = [
        *_unique(source),
        *_entities(source),
        *_names(source),
        *_pages(source),
        *_links(source),
    ]
    return sorted(set(issues))


def _place(thing: SourceEntity | PageText) -> str:
    return f"{thing.file}:{thing.line}"


def _unique(source: Source) -> Iterator[str]:
    places: dict[str, str] = {}
    for entity in source.entities():
        if entity.id in places:
            yield f"{_place(entity)}: id {entity.id} is also used at {places[entity.id]}"
        places.setdefault(entity.id, _place(entity))
    titles: dict[str, str] = {}
    for page in source.pages:
        if page.title in titles:
            yield f"{_place(page)}: page {page.title!r} is also written at {titles[page.title]}"
        titles.setdefault(page.title, _place(page))
    owners: dict[str, str] = {}
    for entity in source.entities():
        if entity.page is not None and entity.page in owners:
            yield f"{_place(entity)}: {entity.id} has the page of {owners[entity.page]}"
        owners.setdefault(entity.page or "", entity.id)
    for entity in source.entities():
        for title in entity.redirects:
            if title in titles:
                yield f"{_place(entity)}: redirect {title!r} is a page or another redirect"
            titles.setdefault(title, _place(entity))
    labels = Counter(value.label for value in source.values)
    for value in source.values:
        if labels[value.label] > 1:
            yield f"{_place(value)}: two values are called {value.label!r}"


def _entities(source: Source) -> Iterator[str]:
    pages = {page.title: page for page in source.pages}
    known = {p.id for p in source.properties}
    by_label: dict[str, list[SourceEntity]] = {}
    for entity in (*source.values, *(e for n in source.names for e in n.entity)):
        by_label.setdefault(entity.label, []).append(entity)
        by_label.setdefault(entity.id, []).append(entity)
    values = {value.id for value in source.values}
    for entity in source.entities():
        for name in entity.types:
            if name not in source.types:
                yield f"{_place(entity)}: {entity.id} has the unknown type {name!r}"
        page = pages.get(entity.page or "")
        if entity.page is not None and page is None:
            yield f"{_place(entity)}: {entity.id} has no page {entity.page!r} in the Markdown files"
        for fact in entity.fact:
            meant = by_label.get(fact.value or "", [])
            if len(meant) > 1 and not any(e.id in values for e in meant):
                yield f"{_place(entity)}: several entities are called {fact.value!r}; give the id"
            yield from _fact(entity, fact, meant[0] if meant else None, known, page)


def _fact(
    entity: SourceEntity,
    fact: SourceFact,
    meant: SourceEntity | None,
    known: set[str],
    page: PageText | None,
) -> Iterator[str]:
    where = f"{_place(entity)}: {entity.id} {fact.property}"
    if fact.property not in known:
        yield f"{where}: unknown property"
    if not fact.source.strip():
        yield f"{where}: no source"
    if (fact.value is None) == (fact.quantity is None):
        yield f"{where}: needs either a value or a quantity"
        return
    if fact.value is not None and meant is None:
        yield f"{where}: {fact.value!r} is neither a value nor an entity"
        return
    if page is not None:
        names = meant.names if meant is not None else (str(fact.quantity),)
        text = normalisers.amber_tokens(" ".join(page.words()[:ALIGNED_WORDS]))
        if not any(
            normalisers.contains_answer(text, normalisers.amber_tokens(name)) for name in names
        ):
            yield (
                f"{where}: none of {', '.join(names)} appears in the first {ALIGNED_WORDS} words "
                f"of {page.title!r} ({_place(page)})"
            )


def _names(source: Source) -> Iterator[str]:
    for name in source.names:
        if len(name.entity) < 2:
            yield f"{name.file}: {name.name!r} needs two bearers or more"
        for entity in name.entity:
            if name.name not in entity.names:
                yield f"{_place(entity)}: {entity.id} does not bear the name {name.name!r}"
            if not entity.types:
                yield f"{_place(entity)}: {entity.id} has no type"
            if entity.page is None or entity.views is None:
                yield f"{_place(entity)}: {entity.id} needs a page and views"
            if not entity.description:
                yield f"{_place(entity)}: {entity.id} needs a description"
        yield from _gaps(name)
    twice = Counter(name.name for name in source.names)
    for name in source.names:
        if twice[name.name] > 1:
            yield f"{name.file}: {name.name!r} has two files"


def _gaps(name: NameFile) -> Iterator[str]:
    views = sorted((entity.views or 0 for entity in name.entity), reverse=True)
    for more, fewer in itertools.pairwise(views):
        if more - fewer < SMALLEST_GAP * fewer:
            yield f"{name.file}: views {more} and {fewer} of {name.name!r} differ by less than a tenth"


def _pages(source: Source) -> Iterator[str]:
    for page in source.pages:
        count = page.running_words()
        if not FEWEST_WORDS <= count <= MOST_WORDS:
            yield (
                f"{_place(page)}: {page.title!r} has {count} words, "
                f"not {FEWEST_WORDS} to {MOST_WORDS}"
            )
        if any("[" in text for text in (_without_links(b.text) for b in page.blocks)):
            yield f"{_place(page)}: {page.title!r} has a broken link"


def _without_links(text: str) -> str:
    return LINK.sub("", text)


def _links(source: Source) -> Iterator[str]:
    titles = {page.title for page in source.pages}
    titles |= {title for entity in source.entities() for title in entity.redirects}
    titles |= {name.name for name in source.names}
    titles |= {f"{name.name} (disambiguation)" for name in source.names}
    for page in source.pages:
        for block in page.blocks:
            for target, red in link_targets(block.text):
                if red == (target in titles):
                    state = "is marked red but is there" if red else "leads nowhere"
                    yield f"{_place(page)}: [[{target}]] in {page.title!r} {state}"
