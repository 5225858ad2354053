"""EntityQuestions' tables for any runs: 1, 5, 6 and 7, the luck in the hits, and what can be known."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import published_relations
from whichone.benchmarks.several import benchmark_of
from whichone.measures.scores import Scores, slice_scores, subset
from whichone.records import Passage, Query, page_of
from whichone.report.page import Cell, Table
from whichone.runs.run import Run

K = 20
IN_TABLE_1 = ("P36", "P26", "P159", "P19", "P69", "P170", "P40")
EXAMPLES = 3
SHOWN = 3
WORDS = 30


def question_of(relation: str) -> str:
    """The question a relation is asked by, with [E] for the name, as the paper prints it."""
    known = published_relations().get(relation)
    return f"{relation} {known.question.replace('$name', '[E]')}" if known else relation


def table_1(systems: Sequence[Scores], measure: str, simple: Container[str] = ("",)) -> Table:
    """Datasets first, then a few relations; of questions with relations the macro average leads.

    Relations are those of the benchmarks in `simple`.
    """
    names = [s.system for s in systems]
    all_cells: dict[str, dict[str, Cell]] = {}
    for scores in systems:
        for name, part in _datasets(scores):
            related = subset(part, lambda query: bool(query.relation))
            if related.queries:
                macro = macro_average(related, measure)
                all_cells.setdefault(f"{name}, macro average", {})[scores.system] = macro
            row = f"{name}, micro average" if related.queries else name
            all_cells.setdefault(row, {})[scores.system] = _micro(part, measure)
        asked = subset(scores, lambda query: benchmark_of(query) in simple)
        for where, estimates in slice_scores(asked, ["relation"]):
            if where["relation"] in IN_TABLE_1:
                all_cells.setdefault(question_of(where["relation"]), {})[scores.system] = estimates[
                    measure
                ]
    return Table(
        key="entityquestions-table-1",
        title=f"Top-{K} retrieval accuracy (EntityQuestions, Table 1)",
        columns=("questions", *names),
        rows=[(row, *(cells.get(name) for name in names)) for row, cells in all_cells.items()],
        note=f"Percent of questions with an answer in one of the first {K} passages (DPR's tokens). Macro: the "
        "mean over relations, as published; micro: over questions.",
    )


def _datasets(scores: Scores) -> list[tuple[str, Scores]]:
    """The questions by benchmark and dataset, where they say which they are of."""
    known = dict.fromkeys(_dataset(q) for q in scores.queries)
    if set(known) <= {""}:
        return [("all questions", scores)]

    def of(name: str) -> Callable[[Query], bool]:
        return lambda query: _dataset(query) == name

    return [(name or "other questions", subset(scores, of(name))) for name in known]


def _dataset(query: Query) -> str:
    named = (benchmark_of(query), str(query.attributes.get("dataset") or ""))
    return ": ".join(filter(None, named))


def macro_average(scores: Scores, measure: str) -> Cell:
    """The mean over relations of each relation's mean, as the paper averages."""
    all_values = [estimates[measure].value for _, estimates in slice_scores(scores, ["relation"])]
    values = [value for value in all_values if value is not None]
    return f"{100 * sum(values) / len(values):.1f}" if values else None


def relation_table(systems: Sequence[Scores], measure: str, number: int, note: str) -> Table:
    """Table 5 or 6: every relation, macro and micro, all names and those that are unique or shared."""
    slices = _name_slices(systems[0].queries)
    columns = [(s, names) for s in systems for names in slices]
    cells: dict[str, dict[tuple[str, str], Cell]] = {}
    for scores, names in columns:
        part = _only(scores, names)
        for where, estimates in slice_scores(part, ["relation"]) if part.queries else ():
            if where["relation"]:
                place = cells.setdefault(question_of(where["relation"]), {})
                place[scores.system, names] = estimates[measure]
    rows: list[Sequence[Cell]] = [
        (row, *(cells[row].get((s.system, names)) for s, names in columns)) for row in sorted(cells)
    ]
    macro = [_macro(cells, s.system, names) for s, names in columns]
    micro = [_micro(_only(s, names), measure) for s, names in columns]
    rows += [("macro average", *macro), ("micro average", *micro)]
    return Table(
        key=f"entityquestions-table-{number}",
        title=f"Top-{K} accuracy by relation (EntityQuestions, Table {number})",
        columns=("relation", *(_heading(s.system, names) for s, names in columns)),
        rows=rows,
        note=note,
    )


def _name_slices(queries: Sequence[Query]) -> list[str]:
    shared = {q.attributes.get("shared_name") for q in queries}
    return ["all", "unique", "shared"] if shared >= {True, False} else ["all"]


def _heading(system: str, names: str) -> str:
    return system if names == "all" else f"{system}, {names}"


def _only(scores: Scores, names: str) -> Scores:
    """The queries with relations, and only those with unique or with shared names."""
    return subset(
        scores,
        lambda q: (
            bool(q.relation)
            and names in ("all", "shared" if q.attributes.get("shared_name") else "unique")
        ),
    )


def _macro(cells: dict[str, dict[tuple[str, str], Cell]], system: str, names: str) -> Cell:
    from whichone.measures.intervals import Estimate

    all_values = [row.get((system, names)) for row in cells.values()]
    values = [e.value for e in all_values if isinstance(e, Estimate) and e.value is not None]
    return f"{100 * sum(values) / len(values):.1f}" if values else None


def _micro(scores: Scores, measure: str) -> Cell:
    return slice_scores(scores)[0][1][measure] if scores.queries else None


def luck_table(systems: Sequence[Scores]) -> Table:
    """How many of the hits were luck: the answer stood on a page that is not the right one."""
    columns = [f"{m}@{k}" for k in (1, K) for m in ("answer_in_top", "right_page", "lucky_hit")]
    by = ["shared_name"] if len(_name_slices(systems[0].queries)) > 1 else []
    rows: list[Sequence[Cell]] = []
    for scores in systems:
        for where, estimates in slice_scores(scores, by):
            names = {True: "shared", False: "unique", None: "all"}[where.get("shared_name")]
            rows.append((scores.system, names, *(estimates[c] for c in columns)))
    return Table(
        key="lucky-hits",
        title="Was it the right one?",
        columns=("system", "names", *columns),
        rows=rows,
        note="answer_in_top: an answer in the first k passages; right_page: in one that is of a gold page; "
        "lucky_hit: the share of the hits with no such passage of a gold page.",
    )


def resolvable_table(systems: Sequence[Scores]) -> Table | None:
    """What is reached on questions that can be resolved, and the best that any retriever could."""
    if not any("resolvable" in q.attributes for q in systems[0].queries):
        return None
    columns = ("acc@1", "best_possible@1", "acc@5", "best_possible@5", "confused@20")
    rows: list[Sequence[Cell]] = [
        (scores.system, str(where["resolvable"]), *(estimates[c] for c in columns))
        for scores in systems
        for where, estimates in slice_scores(scores, ["resolvable"])
    ]
    return Table(
        key="resolvable",
        title="Could anyone have known?",
        columns=("system", "resolvable", *columns),
        rows=rows,
        note="no: another bearer of the name has the relation too, so a retriever can only guess; unknown: "
        "none is known to have it, but one may; best_possible counts what is unknown as knowable.",
    )


def table_7(runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark) -> Table:
    """Questions a system misses, with the gold page's passage and what came instead."""
    rows: list[Sequence[Cell]] = []
    titles = benchmark.page_titles
    for run, scores in zip(runs, systems, strict=True):
        hits = zip(scores.queries, scores.values[f"answer_in_top@{K}"], strict=True)
        lacking = (
            q for q, hit in hits if hit == 0 and any(page in titles for page in q.gold_pages())
        )
        missed = list(islice(lacking, EXAMPLES))
        ranked = _first_passages(run, {q.id for q in missed})
        for query in missed:
            gold = min(page for page in query.gold_pages() if page in titles)
            shown = [("gold", f"{gold}#0"), *enumerate(ranked.get(query.id, ()), 1)]
            texts = benchmark.corpus.get([passage for _, passage in shown])
            rows += [
                (
                    scores.system,
                    query.input,
                    str(rank),
                    titles.get(page_of(p), p),
                    _opening(texts, p),
                )
                for rank, p in shown
            ]
    return Table(
        key="entityquestions-table-7",
        title="What was retrieved instead (EntityQuestions, Table 7)",
        columns=("system", "question", "rank", "page", "passage"),
        rows=rows,
        note=f"The first questions without an answer in the first {K} passages.",
    )


def _first_passages(run: Run, questions: set[str]) -> dict[str, list[str]]:
    passages: dict[str, list[str]] = {}
    table = run.rows_of(sorted(questions), SHOWN)
    for row in table.sort_by([("question", "ascending"), ("rank", "ascending")]).to_pylist():
        passages.setdefault(row["question"], []).append(row["passage"])
    return passages


def _opening(texts: Mapping[str, Passage], passage: str) -> str:
    words = texts[passage].text.split() if passage in texts else []
    return " ".join(words[:WORDS]) + (" ..." if len(words) > WORDS else "")
