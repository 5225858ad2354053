"""The rows that the relational steps leave, as plain records: sets that may turn into AmbER sets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from whichone.benchmarks.relations import EXAMPLES, Account
from whichone.papers.amber import names
from whichone.papers.amber.relations import Pipeline
from whichone.papers.amber.rules import popularity_gap

if TYPE_CHECKING:
    from ibis.expr.types import Table


class FactRow(msgspec.Struct, frozen=True):
    """One statement of a distinguishing property, in the order of the dump."""

    place: int
    property: str
    kind: str
    value: str
    unit: str | None


class Candidate(msgspec.Struct):
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
    bearers: list[Candidate]


def alive(pipeline: Pipeline) -> Table:
    """Names that can still become a set: two bearers with distinguishing facts, a head among them."""
    if pipeline.every_set:
        return pipeline.keep(
            "alive", pipeline.relations["set_bearers"].select("grouped").distinct()
        )
    facts = pipeline.relations["distinguishing_facts"]
    ends = facts.group_by("grouped").agg(low=facts.position.min(), high=facts.position.max())
    several = ends.filter(ends.low != ends.high).select("grouped")
    if pipeline.popularity == "none":
        return pipeline.keep("alive", several)
    bearers = pipeline.relations["set_bearers"]
    heads = bearers.filter(bearers.is_head).select("grouped", "entity")
    headed = facts.semi_join(heads, ["grouped", "entity"]).select("grouped").distinct()
    return pipeline.keep("alive", several.semi_join(headed, "grouped"))


def candidate_sets(pipeline: Pipeline, account: Account) -> list[CandidateSet]:
    """The sets of the names still alive, sorted by name; bearers and facts in the order of the dump."""
    living = alive(pipeline)
    _account_for_living(pipeline, account, living)
    grouped: dict[str, dict[str, Candidate]] = {}
    leads: dict[str, tuple[float, float]] = {}
    bearers = pipeline.relations["set_bearers"].semi_join(living, "grouped").drop("kinds")
    about = pipeline.tables.entities.select("entity", "types", "label")
    for key, spelling, entity, position, popularity, item, two, head, *rest in pipeline.tuples(
        bearers.inner_join(about, "entity")
    ):
        types, label = rest
        leads[key] = (item, two)
        grouped.setdefault(key, {})[entity] = Candidate(
            position, entity, spelling, label, tuple(types or ()), popularity, head, {}
        )
    facts = pipeline.relations["distinguishing_facts"].semi_join(living, "grouped")
    facts = facts.select("grouped", "entity", "place", "property", "kind", "value", "unit")
    for key, entity, *fact in pipeline.tuples(facts):
        row = FactRow(*fact)
        grouped[key][entity].facts.setdefault(row.property, []).append(row)
    if "qualifiers" in pipeline.relations:
        _add_qualifiers(pipeline, grouped)
    _exact_gap(pipeline, account, grouped, leads)
    sets = [_candidate_set(key, members, pipeline) for key, members in grouped.items()]
    account.after("statements of one bearer and property are one fact", "facts", _number(sets))
    account.after("of these names", "bearers", sum(len(s.bearers) for s in sets))
    if pipeline.rules.different_types and pipeline.collection.different_types:
        sets = _of_different_types(sets, pipeline, account)
        account.after("of these bearers", "facts", _number(sets))
    return sorted(sets, key=lambda candidate: candidate.name)


def _add_qualifiers(pipeline: Pipeline, grouped: dict[str, dict[str, Candidate]]) -> None:
    qualified = pipeline.relations["qualifiers"].semi_join(pipeline.relations["alive"], "grouped")
    by_position = {
        (key, candidate.position): candidate
        for key, members in grouped.items()
        for candidate in members.values()
    }
    for key, position, kind, value in pipeline.tuples(
        qualified.select("grouped", "low", "kind", "value")
    ):
        by_position[key, position].qualifier = (kind, value)


def _exact_gap(
    pipeline: Pipeline,
    account: Account,
    grouped: dict[str, dict[str, Candidate]],
    leads: dict[str, tuple[float, float]],
) -> None:
    """Remove the names that only an engine's rounding let through."""
    if pipeline.popularity == "none":
        return
    rounded = [
        key
        for key, (first, second) in leads.items()
        if popularity_gap(pipeline.rules, first, second) < pipeline.rules.gap
    ]
    for key in rounded:
        del grouped[key]
    if rounded:
        name = "the head leads by that much before rounding"
        account.after(name, "names", len(grouped)).examples = rounded[:EXAMPLES]
        rows = (f for m in grouped.values() for c in m.values() for f in c.facts.values())
        account.after(name, "statements", sum(map(len, rows)))


def _account_for_living(pipeline: Pipeline, account: Account, living: Table) -> None:
    """Names that cannot become a set go with all their statements."""
    if pipeline.every_set:
        return
    head = "" if pipeline.popularity == "none" else ", the head among them"
    name = f"two bearers keep a statement{head}"
    account.after(name, "names", pipeline.count("alive"))
    facts = pipeline.relations["distinguishing_facts"].semi_join(living, "grouped")
    account.after(name, "statements", pipeline.number(facts.count()))


def _number(sets: list[CandidateSet]) -> int:
    """Facts: bearers of a name with a property, however many statements there are of it."""
    return sum(len(c.facts) for candidate in sets for c in candidate.bearers)


def _candidate_set(key: str, members: dict[str, Candidate], pipeline: Pipeline) -> CandidateSet:
    ordered = sorted(members.values(), key=lambda c: c.position)
    for candidate in ordered:
        rows = {
            prop: sorted(facts, key=lambda fact: fact.place)
            for prop, facts in candidate.facts.items()
        }
        candidate.facts = dict(sorted(rows.items(), key=lambda item: item[1][0].place))
    if pipeline.rules.same_name == "exact":
        return CandidateSet(key, ordered)
    return CandidateSet(_spelling(ordered), ordered)


def _spelling(bearers: list[Candidate]) -> str:
    """How a name is written: as most bearers do, else as the most popular of those bearers does."""
    counted = Counter(c.spelling for c in bearers)
    most = max(counted.values())
    among = [c for c in bearers if counted[c.spelling] == most]
    return min(among, key=lambda c: (-(c.popularity or 0), c.spelling)).spelling


def _of_different_types(
    sets: list[CandidateSet], pipeline: Pipeline, account: Account
) -> list[CandidateSet]:
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


def bearer_names(pipeline: Pipeline) -> dict[str, tuple[str, ...]]:
    """Label and aliases of every bearer of a living set, in the order of the dump."""
    naming = names.naming(pipeline.tables, pipeline.rules, pipeline.language)
    bearers = pipeline.relations["set_bearers"].semi_join(pipeline.relations["alive"], "grouped")
    borne = naming.semi_join(bearers, naming.bearer == bearers.entity)
    all_names: dict[str, list[tuple[int, str]]] = {}
    for entity, place, name in pipeline.tuples(borne.select("bearer", "place", "name")):
        all_names.setdefault(entity, []).append((place, name))
    return {entity: tuple(name for _, name in sorted(rows)) for entity, rows in all_names.items()}
