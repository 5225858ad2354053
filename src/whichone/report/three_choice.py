"""The three-document choice (AmbER, Table 8) of runs, retrievers and readers, and its table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from whichone.benchmarks.bearer_labels import Fewer, ThreeChoices, three_choices
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.measures.intervals import cluster_note
from whichone.measures.three_choice import ThreeRow, score_three
from whichone.report.answers_report import answers_among
from whichone.report.page import Section
from whichone.report.study_rows import people_rows
from whichone.report.table import Cell, Table
from whichone.runs.run import Answers, Run
from whichone.runs.three_choice import rank_three

Ranked = Mapping[str, Sequence[str]]


def three_choice_scores(
    place: str,
    folders: Sequence[str | Path],
    retrievers: Sequence[str] = (),
    *,
    fewer: Fewer = "skip",
    most: int | None = None,
    seed: int = 0,
    study: str | Path | None = None,
) -> tuple[list[ThreeRow], Benchmark, ThreeChoices]:
    """Runs cut to the three pages, retrievers on the three pages alone, and readers' exact match."""
    if not folders and not retrievers and not study:
        raise UsageError(
            "there is nothing to score", hint="name runs or answers, or retrievers by --retriever"
        )
    answers, places = answers_among(folders)
    benchmark = Benchmark.open(place)
    choices = three_choices(benchmark, seed=seed, most=most, fewer=fewer)
    ranked: dict[str, Ranked] = {}
    for run in map(Run.open, places):
        if run.benchmark_id != benchmark.id:
            raise BadInput(
                f"the run is over {run.benchmark_id}, not {benchmark.id}",
                file=run.path,
                hint="retrieve on this benchmark first",
            )
        name = run.name if run.name not in ranked else f"{run.name} ({run.path.name})"
        ranked[name] = run.ranked_pages()
    for retriever in retrievers:
        name, options = parse_retriever(retriever)
        ranked[f"{retriever}, three pages alone"] = rank_three(
            name, benchmark, choices.items, options
        )
    rows = score_three(benchmark, choices, ranked, answers)
    people = people_rows(study, benchmark) if study else []
    return sorted([*rows, *people], key=lambda row: row.collection), benchmark, choices


def parse_retriever(given: str) -> tuple[str, dict[str, str]]:
    """`namesake encoder=none`: a name and its options."""
    name, *words = shlex.split(given) or [""]
    options = dict(word.partition("=")[::2] for word in words)
    if not name or any("=" not in word for word in words):
        raise UsageError(
            f"{given!r} is not a retriever with options",
            hint='write it as --retriever "namesake encoder=none"',
        )
    return name, options


def three_choice_section(
    ranked: Mapping[str, Ranked],
    answers: Sequence[Answers],
    benchmark: Benchmark,
    study: str | Path | None = None,
) -> Section | None:
    """Table 8 for a report; None where no name has three bearers with pages."""
    choices = three_choices(benchmark)
    people = people_rows(study, benchmark) if study else []
    if not choices.items and not people:
        return None
    gold = [a for a in answers if a.description["setting"]["passages"] == "gold"]
    rows = score_three(benchmark, choices, ranked, gold) if choices.items else []
    rows = sorted([*rows, *people], key=lambda row: row.collection)
    return Section("Which of three?", [three_choice_table(rows, benchmark, choices)])


def three_choice_table(
    rows: Sequence[ThreeRow], benchmark: Benchmark, choices: ThreeChoices
) -> Table:
    left_out = choices.skipped["fewer than three bearers with pages"]
    read = any(row.em is not None for row in rows)
    columns = ["collection", "system", "right page", "none of the three", "EM", "items"]
    cells: list[list[Cell]] = [
        [row.collection, row.system, row.accuracy, row.none_found, row.em, row.items]
        for row in rows
    ]
    if not read:
        del columns[4]
        for line in cells:
            del line[4]
    exact = "EM: exact match of a reader that is shown gold, or of people. " if read else ""
    return Table(
        key="three-choice",
        title="Choosing among three bearers' pages (AmbER, Table 8)",
        columns=columns,
        rows=cells,
        note=(
            "Question answering; each question comes with its gold page and the pages of two other bearers "
            "of the name, drawn by a seed. Right page: percent of questions for which gold is the best "
            "ranked of the three. None of the three: percent for which the run's list contains none of them, "
            f"which counts as wrong. {exact}By chance one is right on 33.3 %. {left_out:,} questions about "
            "names with fewer than three bearers' pages are left out. "
            f"{cluster_note(benchmark.queries)}."
        ),
    )
