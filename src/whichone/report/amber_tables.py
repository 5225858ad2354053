"""AmbER's tables of results: accuracy (5 and 9), confusion (6), and example sets (1)."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.comparison import compare
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, cluster_rule
from whichone.measures.summary import DEPTH, summarise
from whichone.report.table import Cell, Table

TASKS = {"fc": "fact checking", "sf": "slot filling", "qa": "question answering"}


def accuracy_table(systems: Sequence[Scores], k: int, number: int) -> Table:
    """Table 5 (k = 1) or 9 (k = 20): all, head, tail and all correct."""
    rows = [row for scores in systems for row in summarise(scores, k)]
    marks = _best_marks(systems, k)
    ordered = sorted(rows, key=lambda r: (r.collection, r.task))
    return Table(
        key=f"accuracy-at-{k}",
        title=f"Top-{k} retrieval (AmbER, Table {number})",
        columns=("collection", "task", "system", "all", "head", "tail", "all correct"),
        rows=[
            (
                r.collection,
                TASKS.get(r.task, r.task),
                r.system,
                r.values["all"],
                r.values["head"],
                r.values["tail"],
                r.values["all_correct"],
            )
            for r in ordered
        ],
        note=(
            f"Percent of queries with a gold page among the first {k}; all correct: percent of name sets "
            f"with every query right. 95 % intervals, resampled by {cluster_rule(systems[0].queries)}. "
            "An asterisk marks a system that differs from the first one over all queries (paired "
            "permutation test by cluster, Holm-corrected, p < 0.05)."
        ),
        marks={(i, 3): marks.get(r.system, "") for i, r in enumerate(ordered)},
    )


def _best_marks(systems: Sequence[Scores], k: int) -> dict[str, str]:
    if len(systems) < 2:
        return {}
    found = compare(systems, parse_measures([f"acc@{k}"]), baseline=systems[0].system)
    return {c.b: "*" if c.p_holm < 0.05 else "" for c in found}


def confusion_table(systems: Sequence[Scores]) -> Table:
    """Table 6: how often a page of another bearer ranks above the gold page."""
    rows = [row for scores in systems for row in summarise(scores, 1)]
    return Table(
        key="confusion",
        title="Entity confusion (AmbER, Table 6)",
        columns=("collection", "task", "system", "all", "head", "tail"),
        rows=[
            (
                r.collection,
                TASKS.get(r.task, r.task),
                r.system,
                r.values["confused"],
                r.values["confused_head"],
                r.values["confused_tail"],
            )
            for r in sorted(rows, key=lambda r: (r.collection, r.task))
        ],
        note=(
            f"Percent of queries where a page of another bearer of the name ranks above the first gold page "
            f"within {DEPTH} pages; gold that is not retrieved ranks last. The definition is ours: no "
            "released program computes it."
        ),
    )


def example_sets(benchmark: Benchmark, most: int = 4) -> Table:
    """Table 1: a few name sets with their bearers' queries."""
    wanted = ("Napoleon", "Yoko Ono", "Apple", "Her")
    sets = sorted(benchmark.sets, key=lambda s: (s.name not in wanted, s.name))[:most]
    keys = {s.id for s in sets}
    chosen = [q for q in benchmark.queries if q.name_set in keys and q.task == "qa"]
    titles = benchmark.page_titles
    rows: list[Sequence[Cell]] = []
    for query in sorted(chosen, key=lambda q: (q.name or "", q.role or "", q.input)):
        gold = ", ".join(titles.get(p, p) for p in sorted(query.gold_pages()))
        answers = query.answers()
        rows.append((query.entity or "", query.input, answers[0] if answers else "", gold))
    return Table(
        key="examples",
        title="Examples of name sets (AmbER, Table 1)",
        columns=("entity", "input", "answer", "gold page"),
        rows=rows,
        note="Each name is borne by several entities; every query can be resolved by what it asks.",
    )
