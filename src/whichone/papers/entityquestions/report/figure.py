"""EntityQuestions' Figure 1: accuracy by how often the entity is met, in buckets of equal frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whichone.measures.intervals import Estimate
from whichone.measures.measure import Measure
from whichone.measures.scores import Scores, estimate
from whichone.papers.entityquestions.buckets import BUCKETS, buckets_of
from whichone.records import Query
from whichone.report.page import PALETTE, Figure, drawing, finish

LEAST_QUERIES = 100
MOST_RELATIONS = 4
FREQUENCIES = ("frequency", "popularity", "s_pop")
Kind = tuple[str, Callable[[Query], bool]]


def bucket_places(queries: Sequence[Query]) -> dict[str, dict[str, int]]:
    """For each relation the bucket of each query, by query id.

    Buckets are the benchmark's own where it has some, else made of the queries' own frequencies, if there
    are enough of them.
    """
    by_relation: dict[str, list[Query]] = {}
    for query in queries:
        if query.relation and (_bucket(query) is not None or _frequency(query) is not None):
            by_relation.setdefault(query.relation, []).append(query)
    places = {}
    for relation, members in by_relation.items():
        own = {q.id: place for q in members if (place := _bucket(q)) is not None}
        if own or len(members) >= LEAST_QUERIES:
            places[relation] = own or buckets_of({q.id: _frequency(q) for q in members})
    return places


def _bucket(query: Query) -> int | None:
    place = query.attributes.get("bucket")
    return place if isinstance(place, int) and place >= 0 else None


def _frequency(query: Query) -> float | None:
    for name in FREQUENCIES:
        value = query.attributes.get(name)
        if isinstance(value, int | float) and value >= 0:
            return float(value)
    return None


def kinds(queries: Sequence[Query]) -> list[Kind]:
    """The curves of one system: "rand ent" and "train ent", else unique and shared names, else all."""
    drawn: list[Kind] = [
        ("rand ent", lambda q: bool(q.attributes.get("rand_ent"))),
        ("train ent", lambda q: bool(q.attributes.get("train_ent"))),
    ]
    if known := [kind for kind in drawn if any(map(kind[1], queries))]:
        return known
    if {q.attributes.get("shared_name") for q in queries} >= {True, False}:
        return [
            ("unique names", lambda q: not q.attributes.get("shared_name")),
            ("shared names", lambda q: bool(q.attributes.get("shared_name"))),
        ]
    return [("all", lambda q: True)]


def curve(
    scores: Scores, measure: Measure, places: dict[str, int], kind: Kind
) -> list[Estimate | None]:
    """One value a bucket, with its interval; None where there is no query."""
    rows: list[list[int]] = [[] for _ in range(_count(places))]
    for i, query in enumerate(scores.queries):
        if query.id in places and kind[1](query):
            rows[places[query.id]].append(i)
    return [estimate(scores, measure, np.array(r)) if r else None for r in rows]


def _count(places: dict[str, int]) -> int:
    """Eight, or as many as a benchmark of somebody's own has."""
    return max(BUCKETS, 1 + max(places.values(), default=0))


def figure_1(systems: Sequence[Scores], measure: Measure) -> Figure | None:
    """A panel a relation, a colour a system, a line style a kind of entities; rare ones to the right."""
    queries = systems[0].queries
    places = bucket_places(queries)
    relations = sorted(places, key=lambda r: (-len(places[r]), r))[:MOST_RELATIONS]
    if not relations:
        return None
    curves = [
        (colour, style, scores, kind)
        for colour, scores in zip(PALETTE, systems, strict=False)
        for style, kind in zip(("-", "--"), kinds(queries), strict=False)
    ]
    size = (max(4.5, 2.6 * len(relations)), 3.0 + 0.18 * (len(curves) // 4))
    with drawing(1, len(relations), size) as (figure, axes):
        for axis, relation in zip(axes[0], relations, strict=True):
            for n, (colour, style, scores, kind) in enumerate(curves):
                values = curve(scores, measure, places[relation], kind)
                _draw(axis, values, colour, style, 0.4 * ((n + 0.5) / len(curves) - 0.5))
            axis.set(
                title=relation,
                xlabel="bucket (0: most frequent)",
                ylim=(0, 105),
                xlim=(-0.4, _count(places[relation]) - 0.6),
            )
        axes[0][0].set_ylabel("accuracy (%)")
        for colour, style, scores, kind in curves:
            axes[0][-1].plot([], [], style, color=colour, label=f"{scores.system}, {kind[0]}")
        figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
        return finish(
            figure,
            "entityquestions-figure-1",
            "Accuracy by how often the entity is met (EntityQuestions, Figure 1)",
            f"{measure} in buckets of equal summed frequency, with 95 % intervals; curves stand side by "
            "side within a bucket so that their intervals can be seen.",
        )


def _draw(
    axis: Any, values: Sequence[Estimate | None], colour: str, style: str, shift: float
) -> None:
    known = [(n, e) for n, e in enumerate(values) if e is not None and e.value is not None]
    heights = [100 * (e.value or 0.0) for _, e in known]
    below = [
        h - 100 * e.low if e.low is not None else 0
        for h, (_, e) in zip(heights, known, strict=True)
    ]
    above = [
        100 * e.high - h if e.high is not None else 0
        for h, (_, e) in zip(heights, known, strict=True)
    ]
    axis.errorbar(
        [n + shift for n, _ in known],
        heights,
        yerr=[[max(0.0, b) for b in below], [max(0.0, a) for a in above]],
        fmt=style,
        color=colour,
        marker="o",
        ms=3,
        lw=1.2,
        elinewidth=0.6,
        capsize=1.5,
    )
