"""What can be known to be wrong before any work starts: the knowledge base against the collection."""

from __future__ import annotations

from collections.abc import Iterator

from whichone.benchmarks.relations import Account
from whichone.errors import BadInput, sample
from whichone.papers.amber.collection import NAME_SLOT, OBJECT_SLOT
from whichone.papers.amber.instantiate import MADE_UP
from whichone.papers.amber.names import naming
from whichone.papers.amber.relations import USERS, Pipeline


def check_before(pipeline: Pipeline, where: str) -> Account:
    """Raise on what makes a build senseless, remark on what it will have to do without."""
    account = Account(steps=[], remarks=[])
    wrong = [
        *_views(pipeline),
        *_language(pipeline),
        *_types(pipeline, account),
        *_properties(pipeline, account),
    ]
    if wrong:
        raise BadInput("; ".join(wrong), file=where)
    _slots(pipeline, account, where)
    if pipeline.popularity == "none":
        account.remark("there is no popularity: no head, no tail, no gap")
    return account


def _views(pipeline: Pipeline) -> Iterator[str]:
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


def _language(pipeline: Pipeline) -> Iterator[str]:
    tables = pipeline.tables
    spoken = naming(tables, pipeline.rules, pipeline.language)
    if pipeline.number(spoken.limit(1).count()):
        return
    named = tables.names.filter(tables.names.kind.isin(["label", "alias"]))
    known = sorted(
        str(language) for (language,) in pipeline.tuples(named.select("language").distinct())
    )
    yield (
        f"nothing has a name in {pipeline.language!r}, only in {sample(known) or 'no language'} "
        "(--language names one of them)"
    )


def _types(pipeline: Pipeline, account: Account) -> Iterator[str]:
    entities = pipeline.tables.entities
    types = pipeline.collection.types
    counted = entities.agg(
        **{
            f"n{n}": entities.types.contains(t.id).fill_null(False).cast("int64").sum()
            for n, t in enumerate(types.values())
        }
    )
    counts = next(pipeline.tuples(counted))
    unknown = [
        f"{key} ({t.id})" for (key, t), n in zip(types.items(), counts, strict=True) if not n
    ]
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
        if collection.questions(prop, pipeline.language):
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


def _slots(pipeline: Pipeline, account: Account, where: str) -> None:
    """Names that contain a slot would be rewritten when a template is filled."""
    names = pipeline.tables.names
    marked = names.filter(names.name.contains(NAME_SLOT) | names.name.contains(OBJECT_SLOT))
    all_names = sorted({name for (name,) in pipeline.tuples(marked.select("name").limit(100))})
    if not all_names:
        return
    said = f"names that contain a template's slot: {sample(all_names)}"
    if pipeline.rules.name == "published":
        account.remark(f"{said}; they are rewritten as the released program does")
    else:
        account.remark(f"{said}; they are filled in as they are")
