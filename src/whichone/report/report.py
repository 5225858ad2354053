"""Which tables and figures a set of runs gives, put on one page."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from whichone import registry
from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.several import BENCHMARK
from whichone.errors import UsageError
from whichone.measures.comparison import (
    LEVEL,
    RULE,
    Comparison,
    check_same_benchmark,
    compare,
    names_needed,
    tied_ranks,
)
from whichone.measures.intervals import cluster_note, cluster_rule
from whichone.measures.measure import Measure, parse_measures
from whichone.measures.scores import (
    COMPARED,
    REPORTED,
    Scores,
    distinctly_named,
    estimate,
    score_run,
    slice_scores,
)
from whichone.report.answer_sections import answer_sections, answers_among, answers_report
from whichone.report.figures import (
    GapScale,
    gap_figure,
    knowledge_beside,
    long_tail,
    popularity_sample,
)
from whichone.report.first_screen import (
    MOST,
    clearest_panels,
    first_results,
    first_screen,
    panel_html,
)
from whichone.report.name_set_tables import accuracy_table, confusion_table, example_sets
from whichone.report.page import Cell, Figure, Page, Section, Table
from whichone.runs.run import Answers, Run

RANKED = ("acc@1",)
"""What systems are ranked by."""


def make_report(
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    benchmark: Where | None = None,
    gap_scale: GapScale = "log10",
    redact: bool = False,
    panels: int = MOST,
    knowledge: str | Path | None = None,
    study: str | Path | None = None,
) -> list[Path]:
    """Score the runs, and answers where there are some, and write the page; what was written."""
    if not runs:
        raise UsageError("a report needs at least one run")
    read, runs = answers_among(runs)
    if not runs:
        return answers_report(read, out, benchmark=benchmark, redact=redact, study=study)
    opened = [Run.open(run) for run in runs]
    base = opened[0].benchmark(benchmark)
    measures = parse_measures(REPORTED)
    check_same_benchmark([(f"{run.name} ({run.path.name})", run.benchmark_id) for run in opened])
    named = distinctly_named([score_run(run, base, measures) for run in opened], list(runs))
    systems = [replace(scores, system=scores.marked) for scores in named]
    page = Page(
        title=f"whichone: {base.name}",
        subtitle=f"{', '.join(s.system for s in systems)} on {base.id}",
        sections=_folded(
            [
                *(
                    s
                    for s in _sections(
                        opened, systems, base, gap_scale, redact, panels, read, knowledge, study
                    )
                    if s
                ),
                *answer_sections(read, base, opened, redact=redact),
            ]
        ),
        meta=_meta(opened, systems, base),
    )
    return page.write(Path(out))


def _folded(sections: Sequence[Section]) -> list[Section]:
    """The verdict and the first table are open; the other tables are folded by topic."""
    return [
        replace(section, folded=n > 1 and bool(section.tables or section.figures))
        for n, section in enumerate(sections)
    ]


def _sections(
    runs: Sequence[Run],
    systems: Sequence[Scores],
    benchmark: Benchmark,
    gap_scale: GapScale,
    redact: bool,
    panels: int,
    answers: Sequence[Answers],
    knowledge: str | Path | None,
    study: str | Path | None,
) -> list[Section | None]:
    from whichone.report.name_set_tables import statistics_section
    from whichone.report.three_choice import three_choice_section

    ranked = {s.system: run.ranked_pages() for s, run in zip(systems, runs, strict=True)}
    results = first_results(runs, systems, benchmark)
    telling = clearest_panels(runs, systems, benchmark, panels, results)
    labels = BearerLabels(benchmark)
    confusable = results.any_set
    return [
        first_screen(runs, systems, benchmark, results, telling, redact=redact),
        Section("Found", [accuracy_table(systems, 1, 5), accuracy_table(systems, 20, 9)]),
        Section(
            "Confused", [confusion_table(systems)], [] if redact else _example(ranked, benchmark)
        )
        if confusable
        else None,
        three_choice_section(ranked, answers, benchmark, study),
        corpus_section(systems, benchmark),
        *(section(runs, benchmark, redact=redact) for section in registry.every("tables").values()),
        Section("Between systems", [rank_table(systems), comparison_table(systems)])
        if len(systems) > 1
        else None,
        Section("Popularity", figures=_figures(systems, benchmark, gap_scale, redact, knowledge)),
        statistics_section(benchmark, redact),
        None if redact or not confusable else Section("Examples", [example_sets(benchmark)]),
        Section(
            f"The {len(telling)} most telling names",
            html="".join(
                panel_html(p, labels, number=n, redact=redact) for n, p in enumerate(telling, 1)
            ),
            on_paper=False,
        )
        if telling
        else None,
    ]


def _example(
    ranked: Mapping[str, Mapping[str, Sequence[str]]], benchmark: Benchmark
) -> list[Figure]:
    if importlib.util.find_spec("matplotlib") is None:
        return []
    from whichone.report.figures import example_figure

    drawn = example_figure(ranked, benchmark)
    return [drawn] if drawn else []


def _figures(
    systems: Sequence[Scores],
    benchmark: Benchmark,
    scale: GapScale,
    redact: bool,
    knowledge: str | Path | None,
) -> list[Figure]:
    if importlib.util.find_spec("matplotlib") is None:
        return []
    drawn = [gap_figure(systems, benchmark, scale)]
    if not redact:
        place = knowledge or knowledge_beside(benchmark)
        entities = popularity_sample(place) if place and benchmark.sets else None
        drawn.insert(0, long_tail(benchmark, entities=entities))
    return [figure for figure in drawn if figure is not None]


def rank_table(systems: Sequence[Scores]) -> Table:
    """The systems by rank: those that the benchmark cannot tell apart share one, and it is said where none can be."""
    (measure,) = parse_measures(RANKED)
    result = compare(systems, [measure])
    ranks = tied_ranks([s.system for s in systems], result)
    rows = {s.system: estimate(s, measure, np.arange(len(s.queries))) for s in systems}
    order = sorted(rows, key=lambda system: (ranks[system], -(rows[system].value or 0.0), system))
    together = {
        system: [o for o in order if o != system and _not_distinguished(system, o, result)]
        for system in order
    }
    note = f"Ranks on {measure}: {RULE}; {cluster_note(systems[0].queries)}."
    if len(set(ranks.values())) == 1:
        note = (
            f"This benchmark cannot tell these systems apart on {measure}: no difference is significant"
            f"{_sees(systems, measure)}. {note}"
        )
    return Table(
        key="ranks",
        title="Ranks",
        columns=("rank", "system", str(measure), "not distinguished from"),
        rows=[(ranks[s], s, rows[s], ", ".join(together[s]) or "none") for s in order],
        note=note,
    )


def _not_distinguished(a: str, b: str, comparisons: Sequence[Comparison]) -> bool:
    return any({c.a, c.b} == {a, b} and c.p_holm >= LEVEL for c in comparisons)


def _sees(systems: Sequence[Scores], measure: Measure) -> str:
    """What difference the benchmark's names would show, in words; nothing where they are too few to say."""
    try:
        smallest = max(n.smallest for n in names_needed(systems, measure, 0.05))
    except UsageError:
        return ""
    return f"; its names show differences from about {100 * smallest:.0f} points on"


def comparison_table(systems: Sequence[Scores]) -> Table:
    """Every pair of systems, paired by cluster."""
    comparisons = compare(systems, parse_measures(COMPARED))
    return Table(
        key="comparison",
        title="Paired differences",
        columns=("measure", "a", "b", "b − a", "p", "p (Holm)", "effect", "b higher/equal/lower"),
        rows=[
            (
                c.measure,
                c.a,
                c.b,
                c.difference,
                f"{c.p:.4f}",
                f"{c.p_holm:.4f}{'*' if c.p_holm < 0.05 else ''}",
                c.effect,
                f"{c.wins}/{c.ties}/{c.losses}",
            )
            for c in comparisons
        ],
        note=(
            f"b minus a in points; {cluster_note(systems[0].queries)}; p from a permutation test that swaps whole "
            f"clusters ({cluster_rule(systems[0].queries)}); effect: mean difference of clusters over their "
            "standard deviation; b higher/equal/lower counts queries, and higher confusion is worse."
        ),
    )


def _meta(runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark) -> dict[str, str]:
    """How each run was made, and what of it is no fair figure: failures, nothing found, trained on."""
    details = {
        f"run {scores.system}": "; ".join([str(run.description), *scores.cautions()])
        for run, scores in zip(runs, systems, strict=True)
    }
    licence = next((line for line in benchmark.card.splitlines() if "icence" in line), "")
    return {
        "benchmark": benchmark.id,
        "intervals": cluster_note(benchmark.queries),
        "licence": licence or "see the benchmark's card",
        **details,
    }


# Gold pages found, for any benchmark: by dataset or relation, shared or unique names.


def corpus_section(systems: Sequence[Scores], benchmark: Benchmark) -> Section | None:
    """Sections for benchmarks that know which of their names are shared, or that have relations."""
    tables = []
    keys: set[str] = set()
    related = with_role = False
    for query in benchmark.queries:
        keys.update(query.attributes)
        related, with_role = related or bool(query.relation), with_role or bool(query.role)
    if "shared_name" in keys:
        by = [*(key for key in (BENCHMARK, "dataset") if key in keys), "shared_name"]
        tables.append(shared_name_table(systems, by))
    if related and not with_role:
        tables.append(relation_table(systems))
    return Section("Unique and shared names", tables) if tables else None


def shared_name_table(systems: Sequence[Scores], by: Sequence[str]) -> Table:
    """Accuracy at 1, 5 and 20 and confusion, split into unique and shared names."""
    rows: list[Sequence[Cell]] = []
    for scores in systems:
        for where, estimates in slice_scores(scores, by):
            if where["shared_name"] is None:
                continue  # queries of another benchmark, which do not say
            name = "shared" if where["shared_name"] else "unique"
            rows.append(
                (
                    ": ".join(str(v) for k, v in where.items() if k != "shared_name" and v)
                    or "all",
                    name,
                    scores.system,
                    *(estimates[m] for m in ("acc@1", "acc@5", "acc@20", "confused@20")),
                    estimates["acc@1"].n,
                )
            )
    return Table(
        key="shared-names",
        title="Unique and shared names",
        columns=(
            "dataset",
            "names",
            "system",
            "acc@1",
            "acc@5",
            "acc@20",
            "confused@20",
            "queries",
        ),
        rows=sorted(rows, key=lambda r: (str(r[0]), str(r[1]))),
        note="A name is shared when another page of the corpus has the same title once parentheses are removed "
        "and case is folded.",
    )


def relation_table(systems: Sequence[Scores]) -> Table:
    """Accuracy at 20 for each relation, macro and micro."""
    cells: dict[str, dict[str, Cell]] = {}
    macro: dict[str, Cell] = {}
    micro: dict[str, Cell] = {}
    for scores in systems:
        values = []
        for where, estimates in slice_scores(scores, ["relation"]):
            cells.setdefault(str(where["relation"]), {})[scores.system] = estimates["acc@20"]
            values.append(estimates["acc@20"].value or 0.0)
        macro[scores.system] = f"{100 * sum(values) / len(values):.1f}"
        micro[scores.system] = slice_scores(scores)[0][1]["acc@20"]
    names = [s.system for s in systems]
    rows: list[Sequence[Cell]] = [(r, *(cells[r].get(n) for n in names)) for r in sorted(cells)]
    rows += [("macro", *(macro[n] for n in names)), ("micro", *(micro[n] for n in names))]
    return Table(
        key="relations",
        title="A gold page among the first 20, by relation",
        columns=("relation", *names),
        rows=rows,
        note="A gold page among the first 20. Macro is the mean of the relations, micro the mean of the queries.",
    )
