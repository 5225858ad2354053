"""A world's source, checked by the rules it must keep, into the formats of the real dumps, always to the same bytes."""

import bz2
import gzip
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import write_atomic
from whichone.text import normalisers
from whichone.world import dump_files
from whichone.world import source as sources

T = TypeVar("T")
FEWEST_WORDS, MOST_WORDS = 60, 250
ALIGNED_WORDS = 350
SMALLEST_GAP = 0.1


def problems(source: sources.WorldSource) -> list[str]:
    issues = [*_unique(source), *_entities(source), *_names(source), *_pages(source), *_links(source)]
    return sorted(set(issues))


def _place(thing: sources.SourceEntity | sources.WrittenPage) -> str:
    return f"{thing.file}:{thing.line}"


def _repeated(keyed: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T, T]]:
    """Each thing whose key came before, with the first thing of this key."""
    firsts: dict[str, T] = {}
    for key, thing in keyed:
        if key in firsts:
            yield key, thing, firsts[key]
        firsts.setdefault(key, thing)


def _unique(source: sources.WorldSource) -> Iterator[str]:
    every = list(source.entities())
    for key, entity, first in _repeated((e.id, e) for e in every):
        yield f"{_place(entity)}: id {key} is also used at {_place(first)}"
    for title, page, written in _repeated((page.title, page) for page in source.pages):
        yield f"{_place(page)}: page {title!r} is also written at {_place(written)}"
    for _, entity, first in _repeated((e.page, e) for e in every if e.page is not None):
        yield f"{_place(entity)}: {entity.id} has the page of {first.id}"
    titles = {page.title: None for page in source.pages}
    redirects = ((title, entity) for entity in every for title in entity.redirects)
    for title, redirected, _ in _repeated((*titles.items(), *redirects)):
        if redirected is not None:
            yield f"{_place(redirected)}: redirect {title!r} is a page or another redirect"
    labels = Counter(value.label for value in source.values)
    for value in source.values:
        if labels[value.label] > 1:
            yield f"{_place(value)}: two values are called {value.label!r}"


def _entities(source: sources.WorldSource) -> Iterator[str]:
    pages = {page.title: page for page in source.pages}
    known = {p.id for p in source.properties}
    by_label: dict[str, list[sources.SourceEntity]] = {}
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
    entity: sources.SourceEntity,
    fact: sources.SourceFact,
    meant: sources.SourceEntity | None,
    known: set[str],
    page: sources.WrittenPage | None,
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
        if not any(normalisers.contains_answer(text, normalisers.amber_tokens(name)) for name in names):
            yield (
                f"{where}: none of {', '.join(names)} appears in the first {ALIGNED_WORDS} words "
                f"of {page.title!r} ({_place(page)})"
            )


def _names(source: sources.WorldSource) -> Iterator[str]:
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
        views = sorted((entity.views or 0 for entity in name.entity), reverse=True)
        for more, fewer in itertools.pairwise(views):
            if more - fewer < SMALLEST_GAP * fewer:
                yield f"{name.file}: views {more} and {fewer} of {name.name!r} differ by less than a tenth"
    twice = Counter(name.name for name in source.names)
    yield from (f"{name.file}: {name.name!r} has two files" for name in source.names if twice[name.name] > 1)


def _pages(source: sources.WorldSource) -> Iterator[str]:
    for page in source.pages:
        count = page.running_words()
        if not FEWEST_WORDS <= count <= MOST_WORDS:
            yield (f"{_place(page)}: {page.title!r} has {count} words, not {FEWEST_WORDS} to {MOST_WORDS}")
        if any("[" in text for text in (sources.LINK.sub("", b.text) for b in page.blocks)):
            yield f"{_place(page)}: {page.title!r} has a broken link"


def _links(source: sources.WorldSource) -> Iterator[str]:
    titles = {page.title for page in source.pages}
    titles |= {title for entity in source.entities() for title in entity.redirects}
    titles |= {title for name in source.names for title in (name.name, f"{name.name} (disambiguation)")}
    for page in source.pages:
        for block in page.blocks:
            for match in sources.LINK.finditer(block.text):
                red, target = bool(match[1]), match[2]
                if red == (target in titles):
                    state = "is marked red but is there" if red else "leads nowhere"
                    yield f"{_place(page)}: [[{target}]] in {page.title!r} {state}"


WIKIDATA = "wikidata.json.bz2"
WIKIPEDIA = "pages-articles.xml.bz2"
KILT = "kilt_knowledgesource.json.gz"
VIEWS = "pagecounts-totals.bz2"

FIRST_PAGE_ID = 1001
FIRST_REVISION = 900_000_000
FIRST_DISAMBIGUATION_ITEM = 990_000_001


class World(msgspec.Struct, frozen=True):
    """Items and articles of a world that fits in memory, ready to be written in any format."""

    items: tuple[sources.Item, ...]
    properties: tuple[sources.Property, ...]
    articles: tuple[sources.Article, ...]
    page_ids: dict[str, int]
    wiki: sources.Wiki


def compile_builtin(out: str | Path) -> dict[str, Path]:
    """Write the built-in world's dumps into a folder; the path of each by what it contains."""
    return compile_source(sources.BUILTIN, out)


def compile_source(source_folder: Path, out: str | Path) -> dict[str, Path]:
    source = sources.read_source(source_folder)
    if issues := problems(source):
        raise BadInput(
            f"the world's source breaks {len(issues)} rules:\n  " + "\n  ".join(issues[:20]),
            file=source_folder,
        )
    return write_world(assemble(source), Path(out))


def assemble(source: sources.WorldSource) -> World:
    """Items, articles and page ids: ids follow the order of all titles, redirects among them."""
    ids: dict[str, str] = {}
    for entity in (*source.values, *(e for name in source.names for e in name.entity)):
        ids.setdefault(entity.label, entity.id)
        ids.setdefault(entity.id, entity.id)
    pages = {page.title: page for page in source.pages}
    items = {
        e.id: sources.Item(
            id=e.id,
            label=e.label,
            aliases=e.aliases,
            description=e.description,
            types=tuple(source.types[name].id for name in e.types),
            statements=tuple(_statement(fact, ids) for fact in e.fact),
            title=e.page,
        )
        for e in source.entities()
        if e.page is None or e.page in pages
    }
    by_page = {item.title: item for item in items.values() if item.title is not None}
    written = {e.page: e for e in source.entities() if e.page is not None}
    articles = [
        sources.Article(
            title=page.title,
            blocks=page.blocks,
            categories=page.categories,
            item=by_page.get(page.title),
            views=about.views if about else None,
            redirects=about.redirects if about else (),
        )
        for page in source.pages
        for about in [written.get(page.title)]
    ]
    articles += _disambiguation_pages(source, articles)
    for article in articles:
        if article.disambiguation and article.item is not None:
            items[article.item.id] = article.item
    for kind in source.types.values():
        items.setdefault(kind.id, sources.Item(id=kind.id, label=kind.label))
    titles = [title for a in articles for title in (a.title, *a.redirects)]
    return World(
        items=tuple(sorted(items.values(), key=lambda i: (i.title is None, int(i.id[1:])))),
        properties=tuple(sorted(source.properties, key=lambda p: int(p.id[1:]))),
        articles=tuple(sorted(articles, key=lambda a: a.title)),
        page_ids={title: n for n, title in enumerate(sorted(titles), FIRST_PAGE_ID)},
        wiki=sources.Wiki(),
    )


def _statement(fact: sources.SourceFact, ids: dict[str, str]) -> sources.ItemStatement:
    return sources.ItemStatement(
        property=fact.property,
        kind="quantity" if fact.value is None else "item",
        value=str(fact.quantity) if fact.value is None else ids[fact.value],
        source=fact.source,
    )


def _disambiguation_pages(
    source: sources.WorldSource, articles: Sequence[sources.Article]
) -> list[sources.Article]:
    """One for each name, with views of its own: a fiftieth of its bearers', as a page few stay on."""
    taken = {title for a in articles for title in (a.title, *a.redirects)}
    pages = []
    for n, name in enumerate(sorted(source.names, key=lambda f: f.name)):
        bearers = sorted(name.entity, key=lambda e: (-(e.views or 0), e.id))
        title = sources.disambiguation_title(name.name, taken)
        taken.add(title)
        pages.append(
            sources.disambiguation_page(
                name.name,
                title,
                [(e.page, e.description) for e in bearers if e.page is not None],
                f"Q{FIRST_DISAMBIGUATION_ITEM + n}",
                5 + sum(e.views or 0 for e in bearers) // 50,
            )
        )
    return pages


def write_world(world: World, out: Path) -> dict[str, Path]:
    out.mkdir(parents=True, exist_ok=True)
    lines = (dump_files.views_line(a.title, a.views or 0, world.wiki) for a in world.articles)
    numbered = ((a, world.page_ids[a.title]) for a in world.articles)
    held = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=held, mtime=0) as file:
        file.writelines(dump_files.kilt_line(a, n, FIRST_REVISION + n, world.wiki) for a, n in numbered)
    pages: dict[int, bytes] = {}
    for article in world.articles:
        number = world.page_ids[article.title]
        pages[number] = dump_files.page_xml(article, number, FIRST_REVISION + number, world.wiki)
        for title in article.redirects:
            number = world.page_ids[title]
            pages[number] = dump_files.redirect_xml(
                title, article.title, number, FIRST_REVISION + number, world.wiki
            )
    body = b"".join(pages[number] for number in sorted(pages))
    contents = {
        WIKIDATA: bz2.compress(_wikidata(world)),
        WIKIPEDIA: bz2.compress(dump_files.opening(world.wiki) + body + dump_files.MEDIAWIKI_CLOSING),
        KILT: held.getvalue(),
        VIEWS: bz2.compress(dump_files.HEADER + b"".join(lines)),
    }
    for name, content in contents.items():
        write_atomic(out / name, content)
    return {name: out / name for name in contents}


def _wikidata(world: World) -> bytes:
    """Properties first and items without a page last, so that the last line, which the published
    program cannot read for want of a comma, is one that it would pass over."""
    lines = [dump_files.property_json(p, world.wiki) for p in world.properties]
    lines += (
        dump_files.item_json(item, world.wiki, world.page_ids.get(item.title or "", 0))
        for item in world.items
    )
    return dump_files.OPENING + dump_files.BETWEEN.join(lines) + dump_files.CLOSING
