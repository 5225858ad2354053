"""KILT's Table 6 and Figure 2 for a benchmark, to print and to put on a page."""

from __future__ import annotations

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.kilt.statistics import LEGEND, datasets_per_page, is_kilt, table_6
from whichone.report.name_set_tables import PaperStatistics
from whichone.report.page import PALETTE, Figure, Table, drawing, finish


def kilt_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both as a document and as text, and Table 6 for a page; None for a benchmark that is not of KILT's kind."""
    if not is_kilt(benchmark.queries):
        return None
    table = statistics_table(benchmark)
    pages = datasets_per_page(benchmark.queries)
    counts_text = [f"{count:,} in {number}" for number, count in pages.items()]
    text = f"{table.to_markdown()}\nGold pages by number of datasets (Figure 2): {', '.join(counts_text)}"
    document = {"table_6": table_6(benchmark.queries), "datasets_per_page": pages}
    return PaperStatistics(document, text, (table,))


def statistics_table(benchmark: Benchmark) -> Table:
    rows = table_6(benchmark.queries)
    columns = tuple(rows[0]) if rows else ()
    shown = [["x" if c is True else "" if c is False else c for c in row.values()] for row in rows]
    return Table(
        key="kilt-statistics",
        title="Dataset statistics (KILT, Table 6)",
        columns=columns,
        rows=shown,
        note=LEGEND,
    )


def datasets_per_page_figure(benchmark: Benchmark) -> Figure:
    """Figure 2: pages by the number of datasets that need them, on a logarithmic axis."""
    pages = datasets_per_page(benchmark.queries)
    with drawing() as (figure, axes):
        axis = axes[0][0]
        axis.bar([str(number) for number in pages], list(pages.values()), color=PALETTE[0])
        axis.set_yscale("log")
        axis.set_xlabel("datasets with knowledge in a page")
        axis.set_ylabel("pages")
        note = f"{sum(pages.values()):,} pages hold knowledge that some query needs."
        return finish(figure, "datasets-per-page", "Pages and datasets (KILT, Figure 2)", note)
