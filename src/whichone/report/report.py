"""Which tables and figures a set of runs gives, put on one page."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from whichone import registry
from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.gold import GOLD_IS, GOLD_WORDS
from whichone.benchmarks.several import BENCHMARK
from whichone.errors import UsageError
from whichone.measures import scores as scoring
from whichone.measures.absent import ABSENT_MEASURES, AT_REFUSED, Curve
from whichone.measures.comparison import LEVEL, RULE, check_same_benchmark, compare, names_needed, tied_ranks
from whichone.measures.intervals import SHALLOW, cluster_note, cluster_rule
from whichone.measures.measure import Measure, parse_measures
from whichone.measures.summary import rows_by_place
from whichone.options import Option, takes
from whichone.report import first_screen
from whichone.report.answer_sections import answer_sections, answers_among, answers_report
from whichone.report.figures import GapScale
from whichone.report.name_set_tables import TASKS, accuracy_table, confusion_table, example_sets
from whichone.report.page import Cell, ReportPage, Section, Table, in_plain_words, render
from whichone.runs.run import Answers, Run


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a report shows of its runs."""

    gap_scale: Annotated[
        GapScale, Option("Scale of the popularity gap in Figure 4; the authors' data give log10 of views.")
    ] = "log10"
    redact: Annotated[bool, Option("Leave out names, titles and texts: numbers only.")] = False
    panels: Annotated[int, Option("How many of the most telling names get a panel.", flags=("--names",))] = (
        first_screen.MOST
    )
    knowledge: Annotated[
        str | Path | None,
        Option(
            "Knowledge base whose entities are sampled for Figure 2; the built-in one is found by itself.",
            kind="folder",
        ),
    ] = None
    study: Annotated[
        str | Path | None,
        Option("answers.csv of a user study in `whichone serve`: the human row of Table 8.", kind="file"),
    ] = None


@takes(ReportOptions, "options")
def make_report(
    runs: Sequence[str | Path], out: str | Path, options: ReportOptions, *, benchmark: Where | None = None
) -> list[Path]:
    """Score the runs, and answers where there are some, and write the page; what was written."""
    if not runs:
        raise UsageError("a report needs at least one run")
    read, runs = answers_among(runs)
    if not runs:
        return answers_report(read, out, benchmark=benchmark, redact=options.redact, study=options.study)
    opened = [Run.open(run) for run in runs]
    base = opened[0].benchmark(benchmark)
    measures = parse_measures(scoring.REPORTED)
    check_same_benchmark([(f"{run.name} ({run.path.name})", run.benchmark_id) for run in opened])
    named = scoring.distinctly_named([scoring.score_run(run, base, measures) for run in opened], list(runs))
    systems = [replace(scores, system=scores.marked) for scores in named]
    sections = [
        *_sections(opened, systems, base, read, options),
        *answer_sections(read, base, opened, redact=options.redact),
        Section("Settings", [settings_table(opened, systems)]),
    ]
    if all(query.task not in TASKS for query in base.queries):
        sections = [_without_amber(section) for section in sections]
    # a paper's own headline first; the verdict and the first table are open, the others folded by topic
    sections.sort(key=lambda section: not section.leads)
    gold_is = base.folder.manifest.parameters.get(GOLD_IS)
    return ReportPage(
        title=f"whichone: {base.name}",
        subtitle=", ".join(s.system for s in systems),
        sections=[replace(section, folded=n > 1) for n, section in enumerate(sections)],
        meta=_meta(named, base),
        words={"gold": GOLD_WORDS[gold_is]} if gold_is in GOLD_WORDS else {},
    ).write(Path(out))


_OF_AMBER = re.compile(r" \(AmbER, (?:Table|Figure) \d+\)")


def _without_amber(section: Section) -> Section:
    """The section of a benchmark that has none of AmbER's tasks: no table of it is called AmbER's."""
    figures = [replace(f, title=_OF_AMBER.sub("", f.title)) for f in section.figures]
    tables = [
        replace(t, title=_OF_AMBER.sub("", t.title), plain=_OF_AMBER.sub("", t.plain)) for t in section.tables
    ]
    return replace(section, tables=tables, figures=figures)


def _sections(
    runs: Sequence[Run],
    systems: Sequence[scoring.Scores],
    benchmark: Benchmark,
    answers: Sequence[Answers],
    options: ReportOptions,
) -> list[Section]:
    from whichone.report.name_set_tables import statistics_section
    from whichone.report.three_choice import three_choice_section

    redact = options.redact
    ranked = {s.system: run.ranked_pages() for s, run in zip(systems, runs, strict=True)}
    results = first_screen.first_results(runs, systems, benchmark)
    telling = first_screen.clearest_panels(runs, systems, benchmark, options.panels, results)
    example = gap = tail = None
    if importlib.util.find_spec("matplotlib") is not None:
        from whichone.report import figures

        gap = figures.gap_figure(systems, benchmark, options.gap_scale)
        if not redact:
            place = options.knowledge or figures.knowledge_beside(benchmark)
            entities = figures.popularity_sample(place) if place and benchmark.sets else None
            tail = figures.long_tail(benchmark, entities=entities)
            example = figures.example_figure(ranked, results.kinds, benchmark) if results.any_set else None
    popularity = [figure for figure in (tail, gap) if figure is not None]
    sections = [
        first_screen.first_screen(runs, systems, benchmark, results, telling, redact=redact),
        Section("Confused", [confusion_table(systems)], [example] if example else [])
        if results.any_set
        else None,
        Section(
            "Found",
            [accuracy_table(systems, 1, 5), accuracy_table(systems, 20, 9)],
            html=_found_html(systems, results),
        ),
        kinds_section(systems, benchmark, results),
        nobody_section(runs, systems, benchmark),
        Section("Popularity", figures=popularity) if popularity else None,
        three_choice_section(ranked, answers, benchmark, options.study),
        *(section(runs, benchmark, redact=redact) for section in registry.every("tables").values()),
        Section("Between systems", [rank_table(systems), comparison_table(systems)])
        if len(systems) > 1
        else None,
        statistics_section(benchmark, redact),
        None if redact or not results.any_set else Section("Examples", [example_sets(benchmark)]),
        Section(
            f"The {len(telling)} most telling names",
            html=first_screen.names_html(
                telling, BearerLabels(benchmark), [s.system for s in systems], redact=redact
            ),
            on_paper=False,
        )
        if telling
        else None,
    ]
    return [section for section in sections if section is not None]


def _found_html(systems: Sequence[scoring.Scores], results: first_screen.FirstResults) -> str:
    places = rows_by_place(systems[0].queries)
    if not results.any_gold or len(places) > _MOST_KINDS:
        return ""
    groups = {
        ", ".join(filter(None, (*place[:-1], TASKS.get(place[-1], place[-1])))): rows
        for place, rows in places.items()
    }
    shares = first_screen.shares_by(first_screen.best_first(systems, results), results, groups)
    return render("kinds.html", kinds=[("", shares)], namesakes=results.any_set)


def nobody_section(
    runs: Sequence[Run], systems: Sequence[scoring.Scores], benchmark: Benchmark
) -> Section | None:
    """What becomes of questions about bearers that the corpus does not have, and the curve of being careful."""
    drawn = {s.system: Curve.of(run, benchmark) for run, s in zip(runs, systems, strict=True)}
    if not (curves := {system: curve for system, curve in drawn.items() if curve is not None}):
        return None
    own = [scoring.score_run(run, benchmark, parse_measures(ABSENT_MEASURES)) for run in runs]
    rows: list[Sequence[Cell]] = [
        (system, *scoring.slice_scores(scores)[0][1].values(), *map(curve.noticed, AT_REFUSED), curve.by)
        for (system, curve), scores in zip(curves.items(), own, strict=True)
    ]
    table = Table(
        key="nobody",
        title="Nobody here: bearers that the corpus does not have",
        columns=(
            "system", "somebody handed over", "refused though there",
            *(f"absent noticed where {100 * share:g} % of those there are refused" for share in AT_REFUSED), "sure by",
        ),
        rows=rows,
        note="A system declines by an empty result or by its own note; the curve moves a bar over how sure it says it is.",
    )  # fmt: skip
    figure = None
    if importlib.util.find_spec("matplotlib") is not None:
        from whichone.report.figures import operating_curve

        figure = operating_curve({system: curve.points() for system, curve in curves.items()})
    return Section("Nobody here", [table], [figure] if figure else [])


def rank_table(systems: Sequence[scoring.Scores]) -> Table:
    """The systems by rank: those that the benchmark cannot tell apart share one, and it is said where none can be."""
    (measure,) = parse_measures(("acc@1",))
    result = compare(systems, [measure])
    ranks = tied_ranks([s.system for s in systems], result)
    rows = {s.system: scoring.estimate(s, measure, np.arange(len(s.queries))) for s in systems}
    order = sorted(rows, key=lambda s: (ranks[s], -measure.sign * (rows[s].value or 0.0), s))
    equal = {pair for c in result if c.p_holm >= LEVEL for pair in ((c.a, c.b), (c.b, c.a))}
    together = {system: [other for other in order if (system, other) in equal] for system in order}
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


def _sees(systems: Sequence[scoring.Scores], measure: Measure) -> str:
    """What difference the benchmark's names would show, in words; nothing where they are too few to say."""
    try:
        smallest = max(n.smallest for n in names_needed(systems, measure=str(measure), difference=0.05))
    except UsageError:
        return ""
    return f"; its names show differences from about {100 * smallest:.0f} points on"


def comparison_table(systems: Sequence[scoring.Scores]) -> Table:
    return Table(
        key="comparison",
        title="Paired differences",
        columns=("measure", "a", "b", "b − a", "p", "p (Holm)", "effect", "b better/equal/worse"),
        rows=[
            (
                c.measure,
                c.a,
                c.b,
                c.difference,
                *(
                    (f"{c.p:.4f}", f"{c.p_holm:.4f}{'*' * (c.p_holm < LEVEL)}")
                    if c.value_a is not None and c.value_b is not None
                    else (None, None)
                ),
                c.effect,
                f"{c.wins}/{c.ties}/{c.losses}",
            )
            for c in compare(systems, parse_measures(scoring.COMPARED))
        ],
        note=(
            f"b minus a in points; {cluster_note(systems[0].queries)}; p from a permutation test that swaps whole "
            f"clusters ({cluster_rule(systems[0].queries)}); effect: mean difference of clusters over their "
            "standard deviation; b better/equal/worse counts queries, or name sets for all correct."
        ),
    )


def _meta(systems: Sequence[scoring.Scores], benchmark: Benchmark) -> dict[str, str]:
    """What the figures rest on, and why some of them are not to be quoted as they are."""
    licence = next((line for line in benchmark.card.splitlines() if "icence" in line), "")
    cautions: dict[str, list[str]] = {}
    for scores in systems:
        same: dict[str, list[str]] = {}  # what is said of several measures, once
        for said in scores.cautions():
            own = said.removeprefix(f"{scores.system}: ").removeprefix(f"{scores.marked} ")
            measure, _, rest = own.removeprefix(f"{SHALLOW} ").partition(": ")
            of = same.setdefault(rest if own.startswith(SHALLOW) else own, [])
            of += [measure] if own.startswith(SHALLOW) else []
        cautions[scores.marked] = [f"{', '.join(of)}: {what}" if of else what for what, of in same.items()]
    return {
        "benchmark": benchmark.id,
        "intervals": cluster_note(benchmark.queries),
        "licence": licence or "see the benchmark's card",
        **{f"run {system}": in_plain_words("; ".join(own)) for system, own in cautions.items() if own},
    }


def settings_table(runs: Sequence[Run], systems: Sequence[scoring.Scores]) -> Table:
    made = [dict(_flat(dict(run.description))) for run in runs]
    names = list(dict.fromkeys(k for settings in made for k, v in settings.items() if v != "–"))
    return Table(
        key="settings",
        title="Settings",
        columns=("setting", *(s.system for s in systems)),
        rows=[(name, *(settings.get(name, "–") for settings in made)) for name in names],
    )


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Settings in words, those inside others by both names ("bm25: stop words"); without versions of content, which the run's manifest has."""
    for name, value in settings.items():
        words = _SETTINGS.get(name, name.replace("_", " "))
        if name == "versions" and isinstance(value, Mapping):
            yield words, ", ".join(f"{package} {version}" for package, version in value.items())
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{words}: ")
        else:
            listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            known = value is not None and _HASH.fullmatch(listed) is None
            yield f"{before}{words}", (listed if known else "") or "–"


_SETTINGS = {"k": "results for a question (k)", "b": "length normalisation (b)", "k1": "saturation (k1)"}
_HASH = re.compile(r"[0-9a-f]{12,}")


# Gold pages found, for any benchmark: by dataset or relation, shared or unique names.


def kinds_section(
    systems: Sequence[scoring.Scores], benchmark: Benchmark, results: first_screen.FirstResults | None = None
) -> Section | None:
    """Bars and tables by kind of question, where queries say how they are worded or whose names are shared."""
    tables: list[Table] = []
    bars: list[tuple[str, dict[str, list[first_screen.Shares]]]] = []
    values: dict[str, set[Any]] = {}
    related = with_role = False
    for query in benchmark.queries:
        for key in (BENCHMARK, "dataset", *_KINDS):
            if key in query.attributes:
                values.setdefault(key, set()).add(query.attributes[key])
        related, with_role = related or bool(query.relation), with_role or bool(query.role)
    of = [key for key in (BENCHMARK, "dataset") if key in values]
    for key, (title, _) in _KINDS.items():
        if (key == "shared_name" and key in values) or 1 < len(values.get(key, ())) <= _MOST_KINDS:
            tables.append(breakdown_table(systems, [*of, key], title))
            if results is not None and results.any_gold:
                groups = scoring.groups_of(benchmark.queries, [systems[0].column(key)])
                named = {_kind(key, kind): rows for (kind,), rows in groups if kind is not None}
                bars.append((title, first_screen.shares_by(systems, results, named)))
    if related and not with_role:
        tables.append(relation_table(systems))
    html = render("kinds.html", kinds=bars, namesakes=results.any_set) if results and bars else ""
    return Section("By kind of question", tables, html=html) if tables else None


def _kind(key: str, value: object) -> str:
    return ("shared" if value else "unique") if key == "shared_name" else str(value)


# Attributes of queries that a report splits its figures by.
_KINDS = {
    "shared_name": (
        "Unique and shared names",
        (
            "A name is shared when another page of the corpus has the same title once parentheses are "
            "removed and case is folded."
        ),
    ),
    "wording": ("By wording of the question", "How the question says who is meant."),
    "kind": ("By kind of question", ""),
    "noise": ("By noise in the name", "How the name was changed before it was asked."),
}
_MOST_KINDS = 30


def breakdown_table(systems: Sequence[scoring.Scores], by: Sequence[str], title: str) -> Table:
    """Accuracy at 1, 5 and 20 and confusion, split by the last of some attributes."""
    *of, key = by
    measures = ("acc@1", "acc@5", "acc@20", "confused@20")
    rows: list[list[Cell]] = []
    for scores in systems:
        for where, estimates in scoring.slice_scores(scores, by):
            if where[key] is None:
                continue  # queries of another benchmark, which do not say
            place = [": ".join(str(where[k]) for k in of if where[k]) or "all"] if of else []
            figures = [estimates[m] for m in measures]
            rows.append([*place, _kind(key, where[key]), scores.system, *figures, estimates["acc@1"].n])
    return Table(
        key=f"by-{key}".replace("by-shared_name", "shared-names"),
        title=title,
        columns=(
            *(["dataset"] if of else []),
            "names" if key == "shared_name" else key,
            "system",
            *measures,
            "queries",
        ),
        rows=sorted(rows, key=lambda row: [*map(str, row[: 1 + bool(of)])]),
        note=_KINDS[key][1],
    )


def relation_table(systems: Sequence[scoring.Scores]) -> Table:
    """Accuracy at 20 for each relation, macro and micro."""
    labels = {
        str(q.relation): str(q.attributes["property_label"])
        for q in systems[0].queries
        if q.attributes.get("property_label")
    }
    cells: list[tuple[str, str, Cell]] = []
    for scores in systems:
        parts = {str(w["relation"]): e["acc@20"] for w, e in scoring.slice_scores(scores, ["relation"])}
        macro = sum(e.value or 0.0 for e in parts.values()) / len(parts)
        cells += [(labels.get(r, r), scores.system, e) for r, e in sorted(parts.items())]
        cells.append(("macro", scores.system, f"{100 * macro:.1f}"))
        cells.append(("micro", scores.system, scoring.slice_scores(scores)[0][1]["acc@20"]))
    return Table.of(
        "relations",
        "A gold page among the first 20, by relation",
        ["relation"],
        (([row], column, cell) for row, column, cell in cells),
        note="A gold page among the first 20. Macro is the mean of the relations, micro the mean of the queries.",
    )
