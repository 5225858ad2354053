"""Writes docs/published.md from docs/published.toml: `python tests/docs/published_page.py`."""

from __future__ import annotations

from pathlib import Path

import msgspec

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEAD = """# What others have published

For putting a system of yours beside the best published figures on the four benchmarks: what each paper reports, and the commands that give
your own figures of the same kind once you have the authors' files. The figures are copied from the papers' tables, in percent; the best of
each column is bold. Our own published runs are over benchmarks that anybody can make without these files, and their figures are no match for
those below: they are on the [leaderboard](leaderboard.md).
"""


class Table(msgspec.Struct, forbid_unknown_fields=True):
    table: str
    title: str
    columns: list[str]
    rows: dict[str, list[float | str]]
    """Figures in percent; "-" where the paper has none."""
    part: str = ""
    transposed: str = ""
    """The row that has the systems' figures, where systems are the columns."""
    quote: str = ""
    """The paper's sentence that has the figures, where we know no table."""
    less: bool = False


class Dataset(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    paper: str
    ours: str
    needs: str
    tables: list[Table]


class Paper(msgspec.Struct, forbid_unknown_fields=True):
    cite: str


class Published(msgspec.Struct, forbid_unknown_fields=True):
    papers: dict[str, Paper]
    datasets: list[Dataset]


def published() -> Published:
    return msgspec.toml.decode((DOCS / "published.toml").read_bytes(), type=Published)


def page() -> str:
    document = published()
    parts = [HEAD.strip()]
    for dataset in document.datasets:
        parts += [f"## {dataset.title}", f"{document.papers[dataset.paper].cite}."]
        parts += [table(given) for given in dataset.tables]
        parts.append(f"Yours beside it, given {dataset.needs}:")
        parts.append(f"```\n{dataset.ours.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def table(given: Table) -> str:
    best = [
        (min if given.less else max)(figure for figure in column if not isinstance(figure, str))
        for column in zip(*given.rows.values(), strict=True)
    ]
    places = max(len(f"{f:g}".partition(".")[2]) for row in given.rows.values() for f in row if f != "-")
    lines = [f"**{given.title}** ({given.table})", ""]
    lines += [f"| | {' | '.join(given.columns)} |", f"| --- |{' ---: |' * len(given.columns)}"]
    for system, figures in given.rows.items():
        cells = [f if isinstance(f, str) else f"{f:.{places}f}" for f in figures]
        cells = [f"**{cell}**" if f == b else cell for cell, f, b in zip(cells, figures, best, strict=True)]
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    (DOCS / "published.md").write_text(page(), "utf-8")
