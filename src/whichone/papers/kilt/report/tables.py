"""KILT's Tables 2 to 5 and 7 to 17 over prediction files, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone.measures.intervals import interval_note
from whichone.papers.kilt.datasets import PAPER, SPLITS, Dataset, datasets
from whichone.papers.kilt.report.files import Scored, System, open_system, score_systems
from whichone.papers.kilt.report.mentions import mentions_section
from whichone.report.page import Cell, Page, Section, Table

SHORT = {"accuracy": "Accuracy", "em": "EM", "f1": "F1", "rougel": "Rouge-L"}
KILT_SHORT = {"accuracy": "KILT-AC", "em": "KILT-EM", "f1": "KILT-F1", "rougel": "KILT-RL"}
ONE_METRIC = ("fc", "el")
"""Tasks whose tables in the paper's appendix give accuracy alone."""
NO_GOLD = "no gold"
NOTE = (
    f"Percent, with {interval_note('gold page')}. A dash: not predicted. {NO_GOLD.capitalize()}: the "
    "gold file has no answers or no evidence. A prediction that is "
    "missing or cannot be scored counts as wrong."
)


def kilt_report(gold: str, systems: Sequence[str], out: str | Path) -> list[Path]:
    """Score the systems and write the page with all tables beside it."""
    opened = [open_system(folder) for folder in systems]
    scored = score_systems(gold, opened)
    splits = [split for split in SPLITS if any(s.split == split for s in scored)]
    sections = [Section("Systems (KILT, Table 2)", [system_table(opened)])]
    for split in reversed(splits):
        of_split = [s for s in scored if s.split == split]
        sections.append(Section(f"All datasets, {split}", overview_tables(of_split, split)))
    known = [d for d in datasets().values() if any(s.dataset is d for s in scored)]
    sections += [Section(d.title, [dataset_table(d, scored)]) for d in known]
    if mentions := mentions_section(scored):
        sections.append(mentions)
    page = Page(
        title="whichone: KILT",
        subtitle=f"{', '.join(s.name for s in opened)} on {len(known)} datasets",
        sections=sections,
        meta={"source of the tables": PAPER},
    )
    return page.write(Path(out))


def system_table(systems: Sequence[System]) -> Table:
    """Table 2: the systems, their parameters and the size of their index."""
    return Table(
        key="kilt-systems",
        title="Systems (KILT, Table 2)",
        columns=("system", "kind", "parameters", "index"),
        rows=[(s.name, s.kind or None, s.parameters or None, s.index or None) for s in systems],
        note="As each system's system.toml says.",
    )


def overview_tables(scored: Sequence[Scored], split: str) -> list[Table]:
    """Tables 3, 4 and 5: a row a system, a column a dataset."""
    used = [d for d in datasets().values() if any(s.dataset is d for s in scored)]
    names = list(dict.fromkeys(s.system.name for s in scored))
    tables = []
    for number, title, metric in (
        (3, "Downstream performance", lambda d: d.metric),
        (4, "Page-level R-precision", lambda d: "Rprec"),
        (5, "KILT scores", lambda d: f"KILT-{d.metric}"),
    ):
        cells = {(s.system.name, s.dataset.name): _cell(s, metric(s.dataset)) for s in scored}
        rows: list[Sequence[Cell]] = [
            (name, *(cells.get((name, d.name)) for d in used)) for name in names
        ]
        heads = [d.label if number == 4 else f"{d.label} ({_short(metric(d))})" for d in used]
        if any(cell is not None for row in rows for cell in row[1:]):
            tables.append(
                Table(
                    key=f"kilt-{number}-{split}",
                    title=f"{title}, {split} (KILT, Table {number})",
                    columns=("system", *heads),
                    rows=rows,
                    note=NOTE,
                )
            )
    return tables


def _cell(scored: Scored, name: str) -> Cell:
    """A value, None where it was not predicted, or that the gold file has nothing to score it by."""
    value = scored.values.get(name)
    return NO_GOLD if value is not None and not value.n else value


def _short(metric: str) -> str:
    return KILT_SHORT.get(metric.removeprefix("KILT-"), "") if "KILT" in metric else SHORT[metric]


def dataset_table(dataset: Dataset, scored: Sequence[Scored]) -> Table:
    """One of Tables 7 to 17: every system on one dataset, dev and test."""
    metrics = [dataset.metric]
    if dataset.task not in ONE_METRIC:
        metrics = list(
            dict.fromkeys(["rougel", "f1"] if dataset.name == "wow" else [*metrics, "f1"])
        )
    wanted = ["Rprec", "recall@5", *metrics, *(f"KILT-{m}" for m in metrics)]
    heads = ["R-Precision", "Recall@5", *(SHORT[m] for m in metrics)]
    heads += [KILT_SHORT[m] for m in metrics]
    rows: list[Sequence[Cell]] = [
        (s.split, s.system.name, *(_cell(s, name) for name in wanted))
        for split in reversed(SPLITS)
        for s in scored
        if s.dataset is dataset and s.split == split
    ]
    number = 7 + list(datasets()).index(dataset.name)
    return Table(
        key=f"kilt-{number}-{dataset.name}",
        title=f"{dataset.title} (KILT, Table {number})",
        columns=("split", "system", *heads),
        rows=rows,
        note=NOTE,
    )
