"""Puts candidate sets, values and aligned pages together into AmbER sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whichone.benchmarks.relations import Account, Step
from whichone.papers.amber.alignment import Aligned, Key, align
from whichone.papers.amber.candidates import (
    Candidate,
    CandidateSet,
    bearer_names,
    candidate_sets,
)
from whichone.papers.amber.model import AmberBearer, AmberSet, AmberTuple, PageRef, Value
from whichone.papers.amber.published import tuple_id
from whichone.papers.amber.relations import Pipeline
from whichone.papers.amber.values import ValueBook

Facts = dict[Key, tuple[Value, ...]]


def amber_sets(pipeline: Pipeline, book: ValueBook, account: Account) -> list[AmberSet]:
    """Everything after the relational steps: values, alignment, and which sets survive."""
    candidates = candidate_sets(pipeline, account)
    facts = _facts(candidates, book, account)
    stated = align(facts, pipeline.engine, pipeline.pages(), pipeline.rules)
    pages = bearer_pages(pipeline)
    names = bearer_names(pipeline)
    labels = property_labels(pipeline, account)
    lost = account.step("the bearer has a page", "bearers")
    placed = account.step("the bearer has a page", "facts")
    aligned = account.step(
        f"a value stands in the first {pipeline.rules.tokens} tokens of a page", "facts"
    )
    ranked = pipeline.popularity != "none"
    head = ", the head among them" if ranked else ""
    whole = account.step(f"two bearers keep a fact{head}", "names")
    left = account.step("of these names", "facts")
    sets = []
    for candidate in candidates:
        bearers = []
        for c in candidate.bearers:
            named = sum((c.entity, prop) in facts for prop in c.facts)
            if c.entity not in pages:
                lost.remove(f"{candidate.name}: {c.entity}")
                placed.removed += named
                continue
            lost.kept += 1
            placed.kept += named
            tuples = tuple(_tuples(candidate.name, c, facts, stated, labels, aligned))
            bearers.append(_bearer(c, tuples, pages[c.entity], names.get(c.entity, ()), book))
        amber_set = AmberSet(name=candidate.name, bearers=tuple(bearers))
        asked = sum(len(b.tuples) for b in amber_set.bearers)
        if pipeline.every_set or _survives(amber_set, ranked=ranked):
            whole.kept += 1
            left.kept += asked
            sets.append(amber_set)
        else:
            whole.remove(candidate.name)
            left.removed += asked
    return sets


def _facts(candidates: list[CandidateSet], book: ValueBook, account: Account) -> Facts:
    """The values of every candidate's facts; a value without a name is left out."""
    step = account.step("a value has a name", "facts")
    facts: Facts = {}
    for candidate in candidates:
        for c in candidate.bearers:
            for prop, rows in c.facts.items():
                key = (c.entity, prop)
                if key not in facts:
                    values = (book.value(row.kind, row.value, row.unit) for row in rows)
                    facts[key] = tuple(value for value in values if value is not None)
                if facts[key]:
                    step.kept += 1
                else:
                    step.remove(f"{candidate.name}: {c.entity} {prop}")
    return {key: values for key, values in facts.items() if values}


def _tuples(
    name: str,
    c: Candidate,
    facts: Facts,
    stated: Mapping[Key, Aligned],
    labels: Mapping[str, str],
    step: Step,
) -> Iterator[AmberTuple]:
    for prop in c.facts:
        values = facts.get((c.entity, prop))
        if values is None:
            continue
        aligned = stated.get((c.entity, prop))
        if aligned is None:
            step.remove(f"{name}: {c.entity} {prop} {values[0].names[0]}")
            continue
        step.kept += 1
        yield AmberTuple(
            id=tuple_id(name, c.entity, prop),
            property=prop,
            label=labels[prop],
            values=tuple(
                Value(
                    kind=value.kind,
                    value=value.value,
                    unit=value.unit,
                    names=value.names,
                    extra=value.extra,
                    types=value.types,
                    found=hit,
                )
                for value, hit in zip(values, aligned.found, strict=True)
            ),
            pages=aligned.pages,
        )


def _bearer(
    c: Candidate,
    tuples: tuple[AmberTuple, ...],
    pages: tuple[PageRef, ...],
    names: tuple[str, ...],
    book: ValueBook,
) -> AmberBearer:
    told_by = book.value(*c.qualifier) if c.qualifier is not None else None
    return AmberBearer(
        entity=c.entity,
        label=c.label or c.spelling,
        popularity=c.popularity,
        is_head=c.is_head,
        names=names,
        types=c.types,
        tuples=tuples,
        pages=pages,
        qualifier=told_by.names[0] if told_by is not None else "",
    )


def _survives(amber_set: AmberSet, *, ranked: bool) -> bool:
    queried = amber_set.queried
    return len(queried) > 1 and (not ranked or any(bearer.is_head for bearer in queried))


def bearer_pages(pipeline: Pipeline) -> dict[str, tuple[PageRef, ...]]:
    """The pages of every bearer of a living set, in the order of their source."""
    bearers = pipeline.relations["set_bearers"].semi_join(pipeline.relations["alive"], "grouped")
    pages = pipeline.pages()
    pages = pages.semi_join(bearers, "entity").select("entity", "position", "page", "title")
    all_pages: dict[str, list[tuple[int, PageRef]]] = {}
    for entity, position, page, title in pipeline.tuples(pages):
        all_pages.setdefault(entity, []).append((position, PageRef(page, title)))
    return {
        entity: tuple(ref for _, ref in sorted(rows, key=lambda row: row[0]))
        for entity, rows in all_pages.items()
    }


def property_labels(pipeline: Pipeline, account: Account) -> dict[str, str]:
    """What each property is called: in the knowledge base, else in the collection, else its id."""
    table = pipeline.tables.properties
    wanted = pipeline.collection.property_ids
    if pipeline.collection.qualifier:
        wanted = (*wanted, pipeline.collection.qualifier)
    known = dict(
        pipeline.tuples(table.filter(table["property"].isin(wanted)).select("property", "label"))
    )
    labels = {}
    for prop in wanted:
        labels[prop] = known.get(prop) or pipeline.collection.label(prop) or prop
        if not known.get(prop):
            account.remark(
                f"{prop} has no label in the knowledge base; slot filling calls it "
                f"{labels[prop]!r} (the released program stops here)"
            )
    return labels
