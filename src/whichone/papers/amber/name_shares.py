"""Names weighted by how often links use them, so that a name that nobody uses makes no set.

"The Big Cactus" is an alias of Shaquille O'Neal, but hardly a link to his page says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichone.knowledge.engine.engines import Tables
from whichone.papers.amber.rules import Rules

if TYPE_CHECKING:
    from ibis.expr.types import Table


def used_namings(namings: Table, tables: Tables, rules: Rules) -> Table:
    """The namings by a bearer's label, and those that a share of the links to the bearer use."""
    linked = tables.names.filter(tables.names.kind == "anchor")
    linked = linked.semi_join(namings, linked.entity == namings.bearer)
    called = linked.name if rules.same_name == "exact" else linked.key
    links = linked.select(linked=linked.entity, called=called, times=linked["count"])
    totals = links.group_by("linked").agg(total=links.times.sum())
    times = links.group_by(["linked", "called"]).agg(times=links.times.sum())
    shares = times.inner_join(totals, "linked")
    enough = shares.filter(shares.times >= rules.min_name_share * shares.total)
    labels = tables.names.filter(tables.names.kind == "label")
    labelled = labels.name if rules.same_name == "exact" else labels.key
    own = labels.select(linked=labels.entity, called=labelled)
    kept = enough.select("linked", "called").union(own)
    return namings.semi_join(kept, [namings.bearer == kept.linked, namings.grouped == kept.called])
