"""What a report of runs says of a benchmark of KILT's: Tables 1 and 4, Figures 1 and 2."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.arrow_records import blocks
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.report.answer_tables import retrieval_table
from whichone.papers.kilt.report.statistics import datasets_per_page_figure
from whichone.papers.kilt.statistics import PagesInDatasets, is_kilt
from whichone.records import Query
from whichone.report.page import Cell, Section, Table
from whichone.runs.run import Run

TASKS = {
    "fc": "Fact Checking",
    "el": "Entity Linking",
    "sf": "Slot Filling",
    "qa": "Open Domain QA",
    "dialogue": "Dialogue",
}
INPUTS = {"fc": "Claim", "el": "Text Chunk", "sf": "Structured", "qa": "Question"}
OUTPUTS = {"fc": "Classification", "el": "Entity", "sf": "Entity", "qa": "Extractive"}
ABSTRACTIVE = {"hotpotqa": "Short Abstractive", "eli5": "Long Abstractive"}
_SHOWN = 200
_BLOCK = 4_096


def runs_section(
    runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False
) -> Section | None:
    """None for a benchmark that is not of KILT's kind."""
    if not is_kilt(benchmark.queries):
        return None
    tables = [datasets_table(benchmark), retrieval_table(runs, benchmark)]
    if not redact:
        tables.append(instances_table(benchmark))
    drawn = importlib.util.find_spec("matplotlib") is not None
    figures = [datasets_per_page_figure(benchmark)] if drawn else []
    return Section("KILT", tables, figures)


def datasets_table(benchmark: Benchmark) -> Table:
    """Table 1, of the datasets that are asked."""
    asked = {str(query.attributes.get("dataset", "")) for query in benchmark.queries}
    rows: list[Sequence[Cell]] = []
    for name, known in datasets().items():
        if name in asked:
            task = TASKS.get(known.task, "Dialogue")
            given = INPUTS.get(known.task, "Conversation")
            wanted = ABSTRACTIVE.get(name, OUTPUTS.get(known.task, "Long Abstractive"))
            rows.append((known.label, known.title, known.citation, task, given, wanted))
    return Table(
        key="kilt-datasets",
        title="Datasets and tasks (KILT, Table 1)",
        columns=("label", "dataset", "reference", "task", "input", "output"),
        rows=rows,
        note="Of the eleven datasets, those in this benchmark.",
    )


def instances_table(benchmark: Benchmark, most: int = 8) -> Table:
    """Figure 1 as a table: an instance of each dataset, those that share a page beside each other."""
    pages = PagesInDatasets(benchmark.queries)
    best: dict[str, tuple[tuple[int, str], Query]] = {}
    for block in blocks(benchmark.queries, _BLOCK):
        needed = [(page, query) for query in block for page in sorted(query.gold_pages())]
        for (page, query), number in zip(needed, pages.of([p for p, _ in needed]), strict=True):
            name = str(query.attributes.get("dataset", ""))
            if name not in best or (-number, page) < best[name][0]:
                best[name] = (-number, page), query
    titles = benchmark.page_titles
    rows: list[Sequence[Cell]] = []
    for name, ((_, page), query) in sorted(best.items(), key=lambda item: (item[1][0], item[0]))[
        :most
    ]:
        answer = next(iter(query.answers()), "")
        source = _title(query, page) or titles.get(page, page)
        rows.append((name, query.input[:_SHOWN], answer[:_SHOWN], source))
    return Table(
        key="kilt-instances",
        title="One interface: input, output, provenance (KILT, Figure 1)",
        columns=("dataset", "input", "output", "provenance"),
        rows=rows,
        note="One instance a dataset; pages that several datasets need come first. Long texts are cut.",
    )


def _title(query: Query, page: str) -> str | None:
    return next(
        (s.title for o in query.outputs for g in o.provenance for s in g if s.page == page), None
    )
