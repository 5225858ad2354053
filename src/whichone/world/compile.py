"""Compiles a world's source into the formats of the real dumps, always to the same bytes."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import write_atomic
from whichone.world.check import problems
from whichone.world.disambiguation import disambiguation_page, disambiguation_title
from whichone.world.formats import kilt, mediawiki, views, wikidata
from whichone.world.model import Article, Item, Property, Statement, Wiki
from whichone.world.source import BUILTIN, Source, SourceEntity, SourceFact, read_source

WIKIDATA = "wikidata.json.bz2"
WIKIPEDIA = "pages-articles.xml.bz2"
KILT = "kilt_knowledgesource.json.gz"
VIEWS = "pagecounts-totals.bz2"

FIRST_PAGE_ID = 1001
FIRST_REVISION = 900_000_000
FIRST_DISAMBIGUATION_ITEM = 990_000_001


class World(msgspec.Struct, frozen=True):
    """Items and articles of a world that fits in memory, ready to be written in any format."""

    items: tuple[Item, ...]
    properties: tuple[Property, ...]
    articles: tuple[Article, ...]
    page_ids: dict[str, int]
    wiki: Wiki


def compile_builtin(out: Path) -> dict[str, Path]:
    """Write the built-in world's dumps into a folder; the path of each by what it contains."""
    return compile_source(BUILTIN, out)


def compile_source(source_folder: Path, out: Path) -> dict[str, Path]:
    """Write the dumps of the world whose source is in a folder."""
    source = read_source(source_folder)
    issues = problems(source)
    if issues:
        raise BadInput(
            f"the world's source breaks {len(issues)} rules:\n  " + "\n  ".join(issues[:20]),
            file=source_folder,
        )
    return write_world(assemble(source), out)


def assemble(source: Source) -> World:
    """Items, articles and page ids: ids follow the order of all titles, redirects among them."""
    ids = value_ids(source)
    pages = {page.title: page for page in source.pages}
    items = {
        e.id: _item(e, source, ids) for e in source.entities() if e.page is None or e.page in pages
    }
    by_page = {item.title: item for item in items.values() if item.title is not None}
    written = {e.page: e for e in source.entities() if e.page is not None}
    articles = [
        Article(
            title=page.title,
            blocks=page.blocks,
            categories=page.categories,
            item=by_page.get(page.title),
            views=written[page.title].views if page.title in written else None,
            redirects=written[page.title].redirects if page.title in written else (),
        )
        for page in source.pages
    ]
    articles += _disambiguation_pages(source, articles)
    for article in articles:
        if article.disambiguation and article.item is not None:
            items[article.item.id] = article.item
    for kind in source.types.values():
        items.setdefault(kind.id, Item(id=kind.id, label=kind.label))
    titles = [title for a in articles for title in (a.title, *a.redirects)]
    return World(
        items=tuple(sorted(items.values(), key=lambda i: (i.title is None, int(i.id[1:])))),
        properties=tuple(sorted(source.properties, key=lambda p: int(p.id[1:]))),
        articles=tuple(sorted(articles, key=lambda a: a.title)),
        page_ids={title: n for n, title in enumerate(sorted(titles), FIRST_PAGE_ID)},
        wiki=Wiki(),
    )


def value_ids(source: Source) -> dict[str, str]:
    """The item id that a fact's value means: its label or its id; values before bearers of names."""
    ids: dict[str, str] = {}
    for entity in (*source.values, *(e for name in source.names for e in name.entity)):
        ids.setdefault(entity.label, entity.id)
        ids.setdefault(entity.id, entity.id)
    return ids


def _item(entity: SourceEntity, source: Source, ids: dict[str, str]) -> Item:
    return Item(
        id=entity.id,
        label=entity.label,
        aliases=entity.aliases,
        description=entity.description,
        types=tuple(source.types[name].id for name in entity.types),
        statements=tuple(_statement(fact, ids) for fact in entity.fact),
        title=entity.page,
    )


def _statement(fact: SourceFact, ids: dict[str, str]) -> Statement:
    if fact.value is not None:
        return Statement(
            property=fact.property, kind="item", value=ids[fact.value], source=fact.source
        )
    return Statement(
        property=fact.property, kind="quantity", value=str(fact.quantity), source=fact.source
    )


def _disambiguation_pages(source: Source, articles: Sequence[Article]) -> list[Article]:
    """One for each name, with views of its own: a fiftieth of its bearers', as a page few stay on."""
    taken = {title for a in articles for title in (a.title, *a.redirects)}
    pages = []
    for n, name in enumerate(sorted(source.names, key=lambda f: f.name)):
        bearers = sorted(name.entity, key=lambda e: (-(e.views or 0), e.id))
        title = disambiguation_title(name.name, taken)
        taken.add(title)
        pages.append(
            disambiguation_page(
                name.name,
                title,
                [(e.page, e.description) for e in bearers if e.page is not None],
                f"Q{FIRST_DISAMBIGUATION_ITEM + n}",
                5 + sum(e.views or 0 for e in bearers) // 50,
            )
        )
    return pages


def write_world(world: World, out: Path) -> dict[str, Path]:
    """All four files of a world."""
    out.mkdir(parents=True, exist_ok=True)
    contents = {
        WIKIDATA: bz2.compress(_wikidata(world)),
        WIKIPEDIA: bz2.compress(_mediawiki(world)),
        KILT: _gzip(_kilt(world)),
        VIEWS: bz2.compress(_views(world)),
    }
    for name, content in contents.items():
        write_atomic(out / name, content)
    return {name: out / name for name in contents}


def _wikidata(world: World) -> bytes:
    """Properties first and items without a page last, so that the last line, which the published
    program cannot read for want of a comma, is one that it would pass over."""
    lines = [wikidata.property_json(p, world.wiki) for p in world.properties]
    lines += (
        wikidata.item_json(item, world.wiki, world.page_ids.get(item.title or "", 0))
        for item in world.items
    )
    return wikidata.OPENING + wikidata.BETWEEN.join(lines) + wikidata.CLOSING


def _mediawiki(world: World) -> bytes:
    pages: dict[int, bytes] = {}
    for article in world.articles:
        number = world.page_ids[article.title]
        pages[number] = mediawiki.page_xml(article, number, FIRST_REVISION + number, world.wiki)
        for title in article.redirects:
            number = world.page_ids[title]
            pages[number] = mediawiki.redirect_xml(
                title, article.title, number, FIRST_REVISION + number, world.wiki
            )
    body = b"".join(pages[number] for number in sorted(pages))
    return mediawiki.opening(world.wiki) + body + mediawiki.CLOSING


def _kilt(world: World) -> bytes:
    return b"".join(
        kilt.kilt_line(
            a, world.page_ids[a.title], FIRST_REVISION + world.page_ids[a.title], world.wiki
        )
        for a in world.articles
    )


def _views(world: World) -> bytes:
    lines = (views.views_line(a.title, a.views or 0, world.wiki) for a in world.articles)
    return views.HEADER + b"".join(lines)


def _gzip(content: bytes) -> bytes:
    held = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=held, mtime=0) as file:
        file.write(content)
    return held.getvalue()
