"""The account of the filters that ran inside the engine: what each removed, with examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichone.benchmarks.relations import EXAMPLES, Account
from whichone.papers.amber.relations import Pipeline

if TYPE_CHECKING:
    from ibis.expr.types import Table


def relational_steps(pipeline: Pipeline, account: Account) -> None:
    """Steps for the filters that ran inside the engine, with a few of what they removed."""
    relations = pipeline.relations
    if pipeline.rules.min_name_share:
        share = f"{pipeline.rules.min_name_share:.1%} of the links to the bearer use the name"
        account.after("repeated", "names", pipeline.number(relations["namings"].grouped.nunique()))
        borne = pipeline.number(relations["used_namings"].grouped.nunique())
        used = account.after(share, "names", borne)
        gone = relations["namings"].anti_join(relations["used_namings"], ["grouped", "bearer"])
        used.examples = _texts(pipeline, gone, ["name", "bearer"], "{}: {}")
    known = "" if pipeline.popularity == "none" else f" that have {pipeline.popularity}"
    shared = account.step(f"two or more bearers of the collection's types{known}", "names")
    shared.kept = pipeline.count("shared_names")
    borne = relations.get("used_namings", relations["namings"])
    shared.removed = pipeline.number(borne.grouped.nunique()) - shared.kept
    gone = borne.anti_join(relations["shared_names"], "grouped")
    shared.examples = _texts(pipeline, gone, ["grouped"], "{}")
    if pipeline.popularity != "none":
        gap = account.step(
            f"the head leads by {pipeline.rules.gap:.0%} ({pipeline.rules.gap_scale})", "names"
        )
        sets, leads = relations["set_bearers"], relations["leads"]
        gap.kept = pipeline.number(sets.grouped.nunique())
        gap.removed = pipeline.count("leads") - gap.kept
        gap.examples = _texts(pipeline, leads.anti_join(sets, "grouped"), ["grouped"], "{}")
    facts = relations["bearer_facts"]
    if pipeline.collection.qualifier:
        facts = facts.filter(facts["property"] != pipeline.collection.qualifier)
    listed = account.step("the property is listed for the bearer's type", "statements")
    listed.kept = pipeline.number(facts.filter(facts.listed).count())
    listed.removed = pipeline.number(facts.count()) - listed.kept
    columns = ["grouped", "entity", "property"]
    listed.examples = _texts(pipeline, facts.filter(~facts.listed), columns, "{}: {} {}")
    if pipeline.collection.qualifier:
        step = account.step(f"{pipeline.collection.qualifier} tells the bearer apart", "statements")
        step.kept = pipeline.count("distinguishing_facts")
        step.removed = listed.kept - step.kept
        return
    single = account.step("no other bearer of the name has the property", "statements")
    single.kept = pipeline.count("distinguishing_facts")
    single.removed = listed.kept - single.kept
    held = facts.filter(facts.listed).semi_join(
        relations["shared_properties"], ["grouped", "property"]
    )
    single.examples = _texts(pipeline, held, columns, "{}: {} {}, which others have")


def _texts(pipeline: Pipeline, relation: Table, columns: list[str], pattern: str) -> list[str]:
    some = relation.select(*columns).distinct().order_by(columns).limit(EXAMPLES)
    return [pattern.format(*row) for row in pipeline.tuples(some)]
