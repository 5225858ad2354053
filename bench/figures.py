"""Draws the figures of docs/results.md and docs/performance from the tables in docs/data.

python bench/figures.py                  # all of docs/data/figures.toml into docs/images
python bench/figures.py growth ladder    # some of them
"""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from measured import ROOT, parsed

DATA, IMAGES = ROOT / "docs" / "data", ROOT / "docs" / "images"
COLOURS = ("#0f766e", "#d97706", "#4f46e5", "#9ca3af", "#be185d", "#65a30d", "#0284c7", "#57534e")
ACROSS = 3
"""Panels beside each other: more are too small on a phone."""
_NUMBER = re.compile(r"-?(\d[\d,]*(\.\d+)?|\.\d+)")
_INTERVAL = re.compile(r"\[\s*(-?[\d.]+),\s*(-?[\d.]+)\s*\]")


class Drawing(msgspec.Struct, forbid_unknown_fields=True):
    """A figure: which columns of which table, and how."""

    data: str
    kind: Literal["dots", "bars", "lines"]
    x: str
    """What the numbers are, at the axis."""
    label: str = ""
    """The column that names a row; of lines, that of their places along the axis."""
    columns: list[str] = []
    """The columns that are drawn; of lines the series, one a column."""
    names: list[str] = []
    """What to call them, where not as in the table."""
    panel: str = ""
    """Of lines: one axis for each value of this column."""
    rows: dict[str, str] = {}
    """Only these rows, in this order, and what to call them."""
    log: bool = False
    line: float | None = None
    """A line across, such as the yardstick's or what is promised."""
    width: float = 6.2


def table(name: str) -> tuple[list[str], list[list[str]]]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def number(cell: str) -> float | None:
    found = _NUMBER.search(cell)
    return float(found[0].replace(",", "")) if found else None


def interval(cell: str) -> tuple[float, float] | None:
    found = _INTERVAL.search(cell)
    return (float(found[1]), float(found[2])) if found else None


def draw(name: str, given: Drawing, folder: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.size": 10,
        "figure.constrained_layout.use": True,
    }
    style |= {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#9ca3af"}
    with plt.rc_context(style):
        figure = (lines if given.kind == "lines" else rows_of_marks)(plt, given)
        figure.savefig(
            folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight", facecolor="white"
        )
        plt.close(figure)


def rows_of_marks(plt: Any, given: Drawing) -> Any:
    """Dots with their intervals, or bars, a row each."""
    header, rows = table(given.data)
    label = header.index(given.label) if given.label else 0
    if given.rows:
        rows = [row for wanted in given.rows for row in rows if row[label] == wanted]
        assert [row[label] for row in rows] == list(given.rows), given.rows
    columns = [header.index(column) for column in given.columns]
    rows = [row for row in rows if any(number(row[c]) is not None for c in columns)]
    apart = given.kind == "bars" or any(interval(row[c]) for row in rows for c in columns)  # else on one line
    step = 0.8 / len(columns) if apart else 0.0
    height = 0.8 + 0.15 * len(rows) * (1 + (len(columns) if apart else 0.8))
    figure, axis = plt.subplots(figsize=(given.width, height))
    for n, column in enumerate(columns):
        places = [place + (n - (len(columns) - 1) / 2) * step for place in range(len(rows))]
        values = [number(row[column]) for row in rows]
        called = given.names[n] if given.names else header[column]
        here = [
            (place, value, row)
            for place, value, row in zip(places, values, rows, strict=True)
            if value is not None
        ]
        if given.kind == "bars":
            axis.barh(
                [p for p, _, _ in here], [v for _, v, _ in here], step * 0.9, color=COLOURS[n], label=called
            )
        else:
            for place, _, row in here:
                if (ends := interval(row[column])) is not None:
                    axis.plot(ends, (place, place), color=COLOURS[n], linewidth=1, alpha=0.6)
            axis.plot(
                [v for _, v, _ in here],
                [p for p, _, _ in here],
                "o",
                color=COLOURS[n],
                markersize=4,
                label=called,
            )
    axis.set_yticks(range(len(rows)), [given.rows.get(row[label]) or plain(row[label]) for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#e5e7eb", linewidth=0.6)
    axis.set_axisbelow(True)
    finish(axis, given, along="x", several=len(columns) > 1)
    return figure


def lines(plt: Any, given: Drawing) -> Any:
    header, rows = table(given.data)
    panel = header.index(given.panel) if given.panel else None
    panels = list(dict.fromkeys(row[panel] for row in rows)) if panel is not None else [""]
    rows_of_panels = -(-len(panels) // ACROSS)
    across = -(-len(panels) // rows_of_panels)
    size = (given.width, 0.6 + 2.0 * rows_of_panels)
    figure, axes = plt.subplots(rows_of_panels, across, figsize=size, sharey=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    for axis, title in zip(axes.flat, panels, strict=False):
        shown = [row for row in rows if panel is None or row[panel] == title]
        along = [number(row[header.index(given.label)]) or 0.0 for row in shown]
        for n, column in enumerate(given.columns):
            values = [number(row[header.index(column)]) for row in shown]
            called = given.names[n] if given.names else column
            axis.plot(along, values, "o-", color=COLOURS[n], markersize=3, linewidth=1.4, label=called)
        axis.set_title(plain(title), fontsize=10)
        if title in panels[-across:]:
            axis.set_xlabel(given.label)
        axis.set_xscale("log")
        marked = [value for n, value in enumerate(along) if not n or value > 1.5 * along[n - 1]]
        axis.set_xticks(marked, [f"{value:g}" for value in marked])
        axis.tick_params(axis="x", labelsize=10 if across == 1 else 8)
        axis.minorticks_off()
        axis.grid(axis="y", color="#e5e7eb", linewidth=0.6)
    for n, axis in enumerate(axes.flat[: len(panels)]):
        finish(axis, given, along="y", several=False)
        if n % across:
            axis.set_ylabel("")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def finish(axis: Any, given: Drawing, *, along: str, several: bool) -> None:
    getattr(axis, f"set_{along}label")(given.x)
    if given.log:
        getattr(axis, f"set_{along}scale")("log")
        ruler = getattr(axis, f"{along}axis")
        ruler.set_major_formatter(lambda value, _: f"{value:,g}")
        ruler.set_minor_formatter(lambda value, _: f"{value:,g}" if f"{value:g}"[0] in "25" else "")
    if given.line is not None:
        across = axis.axvline if along == "x" else axis.axhline
        across(given.line, color="#111827", linewidth=0.8, linestyle=":")
    if several:
        axis.figure.legend(frameon=False, loc="outside upper right", ncols=3)


def plain(text: str) -> str:
    return re.sub(r"[`*]", "", text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="some of the figures")
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where they go")
    options = parsed(parser, "--folder {place}")
    known = msgspec.toml.decode((DATA / "figures.toml").read_bytes(), type=dict[str, Drawing])
    for name in options.names or known:
        draw(name, known[name], options.folder)
    print(f"{len(options.names or known)} figures in {options.folder}")


if __name__ == "__main__":
    main()
