"""Surface names and their bearers, from disambiguation pages or from names that entities share."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from whichone.benchmarks.relations import frequent_values
from whichone.knowledge.knowledge_tables import BULLET, SECTION
from whichone.names import name_key
from whichone.papers.ambigdocs.ambigdocs_files import TASK, set_id
from whichone.records import Bearer, NameSet, Output, Provenance, Query, grouped, page_of
from whichone.text.normalisers import normalize

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
    return bool(name) and (name[0].isalpha() or (name[0].isdigit() and any(c.isalpha() for c in name)))


def line_starts(paragraphs: Sequence[str]) -> dict[int, int]:
    """For every line before "See also": where its text begins, after the mark of a list item."""
    starts: dict[int, int] = {}
    for number, line in enumerate(paragraphs):
        if line.startswith(SECTION):
            if line.removeprefix(SECTION).strip().rstrip(".").casefold() == "see also":
                break
            continue
        mark = len(line) - len(line.removeprefix(BULLET).lstrip("-*# \t"))
        starts[number] = mark if line.startswith(BULLET) else len(line) - len(line.lstrip())
    return starts


def _articles(tables: Tables) -> Table:
    pages = tables.pages
    return pages.filter(pages.kind == "article", pages.entity.notnull())


def listed_names(tables: Tables) -> Iterator[SurfaceName]:
    """The names of disambiguation pages.

    A link is a bearer when its text begins a line before "See also". Where the page is called
    "X (disambiguation)", the plain page X is a bearer too, and the first.
    """
    pages = tables.pages.filter(tables.pages.kind == "disambiguation").select("page", "title", "paragraphs")
    articles = _articles(tables)
    links = tables.links.select("page", "paragraph", "start", "target_page")
    links = links.semi_join(pages, "page").semi_join(articles.select(target_page="page"), "target_page")
    places = grouped(
        (row["page"], (row["paragraph"], row["start"], row["target_page"])) for row in tables.rows(links)
    )
    wanted = pages.filter(pages.title.endswith(_SUFFIX))
    plain_titles = wanted.select(title=wanted.title.replace(_SUFFIX, ""))
    plain = {
        row["title"]: row["page"]
        for row in tables.rows(articles.semi_join(plain_titles, "title").select("title", "page"))
    }
    found = tables.engine.mapped(pages, _find_lines, _LINES)  # texts are read where they are
    for row in itertools.chain.from_iterable(batch.to_pylist() for batch in found):
        page, title = row["page"], row["title"]
        starts = dict(zip(row["lines"], row["starts"], strict=True))
        name = title.removesuffix(_SUFFIX).strip()
        bearers = [
            target
            for paragraph, start, target in sorted(places.get(page, ()))
            if starts.get(paragraph) == start
        ]
        if title.endswith(_SUFFIX) and name in plain:
            bearers.insert(0, plain[name])
        yield SurfaceName(name_key(name), name, tuple(dict.fromkeys(bearers)))


_NUMBERS = pa.list_(pa.int32())
_LINES = pa.schema([("page", pa.string()), ("title", pa.string()), ("lines", _NUMBERS), ("starts", _NUMBERS)])


def _find_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [line_starts(paragraphs or ()) for paragraphs in batch["paragraphs"].to_pylist()]
        lines = pa.array([list(starts) for starts in found], _NUMBERS)
        starts = pa.array([list(starts.values()) for starts in found], _NUMBERS)
        yield pa.RecordBatch.from_arrays([batch["page"], batch["title"], lines, starts], schema=_LINES)


def shared_names(tables: Tables, language: str, most: int = MOST) -> Iterator[SurfaceName]:
    """Names (labels and aliases) of two or more entities that have an article."""
    articles = _articles(tables)
    articles = articles.group_by("entity").agg(page=articles.page.min())
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    borne = names.inner_join(articles, "entity").select("key", "name", "kind", "entity", "page")
    counted = borne.group_by("key").agg(bearers=borne.entity.nunique())
    several = counted.filter(counted.bearers.between(LEAST, most)).select("key")
    by_key = grouped((row["key"], row) for row in tables.rows(borne.semi_join(several, "key")))
    for key in sorted(by_key):
        members = sorted(by_key[key], key=lambda r: (r["kind"] != "label", r["name"], r["entity"]))
        yield SurfaceName(key, members[0]["name"], tuple(sorted({row["page"] for row in members})))


def joined(names: Iterable[SurfaceName]) -> list[SurfaceName]:
    """Names with the same key made one, pages in order of appearance."""
    surface_names: dict[str, SurfaceName] = {}
    for name in names:
        first = surface_names.get(name.key, name)
        surface_names[name.key] = first._replace(pages=tuple(dict.fromkeys((*first.pages, *name.pages))))
    return [surface_names[key] for key in sorted(surface_names)]


def in_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


# Types, and properties that say how Wikimedia files a thing, not what it is.
NOT_ASKED = ("P31", "P279", "P1889", "P1343", "P373", "P910")
KINDS = ("entity", "quantity", "time", "string", "monolingual")


_FACTS = pa.schema(
    [(name, pa.string()) for name in ("key", "page", "property", "kind", "value", "unit")]
    + [("precision", pa.int8()), ("rank", pa.string()), ("nth", pa.int32())]
)


class BearerPage(msgspec.Struct, frozen=True):
    page: str
    title: str
    entity: str
    popularity: float | None = None
    person: bool = False


def bearer_table(tables: Tables, names: Sequence[SurfaceName]) -> Table:
    rows = [
        {"key": n.key, "page": page, "listed": place} for n in names for place, page in enumerate(n.pages)
    ]
    schema = pa.schema([("key", pa.string()), ("page", pa.string()), ("listed", pa.int32())])
    return tables.engine.table(pa.Table.from_pylist(rows, schema))


def bearer_pages(tables: Tables, bearers: Table) -> dict[str, BearerPage]:
    """Every bearer's page, entity and popularity (page views, else sitelinks, else unknown)."""
    pages = tables.pages.semi_join(bearers, "page").select("page", "title", "entity")
    views = tables.views.group_by("title").agg(views=tables.views.views.sum())
    links = tables.entities.select("entity", "sitelinks", "types")
    known = pages.left_join(views, "title").select("page", "title", "entity", "views")
    known = known.left_join(links, "entity")
    known = known.select("page", "title", "entity", "views", "sitelinks", "types")
    rows = list(tables.rows(known))
    by_views = any(row["views"] is not None for row in rows)
    return {
        row["page"]: BearerPage(
            row["page"],
            row["title"],
            row["entity"],
            None if popularity is None else float(popularity),
            "Q5" in (row["types"] or ()),
        )
        for row in rows
        for popularity in [row["views"] or 0 if by_views else row["sitelinks"]]
    }


def shared_facts(tables: Tables, bearers: Table, properties: Sequence[str] = ()) -> pa.Table:
    """Facts of a name's bearers whose property at least two of them have, ordered by page."""
    facts = tables.facts
    prop = facts["property"]
    asked = prop.isin(list(properties)) if properties else prop.notin(NOT_ASKED)
    facts = facts.filter(facts["rank"] != "deprecated", facts.kind.isin(KINDS), asked)
    borne = bearers.inner_join(tables.pages.select("page", "entity"), "page").inner_join(facts, "entity")
    counted = borne.group_by(["key", "property"]).agg(having=borne.entity.nunique())
    several = counted.filter(counted.having >= 2).select("key", "property")
    kept = borne.semi_join(several, ["key", "property"])
    columns = ("property", "kind", "value", "unit", "precision", "rank")
    batches = tables.engine.batches(kept.select("key", "page", *columns, nth=kept["place"]))
    table = pa.Table.from_batches(batches, schema=_FACTS)
    order = ("page", "key", "property", "nth", "kind", "value")
    return table.sort_by([(column, "ascending") for column in order])


def value_labels(tables: Tables, ids: Sequence[str], language: str) -> dict[str, tuple[str, ...]]:
    wanted = tables.listed("entity", ids)
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    labels: dict[str, dict[str, None]] = {}
    listed = names.semi_join(wanted, "entity").select("entity", "place", "name")
    for row in tables.rows(listed.order_by("entity", "place", "name")):
        labels.setdefault(row["entity"], {}).setdefault(row["name"])
    return {entity: tuple(names) for entity, names in labels.items()}


def common_values(tables: Tables, properties: Sequence[str]) -> dict[str, list[str]]:
    """The most frequent values of each property that are entities, in the whole knowledge base.

    They are looked for on pages, besides the bearer's own.
    """
    facts = tables.facts.filter(
        tables.facts["property"].isin(list(properties)), tables.facts.kind == "entity"
    )
    frequent = frequent_values(facts).order_by("property", "frequency_rank")
    return grouped(
        (row["property"], row["value"]) for row in tables.rows(frequent.select("property", "value"))
    )


# Date, place and cause of death, killer, and end of an organisation.
ENDED = ("P570", "P20", "P509", "P157", "P576")


def ended(tables: Tables, bearers: Table) -> frozenset[str]:
    facts = tables.facts.filter(tables.facts["property"].isin(list(ENDED))).select("entity")
    pages = tables.pages.semi_join(bearers, "page").semi_join(facts, "entity").select("page")
    return frozenset(row["page"] for row in tables.rows(pages))


UNTIL = {"train": 0.7, "dev": 0.8, "test": 1.0}  # All questions about one name are in one split


class StatedValue(NamedTuple):
    """One value of a fact: how it is written, as the page has it first, and the passage that states it."""

    forms: tuple[str, ...]
    passage: str


class BearerStatement(msgspec.Struct, frozen=True):
    """One bearer's own answer, whatever else is right, and the passage that states it.

    `values` are all values of the fact that the page states, any of which can be the answer; `past` says
    that the bearer's life or existence has ended.
    """

    bearer: BearerPage
    answer: str
    aliases: tuple[str, ...]
    passage: str
    values: tuple[StatedValue, ...] = ()
    past: bool = False

    @property
    def accepted(self) -> frozenset[str]:
        return frozenset(map(normalize, (self.answer, *self.aliases)))

    def answered_by(self, value: StatedValue) -> BearerStatement:
        answer, *aliases = dict.fromkeys([*value.forms, self.answer, *self.aliases])
        return msgspec.structs.replace(self, answer=answer, aliases=tuple(aliases), passage=value.passage)


class BuiltQuestion(msgspec.Struct, frozen=True):
    """A question about a name; `property` None: a model wrote it."""

    name: SurfaceName
    property: str | None
    question: str
    statements: tuple[BearerStatement, ...]


def built_queries(built: Sequence[BuiltQuestion], seed: int, language: str = "en") -> list[Query]:
    splits = split_names((question.name.key for question in built), seed)
    queries = [_query(question, splits[question.name.key], language) for question in built]
    return sorted(queries, key=lambda q: ([*UNTIL].index(q.attributes["split"]), q.id))


def _query(question: BuiltQuestion, split: str, language: str) -> Query:
    outputs = tuple(
        Output(
            answer=statement.answer,
            aliases=statement.aliases,
            entity=statement.bearer.entity,
            provenance=(
                (
                    Provenance(
                        page=page_of(statement.passage),
                        passage=statement.passage,
                        title=statement.bearer.title,
                    ),
                ),
            ),
            attributes={"popularity": statement.bearer.popularity},
        )
        for statement in question.statements
    )
    return Query(
        id=f"{set_id(question.name.name)}/{question.property or 'question'}",
        task=TASK,
        input=question.question,
        language=language,
        outputs=outputs,
        name=question.name.name,
        name_set=set_id(question.name.name),
        relation=question.property,
        attributes={"split": split, "bearers": len(outputs)},
    )


def built_sets(built: Sequence[BuiltQuestion], about: Mapping[str, BearerPage]) -> list[NameSet]:
    names = {question.name.key: question.name for question in built}
    return [
        NameSet(
            id=set_id(name.name),
            name=name.name,
            collection=TASK,
            bearers=_ranked([about[page] for page in name.pages]),
        )
        for name in names.values()
    ]


def _ranked(pages: Sequence[BearerPage]) -> tuple[Bearer, ...]:
    known = all(page.popularity is not None for page in pages)
    ranked = sorted(pages, key=lambda p: (-(p.popularity or 0.0), p.page)) if known else pages
    return tuple(
        Bearer(
            entity=page.entity,
            label=page.title,
            role=None if not known else "head" if rank == 0 else "tail",
            popularity=page.popularity,
            pages=(page.page,),
        )
        for rank, page in enumerate(ranked)
    )


def split_names(names: Iterable[str], seed: int = 0) -> dict[str, str]:
    """The split of every name: 70 % train, 10 % dev, 20 % test, by a hash of seed and name."""
    order = sorted(set(names), key=lambda name: (hashlib.sha256(f"{seed}\0{name}".encode()).digest(), name))
    ends = [round(until * len(order)) for until in UNTIL.values()]
    return {name: [*UNTIL][bisect(ends, place)] for place, name in enumerate(order)}
