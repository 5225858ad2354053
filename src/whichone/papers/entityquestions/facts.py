"""What the builder asks of a knowledge base, as relations reduced before they become Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from whichone.benchmarks.relations import EXAMPLES, Account
from whichone.files.json_records import array_records

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Tables


Frequency = Literal["links", "views", "sitelinks"]


class Subject(msgspec.Struct, frozen=True):
    entity: str
    label: str
    page: str
    title: str
    frequency: float | None


class NameBearers(msgspec.Struct, frozen=True):
    """Who bears which name, and what is known of each bearer."""

    by_key: dict[str, tuple[str, ...]]
    types: dict[str, frozenset[str]]
    subjects: dict[str, Subject]


def facts_of(tables: Tables, relations: Sequence[str]) -> Table:
    """Facts of the relations whose value is an entity, deprecated ones left out."""
    facts = tables.facts
    facts = facts.filter(
        facts["property"].isin(list(relations)), facts.kind == "entity", facts["rank"] != "deprecated"
    )
    return facts.select("entity", "property", "value", nth=facts["place"])


def with_article(tables: Tables) -> Table:
    """The entities (a column `entity`) that have a label and an article."""
    pages, entities = tables.pages, tables.entities
    articles = pages.filter(pages.kind == "article", pages.entity.notnull()).select("entity")
    labelled = entities.filter(entities.label.notnull(), entities.label != "").select("entity")
    return labelled.semi_join(articles, "entity")


def without_article(tables: Tables, facts: Table) -> tuple[int, list[str]]:
    lost = facts.select("property", "entity").distinct().anti_join(with_article(tables), "entity")
    first = tables.rows(lost.order_by("property", "entity").limit(EXAMPLES))
    examples = [f"{row['property']}:{row['entity']}" for row in first]
    return int(tables.engine.value(lost.count())), examples


def subjects(tables: Tables, entities: Table, frequency: Frequency) -> dict[str, Subject]:
    """Those of `entities` (a column `entity`) that have a label and an article; the first where two."""
    pages = tables.pages
    pages = pages.filter(pages.kind == "article", pages.entity.notnull())
    pages = pages.group_by("entity").agg(page=pages.page.min())
    pages = pages.inner_join(tables.pages.select("page", "title"), "page")
    known = tables.entities.select("entity", "label", "sitelinks").semi_join(entities, "entity")
    joined = known.inner_join(pages, "entity").left_join(_frequencies(tables, frequency), "page")
    chosen = joined.select("entity", "label", "page", "title", "sitelinks", "met")
    return {
        row["entity"]: Subject(
            row["entity"], row["label"], row["page"], row["title"], _frequency(row, frequency)
        )
        for row in tables.rows(chosen)
        if row["label"]
    }


def _frequency(row: dict[str, Any], frequency: Frequency) -> float | None:
    if frequency == "sitelinks":
        return None if row["sitelinks"] is None else float(row["sitelinks"])
    return float(row["met"] or 0)


def _frequencies(tables: Tables, frequency: Frequency) -> Table:
    """How often each page is met: links to it, or views of it."""
    if frequency == "views":
        viewed = tables.views.group_by("title").agg(met=tables.views.views.sum())
        return tables.pages.select("page", "title").inner_join(viewed, "title").select("page", "met")
    links = tables.links.filter(tables.links.target_page.notnull())
    return links.group_by(page="target_page").agg(met=links.count())


def names_of(tables: Tables, entities: Table, language: str) -> dict[str, tuple[str, ...]]:
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    listed = names.semi_join(entities, "entity").select("entity", "kind", "place", "name")
    all_names: dict[str, dict[str, None]] = {}
    ordered = sorted(
        tables.rows(listed), key=lambda r: (r["entity"], r["kind"] != "label", r["place"], r["name"])
    )
    for row in ordered:
        all_names.setdefault(row["entity"], {}).setdefault(row["name"])
    return {entity: tuple(spellings) for entity, spellings in all_names.items()}


def having(tables: Tables, facts: Table, bearers: NameBearers) -> dict[str, frozenset[str]]:
    own = facts.semi_join(tables.listed("entity", bearers.types), "entity")
    return _grouped(tables, own.select(key="property", value="entity"))


def bearers_of(tables: Tables, keys: Iterable[str], language: str, frequency: Frequency) -> NameBearers:
    """The entities that share one of the names (by `name_key`) as label or alias with another."""
    wanted = tables.listed("key", keys)
    names = tables.names
    names = names.filter(names.kind.isin(["label", "alias"]), names.language == language)
    borne = names.semi_join(wanted, "key").select("key", "entity").distinct()
    several = borne.group_by("key").agg(bearers=borne.count())
    borne = borne.semi_join(several.filter(several.bearers > 1), "key")
    by_key = _grouped(tables, borne.select("key", value="entity"))
    entities = borne.select("entity").distinct()
    return NameBearers(
        {key: tuple(sorted(members)) for key, members in by_key.items()},
        tables.types_of(entities),
        subjects(tables, entities, frequency),
    )


def types_with(tables: Tables, facts: Table) -> dict[str, frozenset[str]]:
    entities = tables.entities.select("entity", "types")
    having = facts.select("entity", "property").distinct().inner_join(entities, "entity")
    return _grouped(tables, having.select(key="property", value=having.types.unnest()))


def _grouped(tables: Tables, pairs: Table) -> dict[str, frozenset[str]]:
    """The values of each key."""
    groups: dict[str, set[str]] = {}
    for row in tables.rows(pairs.distinct()):
        groups.setdefault(row["key"], set()).add(row["value"])
    return {key: frozenset(values) for key, values in groups.items()}


class Object(msgspec.Struct, frozen=True):
    id: str
    label: str
    aliases: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


class EntityFact(msgspec.Struct, frozen=True):
    """Subject and relation with all objects; `frequency` is how often the subject is met.

    `evidence` are the passages (from 0) of the subject's page that contain an answer.
    """

    subject: str
    name: str
    relation: str
    objects: tuple[Object, ...]
    page: str
    title: str
    frequency: float | None = None
    evidence: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.relation}:{self.subject}"

    def answers(self) -> tuple[str, ...]:
        """Labels first, then aliases, each once."""
        names = [o.label for o in self.objects] + [a for o in self.objects for a in o.aliases]
        return tuple(dict.fromkeys(names))


Triple = tuple[str, str, str]


class _Mention(msgspec.Struct):
    uri: str | None = None


class _Aligned(msgspec.Struct):
    subject: _Mention
    predicate: _Mention
    object: _Mention


class _Document(msgspec.Struct):
    triples: list[_Aligned]


def read_triples(paths: Iterable[str | Path]) -> set[Triple]:
    """Subject, property and object ids of every triple that is aligned with a sentence."""
    triples = set()
    documents = (document for path in paths for document in array_records(path, _Document))
    for aligned in (aligned for document in documents for aligned in document.triples):
        mentions = (aligned.subject, aligned.predicate, aligned.object)
        subject, predicate, value = (_identifier(mention.uri) for mention in mentions)
        if subject and predicate and value:
            triples.add((subject, predicate, value))
    return triples


def _identifier(uri: str | None) -> str | None:
    """`Q42` of `http://www.wikidata.org/entity/Q42`; dates and numbers have none."""
    last = uri.rpartition("/")[2] if uri else ""
    return last if last[:1] in ("Q", "P") and last[1:].isdigit() else None


def named_facts(
    values: Mapping[tuple[str, str], Sequence[str]],
    names: Mapping[str, Sequence[str]],
    subjects: Mapping[str, Subject],
    account: Account,
    lost: tuple[int, Sequence[str]],
) -> list[EntityFact]:
    """Facts from `values`, the object ids by (relation, subject); `lost` are those without an article.

    Objects without a name in the language are left out; a fact left without objects is too.
    """
    with_page = account.step("subject has a label and an article", "facts")
    with_page.kept, with_page.removed, with_page.examples = len(values), lost[0], [*lost[1]]
    with_names = account.step("an object has a name in the language", "facts")
    facts = []
    for (relation, entity), ids in sorted(values.items()):
        subject = subjects[entity]
        objects = tuple(
            Object(identity, names[identity][0], tuple(names[identity][1:]))
            for identity in dict.fromkeys(ids)
            if names.get(identity)
        )
        if not objects:
            with_names.remove(f"{relation}:{entity}")
            continue
        with_names.kept += 1
        facts.append(
            EntityFact(
                subject=entity,
                name=subject.label,
                relation=relation,
                objects=objects,
                page=subject.page,
                title=subject.title,
                frequency=subject.frequency,
            )
        )
    return facts


def stated(
    facts: Sequence[EntityFact], by: str, seen: Mapping[str, tuple[int, ...]], account: Account
) -> list[EntityFact]:
    """The facts whose keys were `seen`, with their passages; `by` is what the filter is called."""
    step = account.step(by, "facts")
    kept = [msgspec.structs.replace(f, evidence=seen[f.key]) for f in facts if f.key in seen]
    for fact in (fact for fact in facts if fact.key not in seen):
        step.remove(f"{fact.key} {fact.name}")
    step.kept = len(kept)
    return kept
