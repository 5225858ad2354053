"""What reports and statistics say of a benchmark of KILT's kind: the paper's tables and figures over it."""

import importlib.util
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import benchmark_of
from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, blocks
from whichone.measures.comparison import check_comparable
from whichone.measures.intervals import cluster_note
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.scores import estimate, groups_of, score_answers, score_run, slice_scores
from whichone.papers.kilt.kilt_record import KEPT, datasets
from whichone.records import Query
from whichone.report.name_set_tables import TASKS as TASK_WORDS
from whichone.report.name_set_tables import PaperStatistics
from whichone.report.page import PALETTE, Cell, Figure, Section, Table, drawing, finish
from whichone.runs.run import Answers, Run

_BLOCK = 4_096
LEGEND = (
    "APS: spans in a provenance set. APN: provenance sets a query. APP: pages in all of a query's "
    "provenance. AAN: different answers a query. Averages leave out queries that have none."
)


def is_kilt(queries: Iterable[Query]) -> bool:
    return any(KEPT in query.attributes for query in queries)


def table_6(queries: Iterable[Query]) -> list[dict[str, Any]]:
    """One row a dataset, in the paper's order; other datasets after them."""
    counted: dict[str, _Row] = {}
    for query in queries:
        name = str(query.attributes.get("dataset") or benchmark_of(query))
        counted.setdefault(name, _Row()).add(query)
    order = [*datasets(), *sorted(counted.keys() - datasets().keys())]
    return [counted[name].figures(name) for name in order if name in counted]


class _Row:
    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.hops = 0
        self.sizes: Counter[str] = Counter()

    def add(self, query: Query) -> None:
        self.sizes[str(query.attributes.get("split", ""))] += 1
        sets = {  # the different ones, each a set of spans; empty ones are none
            frozenset(
                (e.page, e.start_paragraph, e.start_character, e.end_paragraph, e.end_character)
                for e in group
            )
            for output in query.outputs
            for group in output.provenance
            if group
        }
        self._count("AAN", len(query.answers()))
        self._count("APN", len(sets))
        self._count("APP", len({page for spans in sets for page, *_ in spans}))
        for spans in sets:
            self._count("APS", len(spans))
            self.hops += len({page for page, *_ in spans}) > 1

    def _count(self, name: str, value: int) -> None:
        self.totals[name] += value
        self.counts[name] += value > 0

    def figures(self, name: str) -> dict[str, Any]:
        known = datasets().get(name)
        means = {
            average: self.totals[average] / self.counts[average] if self.counts[average] else None
            for average in ("APS", "APN", "APP", "AAN")
        }
        return {
            "dataset": known.label if known else name,
            "multi-hop": known.multi_hop if known else self.hops > 0,
            **means,
            **{split: self.sizes.get(split, 0) for split in ("train", "dev", "test")},
        }


class PagesInDatasets:
    """How many datasets need each page."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._pages, pairs = Seen(), Seen()
        self.counts = array("H")
        for block in blocks(queries, _BLOCK):
            needed = dict.fromkeys(
                (page, str(query.attributes.get("dataset", "")))
                for query in block
                for page in sorted(query.gold_pages())
            )
            before = pairs.add(["\t".join(pair) for pair in needed], [0] * len(needed))
            new = [page for (page, _), known in zip(needed, before, strict=True) if known is None]
            first = len(self.counts)
            self.counts.extend([0] * len(new))
            for own, known in enumerate(self._pages.add(new, range(first, first + len(new))), first):
                self.counts[own if known is None else known] += 1

    def of(self, pages: Sequence[str]) -> list[int]:
        return [0 if n is None else self.counts[n] for n in self._pages.numbers_of(pages)]


def datasets_per_page(queries: Iterable[Query]) -> dict[int, int]:
    """Figure 2: for 1, 2, ... datasets, how many pages hold knowledge for that many."""
    return {n: count for n, count in sorted(Counter(PagesInDatasets(queries).counts).items()) if n}


def board_measures(benchmark: Benchmark, of: str) -> list[str]:
    """What KILT's tables show: R-precision and Recall@5 of runs, of answers each dataset's own measure."""
    if not is_kilt(benchmark.queries):
        return []
    if of == "rankings":
        return ["rprec", "kilt_recall@5"]
    asked = {str(query.attributes.get("dataset", "")): query.task for query in benchmark.queries}
    own = [
        KILT_MEASURES[datasets()[name].metric] if name in datasets() else OTHER_DATASETS.get(task)
        for name, task in asked.items()
    ]
    return [name for name in dict.fromkeys(own) if name]


KILT_MEASURES = {"accuracy": "accuracy", "em": "em", "f1": "f1", "rougel": "rouge_l"}
OTHER_DATASETS = {"qa": "em", "sf": "accuracy", "fc": "accuracy", "el": "accuracy"}


def answers_section(answers: Sequence[Answers], benchmark: Benchmark, runs: Sequence[Run]) -> Section:
    tables = [by_dataset(answers, benchmark, gated=gated) for gated in (False, True)]
    if runs and not is_kilt(benchmark.queries):  # a report of runs over KILT has its own
        tables.insert(1, retrieval_table(runs, benchmark))
    return Section("By dataset, as KILT", tables)


def retrieval_table(runs: Sequence[Run], benchmark: Benchmark) -> Table:
    """KILT's Table 4: page-level R-precision."""
    (measure,) = parse_measures(["rprec"])
    systems = [score_run(run, benchmark, [measure]) for run in runs]
    if len(systems) > 1:
        check_comparable(systems)
    groups = _datasets(benchmark)
    return Table.of(
        "kilt-retrieval",
        "Page-level R-precision (KILT, Table 4)",
        ("system",),
        (((s.system,), name, estimate(s, measure, rows)) for s in systems for name, rows in groups.items()),
        note="Of the best evidence set with R pages, the share among the first R pages.",
    )


def _measure(query: Query, gated: bool) -> str:
    """The measure that the KILT paper names for a query's dataset, else its task's usual one."""
    known = datasets().get(str(query.attributes.get("dataset", "")).lower())
    name = KILT_MEASURES[known.metric] if known else OTHER_DATASETS.get(query.task, "f1")
    return f"kilt_{name}" if gated else name


def _datasets(benchmark: Benchmark) -> dict[str, npt.NDArray[np.int64]]:
    """Queries by dataset, else by task."""

    def name(query: Query) -> str:
        named = str(query.attributes.get("dataset") or TASK_WORDS.get(query.task, query.task))
        return ": ".join(filter(None, (benchmark_of(query), named)))

    return {str(key): rows for (key,), rows in groups_of(benchmark.queries, [name])}


DOWNSTREAM = (
    "kilt-downstream",
    "Downstream performance (KILT, Table 3)",
    "Accuracy, exact match, F1 or ROUGE-L, as the paper chooses for each dataset.",
)
GATED = (
    "kilt-scores",
    "KILT scores (KILT, Table 5)",
    (
        "Points only where the pages an answer rests on are the gold pages (R-precision 1); for a "
        "reader that cites nothing, the pages it was shown in their order. Closed-book readers "
        "show no provenance and score 0."
    ),
)


def by_dataset(answers: Sequence[Answers], benchmark: Benchmark, *, gated: bool) -> Table:
    """Each dataset's own measure (KILT's Table 3), or with points only where the provenance is found (Table 5)."""
    key, title, note = GATED if gated else DOWNSTREAM
    if not answers:
        raise BadInput("a table needs at least one folder of answers")
    names = sorted({_measure(query, gated) for query in benchmark.queries})
    systems = [score_answers(given, benchmark, parse_measures(names)) for given in answers]
    groups = _datasets(benchmark)
    heads = {name: _measure(benchmark.queries[int(rows[0])], gated) for name, rows in groups.items()}
    return Table.of(
        key,
        title,
        ("system",),
        (
            ((s.marked,), f"{name} ({heads[name]})", estimate(s, parse_measure(heads[name]), rows))
            for s in systems
            for name, rows in groups.items()
        ),
        note=f"{note} {cluster_note(benchmark.queries)}.",
    )


def namesake_section(runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False) -> Section | None:
    """R-precision by name and by popularity; None unless KILT's queries know their names."""
    known = {key for query in benchmark.queries for key in query.attributes}
    if not is_kilt(benchmark.queries) or "shared_name" not in known:
        return None
    measures = parse_measures(["rprec"])
    systems = [score_run(run, benchmark, measures) for run in runs]
    labels = {name: dataset.label for name, dataset in datasets().items()}
    words = {True: "shared", False: "unique", None: "no gold page"}

    def table(column: str, head: str, title: str) -> Table:
        rows: list[Sequence[Cell]] = [
            (labels.get(dataset := str(where["dataset"]), dataset),
             words.get(where[column], str(where[column] or words[None])), scores.system, found["rprec"], found["rprec"].n)
            for scores in systems
            for where, found in slice_scores(scores, ["dataset", column])
        ]  # fmt: skip
        return Table(
            key=f"kilt-{column.replace('_', '-')}",
            title=f"R-precision: {title} (KILT, Table 4 split)",
            columns=("dataset", head, "system", "R-precision", "queries"),
            rows=sorted(rows, key=lambda row: (str(row[0]), str(row[1]))),
            note="A name is shared when another entity with a page has it as its label, alias or title.",
        )

    tables = [table("shared_name", "names", "unique and shared names")]
    if "popularity_bin" in known:
        tables.append(table("popularity_bin", "page views", "popularity"))
    return Section("R-precision where names are shared", tables)


def kilt_statistics(benchmark: Benchmark) -> PaperStatistics | None:
    """Both as a document and as text, and Table 6 for a page; None for a benchmark that is not of KILT's kind."""
    if not is_kilt(benchmark.queries):
        return None
    rows = table_6(benchmark.queries)
    table = Table(
        key="kilt-statistics",
        title="Dataset statistics (KILT, Table 6)",
        columns=tuple(rows[0]) if rows else (),
        rows=[["x" if c is True else "" if c is False else c for c in row.values()] for row in rows],
        note=LEGEND,
    )
    pages = datasets_per_page(benchmark.queries)
    counts_text = [f"{count:,} in {number}" for number, count in pages.items()]
    text = f"{table.to_markdown()}\nGold pages by number of datasets (Figure 2): {', '.join(counts_text)}"
    return PaperStatistics({"table_6": rows, "datasets_per_page": pages}, text, (table,))


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


def runs_section(runs: Sequence[Run], benchmark: Benchmark, *, redact: bool = False) -> Section | None:
    """None for a benchmark that is not of KILT's kind."""
    if not is_kilt(benchmark.queries):
        return None
    tables = [datasets_table(benchmark), retrieval_table(runs, benchmark)]
    if not redact:
        tables.append(instances_table(benchmark))
    drawn = importlib.util.find_spec("matplotlib") is not None
    return Section("KILT", tables, [datasets_per_page_figure(benchmark)] if drawn else [])


def datasets_table(benchmark: Benchmark) -> Table:
    """Table 1, of the datasets that are asked."""
    asked = {str(query.attributes.get("dataset", "")) for query in benchmark.queries}
    forms = {  # task, input and output
        "fc": ("Fact Checking", "Claim", "Classification"),
        "el": ("Entity Linking", "Text Chunk", "Entity"),
        "sf": ("Slot Filling", "Structured", "Entity"),
        "qa": ("Open Domain QA", "Question", "Extractive"),
        "hotpotqa": ("Open Domain QA", "Question", "Short Abstractive"),
        "eli5": ("Open Domain QA", "Question", "Long Abstractive"),
        "dialogue": ("Dialogue", "Conversation", "Long Abstractive"),
    }
    return Table(
        key="kilt-datasets",
        title="Datasets and tasks (KILT, Table 1)",
        columns=("label", "dataset", "reference", "task", "input", "output"),
        rows=[
            (known.label, known.title, known.citation, *forms.get(name, forms[known.task]))
            for name, known in datasets().items()
            if name in asked
        ],
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
    for name, ((_, page), query) in sorted(best.items(), key=lambda item: (item[1][0], item[0]))[:most]:
        answer = next(iter(query.answers()), "")
        sources = (s for output in query.outputs for group in output.provenance for s in group)
        title = next((source.title for source in sources if source.page == page), None)
        title = title or titles.get(page, page)
        rows.append((name, query.input[:200], answer[:200], title))
    return Table(
        key="kilt-instances",
        title="One interface: input, output, provenance (KILT, Figure 1)",
        columns=("dataset", "input", "output", "provenance"),
        rows=rows,
        note="One instance a dataset; pages that several datasets need come first. Long texts are cut.",
    )
