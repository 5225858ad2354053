"""Name sets at the user's word: which entity a question is about, what it is called, which pages are about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from whichone.benchmarks.gold import GoldPages
from whichone.names import title_key
from whichone.records import Bearer, NameSet, Output, Provenance, Query


def by_entity(queries: Sequence[Query], corpus: GoldPages) -> tuple[Iterator[Query], list[NameSet]]:
    """The queries with their gold and name set by entity, and the sets.

    Every page about the right entity answers a question, whichever it is. An entity has the names that
    questions give it and those of its pages' titles; a page that belongs to nobody and has such a title
    is a bearer of its own.
    """
    pages = _pages(queries, corpus)
    sets = _sets(queries, corpus, pages)
    by_key = {s.id: s for s in sets}
    return (_placed(q, corpus, pages, by_key) for q in queries), sets


def _pages(queries: Sequence[Query], corpus: GoldPages) -> dict[str, dict[str, None]]:
    """The pages of each entity: as the corpus says, else the gold pages of its questions."""
    pages = {entity: dict.fromkeys(own) for entity, own in corpus.entity_pages.items()}
    for query in queries:
        if query.entity is not None and query.entity not in corpus.entity_pages:
            known = [p for p in sorted(query.gold_pages()) if p in corpus.titles]
            pages.setdefault(query.entity, {}).update(dict.fromkeys(known))
    return pages


def _sets(
    queries: Sequence[Query], corpus: GoldPages, pages: dict[str, dict[str, None]]
) -> list[NameSet]:
    called: dict[str, dict[str, None]] = {}
    shown: dict[str, str] = {}
    for entity, own in pages.items():
        for page in own:
            called.setdefault(title_key(corpus.titles[page]), {})[entity] = None
    for query in queries:
        if query.entity is not None and query.name:
            key = title_key(query.name)
            called.setdefault(key, {})[query.entity] = None
            shown.setdefault(key, query.name)
    owned = {page for own in pages.values() for page in own}
    for page, title in corpus.titles.items():
        if page not in owned and title_key(title) in called:
            called[title_key(title)][page] = None
            pages.setdefault(page, {page: None})
    return [
        NameSet(
            id=f"name:{key}",
            name=shown.get(key, key),
            collection="names",
            bearers=tuple(
                Bearer(entity=e, label=_label(e, pages, corpus), pages=tuple(pages[e]))
                for e in sorted(bearers)
            ),
        )
        for key, bearers in sorted(called.items())
        if len(bearers) > 1 and key
    ]


def _label(entity: str, pages: dict[str, dict[str, None]], corpus: GoldPages) -> str:
    return next((corpus.titles[page] for page in pages[entity]), entity)


def _placed(
    query: Query,
    corpus: GoldPages,
    pages: dict[str, dict[str, None]],
    sets: dict[str, NameSet],
) -> Query:
    if query.entity is None:
        return query
    own = pages.get(query.entity, {})
    names = [query.name, *(corpus.titles[page] for page in own)]
    name_set = next((s for n in names if n and (s := sets.get(f"name:{title_key(n)}"))), None)
    outputs = query.outputs
    if query.entity in corpus.entity_pages and outputs:
        known = query.gold_pages()
        more = [(Provenance(page=p, title=corpus.titles[p]),) for p in own if p not in known]
        first: Output = msgspec.structs.replace(
            outputs[0], provenance=(*outputs[0].provenance, *more), entity=query.entity
        )
        outputs = (first, *outputs[1:])
    return msgspec.structs.replace(
        query,
        outputs=outputs,
        name=query.name or (name_set.name if name_set else None),
        name_set=name_set.id if name_set else None,
        attributes={**query.attributes, "shared_name": name_set is not None},
    )
