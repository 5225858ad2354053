"""Surface names and their bearers, from disambiguation pages or from names that entities share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from whichone.knowledge.knowledge_tables import BULLET, SECTION
from whichone.names import name_key

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Tables

_SUFFIX = " (disambiguation)"
LEAST, MOST = 2, 10


class SurfaceName(NamedTuple):
    """A name, and the pages of those who bear it, in the order in which they are listed."""

    key: str
    name: str
    pages: tuple[str, ...]


def usable_name(name: str) -> bool:
    """The released rule: it begins with a letter, or with a digit and contains a letter."""
    return bool(name) and (
        name[0].isalpha() or (name[0].isdigit() and any(c.isalpha() for c in name))
    )


def surface_of(title: str) -> str:
    """The name that a disambiguation page is about."""
    return title.removesuffix(_SUFFIX).strip()


def line_starts(paragraphs: Sequence[str]) -> dict[int, int]:
    """For every line before "See also": where its text begins, after the mark of a list item."""
    starts: dict[int, int] = {}
    for number, line in enumerate(paragraphs):
        if line.startswith(SECTION):
            heading = line.removeprefix(SECTION).strip().rstrip(".").casefold()
            if heading == "see also":
                break
            continue
        mark = len(line) - len(line.removeprefix(BULLET).lstrip("-*# \t"))
        starts[number] = mark if line.startswith(BULLET) else len(line) - len(line.lstrip())
    return starts


def disambiguation_tables(tables: Tables) -> tuple[Table, Table]:
    """The disambiguation pages, and their links to articles about an entity."""
    pages = tables.pages.filter(tables.pages.kind == "disambiguation")
    pages = pages.select("page", "title", "paragraphs")
    articles = _articles(tables).select(target_page="page")
    links = tables.links.select("page", "paragraph", "start", "target_page")
    links = links.semi_join(pages, "page").semi_join(articles, "target_page")
    return pages, links


def _articles(tables: Tables) -> Table:
    pages = tables.pages
    return pages.filter(pages.kind == "article", pages.entity.notnull())


def listed_names(tables: Tables) -> Iterator[SurfaceName]:
    """The names of disambiguation pages.

    A link is a bearer when its text begins a line before "See also". Where the page is called
    "X (disambiguation)", the plain page X is a bearer too, and the first.
    """
    pages, links = disambiguation_tables(tables)
    places: dict[str, list[tuple[int, int, str]]] = {}
    for row in tables.rows(links):
        places.setdefault(row["page"], []).append(
            (row["paragraph"], row["start"], row["target_page"])
        )
    wanted = pages.filter(pages.title.endswith(_SUFFIX))
    plain_titles = wanted.select(title=wanted.title.replace(_SUFFIX, ""))
    articles = _articles(tables)
    plain = {
        row["title"]: row["page"]
        for row in tables.rows(articles.semi_join(plain_titles, "title").select("title", "page"))
    }
    for page, title, starts in _lines(tables, pages):
        name = surface_of(title)
        bearers = [
            target
            for paragraph, start, target in sorted(places.get(page, ()))
            if starts.get(paragraph) == start
        ]
        if title.endswith(_SUFFIX) and name in plain:
            bearers.insert(0, plain[name])
        yield SurfaceName(name_key(name), name, tuple(dict.fromkeys(bearers)))


_LINES = pa.schema(
    [
        ("page", pa.string()),
        ("title", pa.string()),
        ("lines", pa.list_(pa.int32())),
        ("starts", pa.list_(pa.int32())),
    ]
)


def _lines(tables: Tables, pages: Table) -> Iterator[tuple[str, str, dict[int, int]]]:
    """Every page with its `line_starts`; texts are read where they are."""
    for batch in tables.engine.mapped(pages, _find_lines, _LINES):
        for row in batch.to_pylist():
            yield row["page"], row["title"], dict(zip(row["lines"], row["starts"], strict=True))


def _find_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [line_starts(paragraphs or ()) for paragraphs in batch["paragraphs"].to_pylist()]
        lines = pa.array([list(starts) for starts in found], pa.list_(pa.int32()))
        starts = pa.array([list(starts.values()) for starts in found], pa.list_(pa.int32()))
        yield pa.RecordBatch.from_arrays(
            [batch["page"], batch["title"], lines, starts], schema=_LINES
        )


def shared_names(tables: Tables, language: str, most: int = MOST) -> Iterator[SurfaceName]:
    """Names (labels and aliases) of two or more entities that have an article."""
    articles = _articles(tables)
    articles = articles.group_by("entity").agg(page=articles.page.min())
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    borne = names.inner_join(articles, "entity").select("key", "name", "kind", "entity", "page")
    counted = borne.group_by("key").agg(bearers=borne.entity.nunique())
    several = counted.filter(counted.bearers.between(LEAST, most)).select("key")
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in tables.rows(borne.semi_join(several, "key")):
        grouped.setdefault(row["key"], []).append(row)
    for key in sorted(grouped):
        members = sorted(grouped[key], key=lambda r: (r["kind"] != "label", r["name"], r["entity"]))
        pages = sorted({row["page"] for row in members})
        yield SurfaceName(key, members[0]["name"], tuple(pages))


def joined(names: Iterable[SurfaceName]) -> list[SurfaceName]:
    """Names with the same key made one, pages in order of appearance."""
    surface_names: dict[str, SurfaceName] = {}
    for name in names:
        if name.key in surface_names:
            old = surface_names[name.key]
            pages = tuple(dict.fromkeys((*old.pages, *name.pages)))
            surface_names[name.key] = old._replace(pages=pages)
        else:
            surface_names[name.key] = name
    return [surface_names[key] for key in sorted(surface_names)]


def in_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()
