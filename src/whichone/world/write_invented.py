"""Writes an invented world's four files: blocks made side by side, appended in order."""

from __future__ import annotations

import bz2
import functools
import gzip
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import read_json, write_atomic
from whichone.files.output import differences, refuse_to_replace
from whichone.files.pools import run_in_order
from whichone.progress import progress, talk
from whichone.world.compile import FIRST_REVISION, KILT, VIEWS, WIKIDATA, WIKIPEDIA
from whichone.world.formats import kilt, mediawiki, views, wikidata
from whichone.world.invent import PAGES_A_BLOCK, Invention, Inventor
from whichone.world.kinds import HUMANS, OTHERS, PROPERTIES, VALUES
from whichone.world.model import DISAMBIGUATION_TYPE, Article, Item, Wiki

FILES = (WIKIDATA, WIKIPEDIA, KILT, VIEWS)
SUMMARY = "world.json"
_FIRST_PAGE = 1


class Part(msgspec.Struct):
    """A stretch of all four files, compressed on its own; parts are simply put one after another."""

    wikidata: bytes
    wikipedia: bytes
    kilt: bytes
    views: bytes
    pages: int = 0
    items: int = 0
    shared_names: int = 0
    entities: int = 0


def write_invented(invention: Invention, out: Path, *, workers: int = 1) -> dict[str, object]:
    """Write a world and its summary, `world.json` last; the summary."""
    invention.check()
    if (done := _finished(invention, out)) is not None:
        talk(f"{out}: is this world already; nothing to do")
        return done
    out.mkdir(parents=True, exist_ok=True)
    (out / SUMMARY).unlink(missing_ok=True)
    counts = {"pages": 0, "items": 0, "shared_names": 0}
    try:
        with (
            ExitStack() as opened,
            progress("inventing", invention.entities, "entities") as advance,
        ):
            files = [opened.enter_context((out / f".{name}").open("wb")) for name in FILES]
            for part in _parts(invention, workers):
                contents = (part.wikidata, part.wikipedia, part.kilt, part.views)
                for file, content in zip(files, contents, strict=True):
                    file.write(content)
                for key in counts:
                    counts[key] += getattr(part, key)
                advance(part.entities)
        for name in FILES:
            (out / f".{name}").replace(out / name)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=out) from error
    summary: dict[str, object] = {
        "parameters": msgspec.to_builtins(invention),
        "counts": {"entities": invention.entities, **counts},
        "files": {name: (out / name).stat().st_size for name in FILES},
    }
    write_atomic(out / SUMMARY, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    return summary


def _finished(invention: Invention, out: Path) -> dict[str, object] | None:
    """The summary of the same world; another one is replaced only where that is allowed."""
    if not (out / SUMMARY).exists():
        return None
    summary = read_json(out / SUMMARY, dict[str, Any])
    old, new = summary.get("parameters"), msgspec.to_builtins(invention)
    sizes = {name: (out / name).stat().st_size for name in FILES if (out / name).exists()}
    if old == new and sizes == summary.get("files"):
        return summary
    options = differences({"options": old or {}}, {"options": new})
    refuse_to_replace(out, "world", options)
    return None


def _parts(invention: Invention, workers: int) -> Iterator[Part]:
    yield opening_part(invention)
    of_block = functools.partial(block_part, invention)
    yield from run_in_order(of_block, range(invention.blocks), min(workers, invention.blocks))
    yield closing_part(invention)


@functools.lru_cache(maxsize=1)
def _inventor(invention: Invention) -> Inventor:
    return Inventor(invention)


def opening_part(invention: Invention) -> Part:
    """The heads of all files, the properties, and the values with their pages."""
    inventor, wiki = _inventor(invention), invention.wiki
    articles = list(inventor.value_pages())
    items = list(inventor.value_items())
    lines = [wikidata.property_json(prop, wiki) for prop in PROPERTIES]
    lines += (wikidata.item_json(item, wiki) for item in items)
    heads = (wikidata.OPENING, mediawiki.opening(wiki), b"", views.HEADER)
    return _part(heads, lines, articles, _FIRST_PAGE, wiki, len(items))


def block_part(invention: Invention, number: int) -> Part:
    """One block's stretch of the files."""
    articles = _inventor(invention).block(number)
    items = [article.item for article in articles if article.item is not None]
    lines = [wikidata.item_json(item, invention.wiki) for item in items]
    first = _FIRST_PAGE + (number + 1) * PAGES_A_BLOCK
    part = _part((b"", b"", b"", b""), lines, articles, first, invention.wiki, len(items))
    part.entities = part.pages - part.shared_names
    return part


def closing_part(invention: Invention) -> Part:
    """The types, which have no page, and the ends of the files."""
    wiki = invention.wiki
    labels = {kind.type: kind.type_label for kind in (*HUMANS, *OTHERS)}
    labels |= {value.type: value.type_label for value in VALUES.values()}
    labels |= {DISAMBIGUATION_TYPE: "Wikimedia disambiguation page", "Q28640": "profession"}
    lines = [
        wikidata.item_json(Item(id=key, label=label), wiki) for key, label in sorted(labels.items())
    ]
    content = wikidata.BETWEEN.join(lines) + wikidata.CLOSING
    return Part(bz2.compress(content), bz2.compress(mediawiki.CLOSING), b"", b"", items=len(lines))


def _part(
    heads: tuple[bytes, bytes, bytes, bytes],
    lines: Iterable[bytes],
    articles: list[Article],
    first_page: int,
    wiki: Wiki,
    items: int,
) -> Part:
    xml, source, counts = [heads[1]], [heads[2]], [heads[3]]
    number = first_page
    for article in articles:
        revision = FIRST_REVISION + number
        xml.append(mediawiki.page_xml(article, number, revision, wiki))
        source.append(kilt.kilt_line(article, number, revision, wiki))
        counts.append(views.views_line(article.title, article.views or 0, wiki))
        number += 1
        for title in article.redirects:
            xml.append(
                mediawiki.redirect_xml(title, article.title, number, FIRST_REVISION + number, wiki)
            )
            number += 1
    return Part(
        bz2.compress(heads[0] + b"".join(line + wikidata.BETWEEN for line in lines)),
        bz2.compress(b"".join(xml)),
        gzip.compress(b"".join(source), mtime=0),
        bz2.compress(b"".join(counts)),
        pages=len(articles),
        items=items,
        shared_names=sum(article.disambiguation for article in articles),
    )
