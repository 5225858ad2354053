"""KILT's Table 4 split where the paper does not: unique and shared names, and popularity."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, score_run, slice_scores
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.statistics import is_kilt
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run

NAMES = {True: "shared", False: "unique", None: "no gold page"}


def namesake_section(
    runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False
) -> Section | None:
    """R-precision by name and by popularity; None unless KILT's queries know their names."""
    known = {key for query in benchmark.queries for key in query.attributes}
    if not is_kilt(benchmark.queries) or "shared_name" not in known:
        return None
    measures = parse_measures(["rprec"])
    systems = [score_run(run, benchmark, measures) for run in runs]
    tables = [_table(systems, "shared_name", "names", "Unique and shared names")]
    if "popularity_bin" in known:
        tables.append(_table(systems, "popularity_bin", "page views", "Popularity"))
    return Section("R-precision where names are shared", tables)


def _table(systems: Sequence[Scores], column: str, head: str, title: str) -> Table:
    rows: list[Sequence[Cell]] = []
    labels = {name: dataset.label for name, dataset in datasets().items()}
    for scores in systems:
        for where, estimates in slice_scores(scores, ["dataset", column]):
            dataset = str(where["dataset"])
            value = where[column]
            label = NAMES[value] if column == "shared_name" else str(value or "no gold page")
            estimate = estimates["rprec"]
            row = (labels.get(dataset, dataset), label, scores.system, estimate, estimate.n)
            rows.append(row)
    return Table(
        key=f"kilt-{column.replace('_', '-')}",
        title=f"R-precision: {title.lower()} (KILT, Table 4 split)",
        columns=("dataset", head, "system", "R-precision", "queries"),
        rows=sorted(rows, key=lambda row: (str(row[0]), str(row[1]))),
        note="A name is shared when another entity with a page has it as its label, alias or title.",
    )
