"""Puts candidate sets, values and aligned pages together into AmbER sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from whichone.benchmarks.relations import EXAMPLES, Account, Step
from whichone.papers.amber import collection
from whichone.papers.amber.alignment import Aligned, Key, ValueBook, align, tuple_id
from whichone.papers.amber.distinguishing import Pipeline

if TYPE_CHECKING:
    from ibis.expr.types import Table


class FactRow(msgspec.Struct, frozen=True):
    """One statement of a distinguishing property, in the order of the dump."""

    place: int
    property: str
    kind: str
    value: str
    unit: str | None


class CandidateBearer(msgspec.Struct):
    """A typed bearer of a name, its distinguishing facts by property in the order of the dump."""

    position: int
    entity: str
    spelling: str
    label: str | None
    types: tuple[str, ...]
    popularity: float | None
    is_head: bool
    facts: dict[str, list[FactRow]] = {}
    qualifier: tuple[str, str] | None = None  # kind and value of what tells it from its namesakes


class CandidateSet(msgspec.Struct):
    name: str
    bearers: list[CandidateBearer]


def alive(pipeline: Pipeline) -> Table:
    """Names that can still become a set: two bearers with distinguishing facts, a head among them."""
    if pipeline.every_set:
        return pipeline.keep("alive", pipeline.relations["set_bearers"].select("grouped").distinct())
    facts = pipeline.relations["distinguishing_facts"]
    ends = facts.group_by("grouped").agg(low=facts.position.min(), high=facts.position.max())
    several = ends.filter(ends.low != ends.high).select("grouped")
    if not pipeline.ranked:
        return pipeline.keep("alive", several)
    bearers = pipeline.relations["set_bearers"]
    heads = bearers.filter(bearers.is_head).select("grouped", "entity")
    headed = facts.semi_join(heads, ["grouped", "entity"]).select("grouped").distinct()
    return pipeline.keep("alive", several.semi_join(headed, "grouped"))


def candidate_sets(pipeline: Pipeline, account: Account) -> list[CandidateSet]:
    """The sets of the names still alive, sorted by name; bearers and facts in the order of the dump."""
    living, facts = alive(pipeline), pipeline.relations["distinguishing_facts"]
    facts = facts.semi_join(living, "grouped")
    if not pipeline.every_set:  # names that cannot become a set go with all their statements
        name = f"two bearers keep a statement{', the head among them' if pipeline.ranked else ''}"
        account.after(name, "names", pipeline.count("alive"))
        account.after(name, "statements", pipeline.number(facts.count()))
    grouped: dict[str, dict[str, CandidateBearer]] = {}
    leads: dict[str, tuple[float, float]] = {}
    bearers = pipeline.relations["set_bearers"].semi_join(living, "grouped").drop("kinds")
    about = pipeline.tables.entities.select("entity", "types", "label")
    rows = pipeline.tuples(bearers.inner_join(about, "entity"))
    for key, spelling, entity, position, popularity, first, second, head, types, label in rows:
        leads[key] = (first, second)
        grouped.setdefault(key, {})[entity] = CandidateBearer(
            position, entity, spelling, label, tuple(types or ()), popularity, head, {}
        )
    facts = facts.select("grouped", "entity", "place", "property", "kind", "value", "unit")
    for key, entity, *fact in pipeline.tuples(facts):
        row = FactRow(*fact)
        grouped[key][entity].facts.setdefault(row.property, []).append(row)
    if "qualifiers" in pipeline.relations:
        at = {(key, c.position): c for key, members in grouped.items() for c in members.values()}
        qualified = pipeline.relations["qualifiers"].semi_join(living, "grouped")
        for key, position, kind, value in pipeline.tuples(
            qualified.select("grouped", "low", "kind", "value")
        ):
            at[key, position].qualifier = (kind, value)
    if pipeline.ranked:
        _exact_gap(pipeline, account, grouped, leads)
    sets = [_candidate_set(key, members, pipeline) for key, members in grouped.items()]
    account.after("statements of one bearer and property are one fact", "facts", _number(sets))
    account.after("of these names", "bearers", sum(len(s.bearers) for s in sets))
    if pipeline.rules.different_types and pipeline.collection.different_types:
        sets = _of_different_types(sets, pipeline, account)
        account.after("of these bearers", "facts", _number(sets))
    return sorted(sets, key=lambda candidate: candidate.name)


def _exact_gap(
    pipeline: Pipeline,
    account: Account,
    grouped: dict[str, dict[str, CandidateBearer]],
    leads: dict[str, tuple[float, float]],
) -> None:
    """Remove the names that only an engine's rounding let through."""
    rules = pipeline.rules
    rounded = [key for key, lead in leads.items() if collection.popularity_gap(rules, *lead) < rules.gap]
    for key in rounded:
        del grouped[key]
    if rounded:
        name = "the head leads by that much before rounding"
        account.after(name, "names", len(grouped)).examples = rounded[:EXAMPLES]
        rows = (f for m in grouped.values() for c in m.values() for f in c.facts.values())
        account.after(name, "statements", sum(map(len, rows)))


def _number(sets: list[CandidateSet]) -> int:
    """Facts: bearers of a name with a property, however many statements there are of it."""
    return sum(len(c.facts) for candidate in sets for c in candidate.bearers)


def _candidate_set(key: str, members: dict[str, CandidateBearer], pipeline: Pipeline) -> CandidateSet:
    ordered = sorted(members.values(), key=lambda c: c.position)
    for candidate in ordered:
        rows = {prop: sorted(facts, key=lambda fact: fact.place) for prop, facts in candidate.facts.items()}
        candidate.facts = dict(sorted(rows.items(), key=lambda item: item[1][0].place))
    if pipeline.rules.same_name == "exact":
        return CandidateSet(key, ordered)
    # The name is written as most bearers write it, else as the most popular of those bearers does.
    times = Counter(c.spelling for c in ordered)
    name = min(ordered, key=lambda c: (-times[c.spelling], -(c.popularity or 0), c.spelling)).spelling
    return CandidateSet(name, ordered)


def _of_different_types(sets: list[CandidateSet], pipeline: Pipeline, account: Account) -> list[CandidateSet]:
    """Within a set no two bearers of one of the collection's types: the more popular one stays.

    Properties were counted before, so a property that a removed bearer shares asks nothing either.
    """
    step = account.step("a bearer of the same type is more popular", "bearers")
    known = {t.id for t in pipeline.collection.types.values()}
    for candidate_set in sets:
        taken: set[str] = set()
        kept = []
        for c in sorted(candidate_set.bearers, key=lambda c: (-(c.popularity or 0), c.position)):
            own = known.intersection(c.types)
            if own & taken:
                step.remove(f"{candidate_set.name}: {c.entity} ({c.label})")
            else:
                kept.append(c)
                taken |= own
        step.kept += len(kept)
        candidate_set.bearers = sorted(kept, key=lambda c: c.position)
    return sets


Facts = dict[Key, tuple[collection.AmberValue, ...]]


def amber_sets(pipeline: Pipeline, book: ValueBook, account: Account) -> list[collection.AmberSet]:
    """Everything after the relational steps: values, alignment, and which sets survive."""
    candidates = candidate_sets(pipeline, account)
    facts = _facts(candidates, book, account)
    stated = align(facts, book, pipeline.engine, pipeline.pages(), pipeline.rules)
    pages = bearer_pages(pipeline)
    living = pipeline.relations["set_bearers"].semi_join(pipeline.relations["alive"], "grouped")
    names = pipeline.names_of(living, "entity")
    labels = property_labels(pipeline, account)
    lost = account.step("the bearer has a page", "bearers")
    placed = account.step("the bearer has a page", "facts")
    aligned = account.step(f"a value stands in the first {pipeline.rules.tokens} tokens of a page", "facts")
    ranked = pipeline.ranked
    whole = account.step(f"two bearers keep a fact{', the head among them' if ranked else ''}", "names")
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
            own = book.value(*c.qualifier) if c.qualifier is not None else None
            bearers.append(
                collection.AmberBearer(
                    entity=c.entity,
                    label=c.label or c.spelling,
                    popularity=c.popularity,
                    is_head=c.is_head,
                    names=tuple(names.get(c.entity, ())),
                    types=c.types,
                    tuples=tuple(_tuples(candidate.name, c, facts, stated, labels, aligned)),
                    pages=pages[c.entity],
                    qualifier=own.names[0] if own is not None else "",
                )
            )
        amber_set = collection.AmberSet(name=candidate.name, bearers=tuple(bearers))
        asked, queried = sum(len(b.tuples) for b in bearers), amber_set.queried
        survives = len(queried) > 1 and (not ranked or any(b.is_head for b in queried))
        if pipeline.every_set or survives:
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
    named = ((candidate.name, c) for candidate in candidates for c in candidate.bearers)
    for name, c in named:
        for prop, rows in c.facts.items():
            key = (c.entity, prop)
            if key not in facts:
                values = (book.value(row.kind, row.value, row.unit) for row in rows)
                facts[key] = tuple(value for value in values if value is not None)
            if facts[key]:
                step.kept += 1
            else:
                step.remove(f"{name}: {c.entity} {prop}")
    return {key: values for key, values in facts.items() if values}


def _tuples(
    name: str,
    c: CandidateBearer,
    facts: Facts,
    stated: Mapping[Key, Aligned],
    labels: Mapping[str, str],
    step: Step,
) -> Iterator[collection.AmberTuple]:
    for prop in c.facts:
        if (values := facts.get((c.entity, prop))) is None:
            continue
        if (aligned := stated.get((c.entity, prop))) is None:
            step.remove(f"{name}: {c.entity} {prop} {values[0].names[0]}")
            continue
        step.kept += 1
        yield collection.AmberTuple(
            id=tuple_id(name, c.entity, prop),
            property=prop,
            label=labels[prop],
            values=tuple(
                msgspec.structs.replace(value, found=hit)
                for value, hit in zip(values, aligned.found, strict=True)
            ),
            pages=aligned.pages,
        )


def bearer_pages(pipeline: Pipeline) -> dict[str, tuple[collection.PageRef, ...]]:
    bearers = pipeline.relations["set_bearers"].semi_join(pipeline.relations["alive"], "grouped")
    pages = pipeline.pages()
    pages = pages.semi_join(bearers, "entity").select("entity", "position", "page", "title")
    refs: dict[str, tuple[collection.PageRef, ...]] = {}
    for entity, _, page, title in pipeline.tuples(pages.order_by("entity", "position")):
        refs[entity] = (*refs.get(entity, ()), collection.PageRef(page, title))
    return refs


def property_labels(pipeline: Pipeline, account: Account) -> dict[str, str]:
    """What each property is called: in the knowledge base, else in the collection, else its id."""
    table = pipeline.tables.properties
    wanted = pipeline.collection.wanted
    known = dict(pipeline.tuples(table.filter(table["property"].isin(wanted)).select("property", "label")))
    labels = {}
    for prop in wanted:
        labels[prop] = known.get(prop) or pipeline.collection.label(prop) or prop
        if not known.get(prop):
            account.remark(
                f"{prop} has no label in the knowledge base; slot filling calls it "
                f"{labels[prop]!r} (the released program stops here)"
            )
    return labels


def relational_steps(pipeline: Pipeline, account: Account) -> None:
    """Steps for the filters that ran inside the engine, with a few of what they removed."""
    relations, qualifier = pipeline.relations, pipeline.collection.qualifier

    def names(relation: str) -> int:
        return pipeline.number(relations[relation].grouped.nunique())

    def examples(removed: Table, pattern: str, *columns: str) -> list[str]:
        some = removed.select(*columns).distinct().order_by(columns).limit(EXAMPLES)
        return [pattern.format(*row) for row in pipeline.tuples(some)]

    def step(name: str, unit: str, before: int, kept: int, removed: list[str]) -> None:
        account.step(name, unit, kept, before - kept, removed)

    borne = "used_namings" if "used_namings" in relations else "namings"
    if borne == "used_namings":
        account.after("repeated", "names", names("namings"))
        share = f"{pipeline.rules.min_name_share:.1%} of the links to the bearer use the name"
        gone = relations["namings"].anti_join(relations[borne], ["grouped", "bearer"])
        account.after(share, "names", names(borne)).examples = examples(gone, "{}: {}", "name", "bearer")
    known = f" that have {pipeline.popularity}" if pipeline.ranked else ""
    gone = relations[borne].anti_join(relations["shared_names"], "grouped")
    several, kept = f"two or more bearers of the collection's types{known}", pipeline.count("shared_names")
    step(several, "names", names(borne), kept, examples(gone, "{}", "grouped"))
    if pipeline.ranked:
        gone = relations["leads"].anti_join(relations["set_bearers"], "grouped")
        lead = f"the head leads by {pipeline.rules.gap:.0%} ({pipeline.rules.gap_scale})"
        step(lead, "names", pipeline.count("leads"), names("set_bearers"), examples(gone, "{}", "grouped"))
    facts, columns = relations["bearer_facts"], ("grouped", "entity", "property")
    facts = facts.filter(facts["property"] != qualifier) if qualifier else facts
    listed, kept = pipeline.number(facts.filter(facts.listed).count()), pipeline.count("distinguishing_facts")
    unlisted = examples(facts.filter(~facts.listed), "{}: {} {}", *columns)
    every = pipeline.number(facts.count())
    step("the property is listed for the bearer's type", "statements", every, listed, unlisted)
    if qualifier:
        step(f"{qualifier} tells the bearer apart", "statements", listed, kept, [])
        return
    gone = facts.filter(facts.listed).semi_join(relations["shared_properties"], ["grouped", "property"])
    shared = examples(gone, "{}: {} {}, which others have", *columns)
    step("no other bearer of the name has the property", "statements", listed, kept, shared)
