"""One name as the paper's Figure 3 draws it: bearers, their facts, and why facts were dropped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whichone.benchmarks.relations import Account
from whichone.errors import BadInput, sample
from whichone.papers.amber.alignment import value_book
from whichone.papers.amber.collection import NAME_SLOT, OBJECT_SLOT, popularity_gap
from whichone.papers.amber.distinguishing import USERS, Pipeline
from whichone.papers.amber.instantiate import MADE_UP, TASKS, Instantiation
from whichone.papers.amber.sets import amber_sets, bearer_pages, property_labels
from whichone.records import grouped


def check_before(pipeline: Pipeline, where: str) -> Account:
    """Raise on what makes a build senseless, remark on what it will have to do without."""
    account = Account(steps=[], remarks=[])
    if wrong := [*_missing(pipeline), *_types(pipeline, account), *_properties(pipeline, account)]:
        raise BadInput("; ".join(wrong), file=where)
    names = pipeline.tables.names
    marked = names.filter(names.name.contains(NAME_SLOT) | names.name.contains(OBJECT_SLOT))
    if slots := sorted({name for (name,) in pipeline.tuples(marked.select("name").limit(100))}):
        rewritten = "rewritten as the released program does"
        done = rewritten if pipeline.rules.name == "published" else "filled in as they are"
        account.remark(f"names that contain a template's slot: {sample(slots)}; they are {done}")
    if not pipeline.ranked:
        account.remark("there is no popularity: no head, no tail, no gap")
    return account


def _missing(pipeline: Pipeline) -> Iterator[str]:
    tables = pipeline.tables
    needed = {"views": tables.views, "links": tables.links}.get(pipeline.popularity)
    if needed is not None and not pipeline.number(needed.limit(1).count()):
        yield (
            f"the knowledge base has no {pipeline.popularity}, by which heads and tails are distinguished "
            "(ingest them, or build with --popularity sitelinks, links or none)"
        )
    anchors = tables.names.filter(tables.names.kind == "anchor").limit(1)
    if pipeline.rules.min_name_share and not pipeline.number(anchors.count()):
        yield "the knowledge base has no link texts, by which --min-name-share weighs names"
    if not pipeline.number(tables.pages.limit(1).count()):
        yield "the knowledge base has no pages (ingest --pages)"
    if not pipeline.number(pipeline.naming().limit(1).count()):
        named = tables.names.filter(tables.names.kind.isin(["label", "alias"]))
        known = sorted(str(language) for (language,) in pipeline.tuples(named.select("language").distinct()))
        yield (
            f"nothing has a name in {pipeline.language!r}, only in {sample(known) or 'no language'} "
            "(--language names one of them)"
        )


def _types(pipeline: Pipeline, account: Account) -> Iterator[str]:
    entities, types = pipeline.tables.entities, pipeline.collection.types
    kinds = {f"n{n}": entities.types.contains(t.id).fill_null(False) for n, t in enumerate(types.values())}
    counts = next(pipeline.tuples(entities.agg(**{n: kind.cast("int64").sum() for n, kind in kinds.items()})))
    unknown = [f"{key} ({t.id})" for (key, t), n in zip(types.items(), counts, strict=True) if not n]
    if len(unknown) == len(types):
        yield f"no entity is of a type of the collection: {sample(unknown, 10)}"
    elif unknown:
        account.remark(f"no entity is of the type {', '.join(unknown)}")


def _properties(pipeline: Pipeline, account: Account) -> Iterator[str]:
    collection, tables = pipeline.collection, pipeline.tables
    wanted = collection.property_ids
    labelled = tables.properties.filter(
        tables.properties["property"].isin(wanted), tables.properties.label.notnull()
    )
    labels = dict(pipeline.tuples(labelled.select("property", "label")))
    for prop in wanted:
        if collection.templates(prop).questions.get(pipeline.language):
            continue
        if pipeline.language not in MADE_UP:
            yield (
                f"{prop} has no question templates in {pipeline.language!r}, and English ones are not mixed with"
                " its names (write `questions` and `claims` of the language into the collection)"
            )
        elif not (labels.get(prop) or collection.label(prop)):
            yield f"{prop} has neither a label nor question templates in {pipeline.language!r}"
        else:
            account.remark(f"{prop} has no templates: its questions are made from its label")
    used = tables.facts.filter(tables.facts["property"].isin((*wanted, *USERS)))
    having = {prop for (prop,) in pipeline.tuples(used.select("property").distinct())}
    without = [prop for prop in wanted if prop not in having]
    if len(without) == len(wanted):
        yield (
            f"no fact has a property of the collection: {sample(list(wanted), 20)} "
            "(were they left out when the dump was ingested?)"
        )
    elif without:
        account.remark(f"no fact has the property {', '.join(without)}")


def print_figure(figure: NameFigure) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(figure.name, style="bold"))
    for bearer in figure.bearers:
        style = {"head": "bold red", "tail": "bold blue"}.get(bearer.role or "", "bold")
        parts = [f"{bearer.label} ({bearer.entity})", bearer.role]
        if bearer.popularity is not None:
            parts.append(f"popularity {bearer.popularity:,.0f}")
        if bearer.dropped:
            style = "bright_black"
            parts.append(f"[{bearer.dropped}]")
        branch = tree.add(Text(", ".join(filter(None, parts)), style=style))
        for fact in bearer.facts:
            line = f"{fact.label} ({fact.property}): {', '.join(fact.values)}"
            if fact.dropped:
                branch.add(Text(f"{line}  [{fact.dropped}]", style="bright_black"))
                continue
            leaf = branch.add(Text(line))
            for query in fact.queries:
                leaf.add(Text(query, style="italic"))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, 140))
    console.print(tree)
    console.print(Text(figure.verdict))


class DrawnFact(msgspec.Struct):
    """A property and its values; `dropped` says why, where it asks nothing."""

    property: str
    label: str
    values: list[str]
    dropped: str | None = None
    queries: list[str] = []


class DrawnBearer(msgspec.Struct):
    entity: str
    label: str
    role: str | None
    popularity: float | None
    facts: list[DrawnFact] = []
    dropped: str | None = None


class NameFigure(msgspec.Struct):
    name: str
    bearers: list[DrawnBearer]
    verdict: str


def draw(pipeline: Pipeline, name: str, where: str) -> NameFigure:
    account = check_before(pipeline, where)
    pipeline.every_set = True
    pipeline.run(only=name)
    if not (bearers := _bearers(pipeline)):
        raise BadInput(f"no two entities of the collection's types are called {name!r}", file=where)
    rules = pipeline.rules
    if pipeline.ranked:
        leads = pipeline.relations["leads"].select("first", "second")
        if (gap := popularity_gap(rules, *next(pipeline.tuples(leads)))) < rules.gap:
            short = f"no set: the head leads by {gap:.1%}, which is less than {rules.gap:.0%}"
            return NameFigure(name, bearers, short)
    book = value_book(pipeline)
    labels = property_labels(pipeline, account)
    nothing = Account(steps=[], remarks=[])
    sets = amber_sets(pipeline, book, nothing)
    within, pages = {b.entity for s in sets for b in s.bearers}, bearer_pages(pipeline)
    for bearer in bearers:
        if bearer.dropped is None and bearer.entity not in within:
            bearer.role = None
            more_popular = "a bearer of the same type is more popular"
            bearer.dropped = more_popular if bearer.entity in pages else "there is no page about it"
    # The queries of every fact that survives alignment, whether or not the set does.
    kept = grouped(
        ((query.entity, query.relation), f"{query.task.upper()}  {query.input}")
        for query in Instantiation(pipeline, book, sets, nothing).queries(TASKS)
    )
    facts = pipeline.relations["bearer_facts"]
    rows = sorted(pipeline.tuples(facts.select("entity", "place", "property", "kind", "value", "listed")))
    held: dict[str, set[str]] = {}
    for entity, _, prop, *_ in rows:
        held.setdefault(prop, set()).add(entity)
    for entity, _, prop, kind, value, listed in rows:
        having = len(held[prop])
        bearer = next(b for b in bearers if b.entity == entity)
        if (drawn := next((f for f in bearer.facts if f.property == prop), None)) is None:
            drawn = DrawnFact(prop, labels[prop], [], queries=kept.get((entity, prop), []))
            bearer.facts.append(drawn)
            if prop == pipeline.collection.qualifier:
                drawn.dropped = "tells it apart, is not asked for"
            elif not listed:
                drawn.dropped = "not asked of this type"
            elif having > 1 and not pipeline.collection.qualifier:
                drawn.dropped = f"{having} bearers have it"
            elif bearer.dropped:
                drawn.dropped = "its bearer is not in the set"
            elif not drawn.queries:
                drawn.dropped = f"not in the first {rules.tokens} tokens of a page, or without a name"
        known = book.value(kind, value)
        drawn.values.append(known.names[0] if known is not None else value)
    return NameFigure(name, bearers, _verdict(bearers, pipeline))


def _bearers(pipeline: Pipeline) -> list[DrawnBearer]:
    about = pipeline.tables.entities.select("entity", "label")
    relation = pipeline.relations["bearers"].inner_join(about, "entity")
    rows = relation.select("entity", "label", "popularity", "typed", "position")
    bearers = []
    ordered = sorted(pipeline.tuples(rows), key=lambda row: (-(row[2] or 0), row[4]))
    sets = pipeline.relations["set_bearers"]
    heads = {entity for (entity,) in pipeline.tuples(sets.filter(sets.is_head).select("entity"))}
    for entity, label, popularity, typed, _ in ordered:
        role = None
        if typed and pipeline.ranked:
            role = "head" if entity in heads else "tail"
        dropped = None if typed else "of a type that the collection does not have"
        bearers.append(DrawnBearer(entity, label or entity, role, popularity, [], dropped))
    return bearers


def _verdict(bearers: list[DrawnBearer], pipeline: Pipeline) -> str:
    queried = [b for b in bearers if any(f.queries for f in b.facts)]
    if len(queried) < 2:
        return f"no set: {len(queried)} bearer keeps a fact, two are needed"
    if pipeline.ranked and not any(b.role == "head" for b in queried):
        return "no set: the head keeps no fact"
    count = sum(bool(f.queries) for b in queried for f in b.facts)
    typed = sum(b.dropped is None for b in bearers)
    verdict = f"a set of {typed} bearers, {len(queried)} with queries about {count} facts"
    if pipeline.rules.false_value == "tuples":
        verdict += "; false claims are chosen among all sets, so none is drawn"
    return verdict
