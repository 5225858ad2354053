"""Tables and figures of the EntityQuestions paper."""

import importlib.util
import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from markupsafe import Markup

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import published_relations
from whichone.benchmarks.several import benchmark_of
from whichone.measures.intervals import Estimate
from whichone.measures.measure import Measure
from whichone.measures.ranking_measures import (
    accuracy,
    answer_in_top,
    confused,
    lucky_hit,
    right_page,
    substring_in_top,
)
from whichone.measures.scores import Scores, distinctly_named, estimate, score_run, slice_scores, subset
from whichone.papers.entityquestions.draw import BUCKETS, buckets_of
from whichone.papers.entityquestions.entityquestions_files import TASK, best_possible
from whichone.records import Query, grouped, page_of
from whichone.report.page import PALETTE, Cell, Figure, Section, Table, drawing, finish
from whichone.runs.run import Run

K = 20
IN_TABLE_1 = ("P36", "P26", "P159", "P19", "P69", "P170", "P40")
Cells = Iterator[tuple[tuple[Cell, ...], str, Cell]]


def question_of(relation: str) -> str:
    """The question a relation is asked by, with [E] for the name, as the paper prints it."""
    known = published_relations().get(relation)
    return f"{relation} {known.question.replace('$name', '[E]')}" if known else relation


def table_1(systems: Sequence[Scores], measure: str, simple: Container[str] = ("",)) -> Table:
    """Datasets first, then a few relations; of questions with relations the macro average leads.

    Relations are those of the benchmarks in `simple`.
    """

    def cells() -> Cells:
        for scores in systems:
            for name, part in _datasets(scores):
                related = _related(part)
                if related.queries:
                    yield (f"{name}, macro average",), scores.system, macro_average(related, measure)
                row = f"{name}, micro average" if related.queries else name
                yield (row,), scores.system, _micro(part, measure)
            asked = subset(scores, lambda query: benchmark_of(query) in simple)
            for where, estimates in slice_scores(asked, ["relation"]):
                if where["relation"] in IN_TABLE_1:
                    yield (question_of(where["relation"]),), scores.system, estimates[measure]

    return Table.of(
        "entityquestions-table-1",
        f"Top-{K} retrieval accuracy (EntityQuestions, Table 1)",
        ("questions",),
        cells(),
        note=f"Percent of questions with an answer in one of the first {K} passages (DPR's tokens). Macro: the "
        "mean over relations, as published; micro: over questions.",
    )


def _datasets(scores: Scores) -> list[tuple[str, Scores]]:
    """The questions by benchmark and dataset, where they say which they are of."""

    def dataset(query: Query) -> str:
        named = (benchmark_of(query), str(query.attributes.get("dataset") or ""))
        return ": ".join(filter(None, named))

    if (known := [*dict.fromkeys(map(dataset, scores.queries))]) in ([], [""]):
        return [("all questions", scores)]
    return [(name or "other questions", _where(scores, dataset, name)) for name in known]


def _where(scores: Scores, read: Callable[[Query], Any], value: Any) -> Scores:
    return subset(scores, lambda query: read(query) == value)


def macro_average(scores: Scores, measure: str) -> Cell:
    """The mean over relations of each relation's mean, as the paper averages."""
    return _mean_of(estimates[measure] for _, estimates in slice_scores(scores, ["relation"]))


def _mean_of(estimates: Iterable[Estimate]) -> Cell:
    known = [e.value for e in estimates if e.value is not None]
    return f"{100 * sum(known) / len(known):.1f}" if known else None


def _micro(scores: Scores, measure: str) -> Cell:
    return slice_scores(scores)[0][1][measure] if scores.queries else None


def _related(scores: Scores) -> Scores:
    return subset(scores, lambda query: bool(query.relation))


def _name_slices(scores: Scores) -> list[tuple[str, Scores]]:
    """All queries; those with unique and those with shared names, where there are both."""
    if not {q.attributes.get("shared_name") for q in scores.queries} >= {True, False}:
        return [("", scores)]
    of_kind = {
        n: _where(scores, lambda q: bool(q.attributes.get("shared_name")), n == "shared")
        for n in ("unique", "shared")
    }
    return [("", scores), *((f", {name}", part) for name, part in of_kind.items())]


def relation_table(systems: Sequence[Scores], measure: str, number: int, note: str) -> Table:
    """Table 5 or 6: every relation, macro and micro, all names and those that are unique or shared."""
    columns = {f"{s.system}{n}": _related(part) for s in systems for n, part in _name_slices(s)}
    by_relation = {
        column: {question_of(where["relation"]): e[measure] for where, e in slice_scores(part, ["relation"])}
        for column, part in columns.items()
    }
    relations = sorted({relation for found in by_relation.values() for relation in found})
    cells: list[tuple[tuple[Cell, ...], str, Cell]]
    cells = [((r,), column, found.get(r)) for r in relations for column, found in by_relation.items()]
    cells += [(("macro average",), column, _mean_of(e.values())) for column, e in by_relation.items()]
    cells += [(("micro average",), column, _micro(part, measure)) for column, part in columns.items()]
    return Table.of(
        f"entityquestions-table-{number}",
        f"Top-{K} accuracy by relation (EntityQuestions, Table {number})",
        ("relation",),
        cells,
        note=note,
    )


def luck_table(systems: Sequence[Scores]) -> Table:
    measures = [f"{m}@{k}" for k in (1, K) for m in ("answer_in_top", "right_page", "lucky_hit")]
    by = ["shared_name"] if len(_name_slices(systems[0])) > 1 else []
    names = {True: "shared", False: "unique", None: "all"}
    return Table.of(
        "lucky-hits",
        "Was it the right one?",
        ("system", "names"),
        (
            ((scores.system, names[where.get("shared_name")]), measure, estimates[measure])
            for scores in systems
            for where, estimates in slice_scores(scores, by)
            for measure in measures
        ),
        note="answer_in_top: an answer in the first k passages; right_page: in one that is of a gold page; "
        "lucky_hit: the share of the hits with no such passage of a gold page.",
    )


def resolvable_table(systems: Sequence[Scores]) -> Table:
    """What is reached on questions that can be resolved, and the best that any retriever could."""
    measures = ("acc@1", "best_possible@1", "acc@5", "best_possible@5", "confused@20")
    return Table.of(
        "resolvable",
        "Could anyone have known?",
        ("system", "resolvable"),
        (
            ((scores.system, str(where["resolvable"])), measure, estimates[measure])
            for scores in systems
            for where, estimates in slice_scores(scores, ["resolvable"])
            for measure in measures
        ),
        note="no: another bearer of the name has the relation too, so a retriever can only guess; unknown: "
        "none is known to have it, but one may; best_possible counts what is unknown as knowable.",
    )


def table_7(runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark) -> Table:
    """The first questions that a system misses, with the gold page's passage and what came instead."""
    rows: list[Sequence[Cell]] = []
    titles = benchmark.page_titles
    for run, scores in zip(runs, systems, strict=True):
        hits = zip(scores.queries, scores.values[f"answer_in_top@{K}"], strict=True)
        lacking = (q for q, hit in hits if hit == 0 and any(page in titles for page in q.gold_pages()))
        missed = list(itertools.islice(lacking, 3))
        found = run.rows_of(sorted(q.id for q in missed), 3).sort_by("rank").to_pylist()
        for query in missed:
            gold = min(page for page in query.gold_pages() if page in titles)
            own = [row["passage"] for row in found if row["question"] == query.id]
            shown = [("gold", f"{gold}#0"), *enumerate(own, 1)]
            texts = benchmark.corpus.get([passage for _, passage in shown])
            for rank, passage in shown:
                words = texts[passage].text.split() if passage in texts else []
                opening = " ".join(words[:30]) + (" ..." if len(words) > 30 else "")
                page = titles.get(page_of(passage), passage)
                rows.append((scores.system, query.input, str(rank), page, opening))
    return Table(
        key="entityquestions-table-7",
        title="What was retrieved instead (EntityQuestions, Table 7)",
        columns=("system", "question", "rank", "page", "passage"),
        rows=rows,
        note=f"The first questions without an answer in the first {K} passages.",
    )


Kind = tuple[str, Callable[[Query], bool]]


def bucket_places(queries: Sequence[Query]) -> dict[str, dict[str, int]]:
    """For each relation the bucket of each query, by query id.

    Buckets are the benchmark's own where it has some, else made of the queries' own frequencies, if there
    are enough of them.
    """
    by_relation = grouped(
        (query.relation, query)
        for query in queries
        if query.relation and (_bucket(query) is not None or _frequency(query) is not None)
    )
    places = {}
    for relation, members in by_relation.items():
        own = {q.id: place for q in members if (place := _bucket(q)) is not None}
        if own or len(members) >= 100:  # fewer make no buckets
            places[relation] = own or buckets_of({q.id: _frequency(q) for q in members})
    return places


def _bucket(query: Query) -> int | None:
    place = query.attributes.get("bucket")
    return place if isinstance(place, int) and place >= 0 else None


def _frequency(query: Query) -> float | None:
    values = (query.attributes.get(name) for name in ("frequency", "popularity", "s_pop"))
    return next((float(value) for value in values if isinstance(value, int | float) and value >= 0), None)


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


def curve(scores: Scores, measure: Measure, places: dict[str, int], kind: Kind) -> list[Estimate | None]:
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
    if not (relations := sorted(places, key=lambda r: (-len(places[r]), r))[:4]):
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


def _draw(axis: Any, values: Sequence[Estimate | None], colour: str, style: str, shift: float) -> None:
    known = [(n, e) for n, e in enumerate(values) if e is not None and e.value is not None]
    heights = [100 * (e.value or 0.0) for _, e in known]
    below = [h - 100 * e.low if e.low is not None else 0 for h, (_, e) in zip(heights, known, strict=True)]
    above = [100 * e.high - h if e.high is not None else 0 for h, (_, e) in zip(heights, known, strict=True)]
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


def tuned_on(system: str) -> tuple[str, str] | None:
    """The name and the relation of a system that is called `name [relation]`."""
    result = re.match(r"^(?P<name>.+?)\s*\[(?P<relation>[^\[\]]+)\](?P<marks>.*)$", system)
    return (result["name"] + result["marks"], result["relation"]) if result else None


def tuned_relations(systems: Sequence[Scores]) -> list[str]:
    asked = {query.relation for scores in systems for query in scores.queries}
    named = dict.fromkeys(tuned[1] for scores in systems if (tuned := tuned_on(scores.system)))
    return [relation for relation in named if relation in asked]


def table_2(systems: Sequence[Scores], measure: str, relations: Sequence[str]) -> Table:
    """Each relation by the systems that were tuned on it, and by those that were tuned on none."""
    named = [(scores, *(tuned_on(scores.system) or (scores.system, None))) for scores in systems]
    return Table.of(
        "entityquestions-table-2",
        f"Top-{K} accuracy after fine-tuning on one relation (EntityQuestions, Table 2)",
        ("system",),
        (
            ((name,), question_of(relation), _on_relation(scores, measure, relation))
            for scores, name, own in named
            for relation in relations
            if own in (None, relation)
        ),
        [*map(question_of, relations)],
        note="A system called `name [relation]` was fine-tuned on that relation and is shown in its column.",
    )


def table_3(systems: Sequence[Scores], measure: str, relations: Sequence[str]) -> Table:
    """What fine-tuning on one relation does to that relation, to all, and to other benchmarks.

    Those whose questions have no relation are the other benchmarks.
    """
    everywhere = dict.fromkeys(benchmark_of(q) for s in systems for q in s.queries)
    with_relations = {benchmark_of(q) for s in systems for q in s.queries if q.relation}
    others = [name for name in everywhere if name not in with_relations]
    named = [(scores, *(tuned_on(scores.system) or (scores.system, None))) for scores in systems]

    def cells() -> Cells:
        for relation, (scores, name, own) in itertools.product(relations, named):
            if own not in (None, relation):
                continue
            row, asked = (question_of(relation), name), _related(scores)
            for other in others:
                yield row, other, _micro(_where(scores, benchmark_of, other), measure)
            yield row, "Rel", _on_relation(asked, measure, relation)
            yield row, "EntityQ.", macro_average(asked, measure)

    return Table.of(
        "entityquestions-table-3",
        f"Top-{K} accuracy on one relation, on all, and elsewhere (EntityQuestions, Table 3)",
        ("relation", "system"),
        cells(),
        note="Rel: the relation of the row; EntityQ.: the mean over all relations.",
    )


def _on_relation(scores: Scores, measure: str, relation: str) -> Cell:
    return _micro(_where(scores, attrgetter("relation"), relation), measure)


def applying(benchmark: Benchmark) -> set[str]:
    """The benchmarks, "" for one alone, of simple questions with answers: EntityQuestions, PopQA, or anybody's."""
    return {
        benchmark_of(q)
        for q in benchmark.queries
        if q.answers() and (q.task in (TASK, "PopQA") or "shared_name" in q.attributes)
    }


def entityquestions_section(
    runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False
) -> Section | None:
    """Tables 1 to 3 and 5 to 7, Figure 1, and the two questions no published evaluation asks."""
    if not (simple := applying(benchmark)):
        return None
    measures = [answer_in_top(K), substring_in_top(K), accuracy(1), accuracy(5), confused(K)]
    measures += [answer_in_top(1), right_page(1), right_page(K), lucky_hit(1), lucky_hit(K)]
    measures += [best_possible(1), best_possible(5)]
    scored = [score_run(run, benchmark, measures) for run in runs]
    systems = distinctly_named(scored, [run.path for run in runs])
    hit, other_inputs = f"answer_in_top@{K}", {"act", "el", "fc", "sf"}  # whose inputs are not questions
    asked = [subset(s, lambda q: q.task not in other_inputs) for s in systems] if simple != {""} else systems
    tables = [table_1(asked, hit, simple)]
    if relations := tuned_relations(asked):
        tables += [table_2(asked, hit, relations), table_3(asked, hit, relations)]
    systems = [subset(s, lambda q: benchmark_of(q) in simple) for s in systems]
    if any(q.relation for q in benchmark.queries):
        percent = f"Percent of questions with an answer in one of the first {K} passages (DPR's tokens)."
        verbatim = (
            f"The same with the answer as a verbatim substring of one of the first {K} passages, as the "
            "paper compares BM25 with REALM."
        )
        tables.append(relation_table(systems, hit, 5, percent))
        tables.append(relation_table(systems, f"substring_in_top@{K}", 6, verbatim))
    tables.append(luck_table(systems))
    if any("resolvable" in q.attributes for q in systems[0].queries):
        tables.append(resolvable_table(systems))
    tables += [] if redact else [table_7(runs, systems, benchmark)]
    drawn = figure_1(systems, answer_in_top(K)) if importlib.util.find_spec("matplotlib") else None
    leads = all(query.task == TASK for query in benchmark.queries)
    headline = ""
    if leads:  # the paper's figure in a sentence, best system first
        values = {s.system: float(str(macro_average(s, hit) or 0.0)) for s in asked}
        ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{system} {value:.1f}" for system, value in ordered)
        sentence = f"Top-{K} retrieval accuracy (percent, the mean over relations): {listed}."
        headline = Markup('<p class="verdict">{}</p>').format(sentence)
    figures = [drawn] if drawn else []
    return Section("Simple questions (EntityQuestions)", tables, figures, html=headline, leads=leads)
