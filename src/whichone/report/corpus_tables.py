"""Gold pages found, for any benchmark: by dataset or relation, shared or unique names."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import BENCHMARK
from whichone.measures.scores import Scores, slice_scores
from whichone.report.page import Section
from whichone.report.table import Cell, Table


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
