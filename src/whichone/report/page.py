"""The report: one self-contained HTML file that opens without a network."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from whichone.errors import missing_extra
from whichone.files.lines import write_atomic
from whichone.measures.intervals import Estimate
from whichone.runs.run import MARK, NOTE

# Figures by matplotlib, as SVG, PDF and PNG with the same bytes for the same data.


HEAD, TAIL, GREY, PALE = "#b2182b", "#2166ac", "#8c8c8c", "#c9c9c9"
PALETTE = ("#1b6ca8", "#c1666b", "#4f9d69", "#8e6c8a", "#d9a441", "#5b5b5b")


@dataclass(frozen=True)
class Figure:
    """One figure in three formats, with a title and a note that says what it shows."""

    key: str
    title: str
    svg: str
    pdf: bytes
    png: bytes
    note: str = ""


def shortened(text: str, most: int = 42) -> str:
    """A text that fits into a figure; its end, where bearers of one name differ, is kept."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 3].rstrip()} … {text[-end:].lstrip()}"


@contextmanager
def drawing(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 3.6)
) -> Iterator[Any]:
    """Matplotlib axes without a display and without a date in the files."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise missing_extra("matplotlib", "figures") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context(
        {
            "svg.hashsalt": "whichone",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,  # TrueType: submission systems refuse Type 3
            "ps.fonttype": 42,
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
        }
    ):
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
        try:
            yield figure, axes
        finally:
            plt.close(figure)


def finish(figure: Any, key: str, title: str, note: str = "") -> Figure:
    """Save a drawn figure in all formats."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg, pdf, png = io.StringIO(), io.BytesIO(), io.BytesIO()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once; each format would do it again
    # not by savefig, which draws every figure twice, the first time for the layout alone
    FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    dates = {"CreationDate": None, "Producer": None, "Creator": None}
    FigureCanvasPdf(figure).print_pdf(pdf, metadata=dates)
    figure.set_dpi(160)
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    text = svg.getvalue()
    return Figure(key, title, text[text.index("<svg") :], pdf.getvalue(), png.getvalue(), note)


# A table as a value, written as HTML, LaTeX, Markdown and CSV from the same cells.


WIDE = 8
"""Tables with more columns than that put intervals below their values on paper."""
Cell = str | int | float | Estimate | None

_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "−": "$-$",
        "–": "--",
        "—": "---",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "∀": r"$\forall$",
        "κ": r"$\kappa$",
        "†": r"\dag{}",
        "‡": r"\ddag{}",
        "\u00a0": "~",
        "\n": " ",
    }
)
"""What pdfLaTeX would not set as it is; other letters need a font that has them."""


@dataclass(frozen=True)
class Table:
    """Columns and rows under a title, with a note that says what the numbers mean."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    percent: bool = True
    """Whether estimates are printed in percent, as the papers do."""
    marks: dict[tuple[int, int], str] = field(default_factory=dict)
    """Signs of significance behind a cell, by row and column."""

    @property
    def full_note(self) -> str:
        """The note, and what the mark behind a system's name means where there is one."""
        marked = any(isinstance(c, str) and c.endswith(MARK) for row in self.rows for c in row)
        return " ".join(filter(None, [self.note, f"{NOTE}." if marked else ""]))

    def text(self, row: int, column: int, *, interval: bool = True) -> str:
        shown = self._cell(self.rows[row][column], interval)
        return shown + self.marks.get((row, column), "")

    def _cell(self, cell: Cell, interval: bool) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, Estimate):
            return self._estimate(cell, interval)
        if isinstance(cell, float):
            return f"{cell:,.2f}"
        return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)

    def _estimate(self, estimate: Estimate, interval: bool) -> str:
        if estimate.value is None:
            return "–"
        scale, places = (100, 1) if self.percent else (1, 3)
        shown = f"{scale * estimate.value:.{places}f}"
        if not interval or estimate.low is None or estimate.high is None:
            return shown
        return f"{shown} [{scale * estimate.low:.{places}f}, {scale * estimate.high:.{places}f}]"

    def _texts(self) -> list[list[str]]:
        return [[self.text(r, c) for c in range(len(self.columns))] for r in range(len(self.rows))]

    def numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows]
        return any(isinstance(c, Estimate | int | float) for c in cells)

    def to_html(self) -> str:
        numeric = [self.numeric(c) for c in range(len(self.columns))]
        head = "".join(
            f"<th scope=col{' class=n' if numeric[c] else ''}>{html.escape(name)}</th>"
            for c, name in enumerate(self.columns)
        )
        body = []
        for r in range(len(self.rows)):
            same = self._same_as_above(r)
            kinds = ["n" if n else "same" if c < same else "" for c, n in enumerate(numeric)]
            cells = "".join(self._html_cell(r, c, kind) for c, kind in enumerate(kinds))
            body.append(f"<tr{'' if same or not r else ' class=group'}>{cells}</tr>")
        kinds = ["grouped"] if any(map(self._same_as_above, range(len(self.rows)))) else []
        kinds += ["wide"] if len(self.columns) > WIDE else []
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        return (
            f'<div class="scroll"><table{kind}><caption>{html.escape(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )

    def _same_as_above(self, row: int) -> int:
        """How many leading words a row shares with the one above it; they are printed faintly."""
        if row == 0:
            return 0
        pairs = zip(self.rows[row - 1], self.rows[row], strict=True)
        equal = (isinstance(new, str) and bool(new) and new == old for old, new in pairs)
        return sum(1 for _ in itertools.takewhile(bool, equal))

    def _html_cell(self, row: int, column: int, kind: str) -> str:
        cell = self.rows[row][column]
        attribute = f" class={kind}" if kind else ""
        if not isinstance(cell, Estimate) or cell.low is None:
            return f"<td{attribute}>{html.escape(self.text(row, column))}</td>"
        value = html.escape(self._estimate(cell, False) + self.marks.get((row, column), ""))
        spread = html.escape(self._estimate(cell, True).partition(" ")[2])
        return f"<td{attribute}>{value} <small>{spread}</small></td>"

    def to_markdown(self) -> str:
        rule = ["---:" if self.numeric(c) else "---" for c in range(len(self.columns))]
        rows = [list(self.columns), rule, *self._texts()]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return (
            "\n".join(
                [f"**{self.title}**", "", *lines, *(["", self.full_note] if self.full_note else [])]
            )
            + "\n"
        )

    def to_csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        estimates = [
            any(isinstance(row[c], Estimate) for row in self.rows) for c in range(len(self.columns))
        ]
        header: list[str] = []
        for c, name in enumerate(self.columns):
            header += (
                [name, f"{name} low", f"{name} high", f"{name} n", f"{name} clusters"]
                if estimates[c]
                else [name]
            )
        writer.writerow(header)
        for row in self.rows:
            cells: list[object] = []
            for c, cell in enumerate(row):
                if isinstance(cell, Estimate):
                    cells += [cell.value, cell.low, cell.high, cell.n, cell.clusters]
                elif estimates[c]:
                    cells += [cell, None, None, None, None]
                else:
                    cells.append(cell)
            writer.writerow(cells)
        return out.getvalue()

    def to_latex(self) -> str:
        """A floating table; the document needs `booktabs`, and `graphicx` where the table is wide."""
        kinds = "".join("r" if self.numeric(c) else "l" for c in range(len(self.columns)))
        wide = len(self.columns) > WIDE
        needed = "booktabs and graphicx" if wide else "booktabs"
        lines = [f"% needs {needed}", r"\begin{table}", r"\centering"]
        lines += [r"\resizebox{\textwidth}{!}{%"] if wide else []
        lines += [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        lines.append(" & ".join(_latex(c) for c in self.columns) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(_latex(cell) for cell in row) + r" \\" for row in self._texts()]
        lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
        caption = " ".join(filter(None, [_sentence(self.title), self.full_note]))
        lines += [rf"\caption{{{_latex(caption)}}}", rf"\label{{tab:{self.key}}}"]
        return "\n".join([*lines, r"\end{table}"]) + "\n"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _latex(text: str) -> str:
    """A cell that begins with a bracket would be taken for the optional argument of the line break above."""
    shown = text.translate(_LATEX)
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown


# The report: one self-contained HTML file that opens without a network.


_MEANING = "<b>What the numbers mean.</b> "
_SORT = (
    "for(const h of document.querySelectorAll('th[scope=col]'))h.addEventListener('click',()=>{"
    "const t=h.closest('table').tBodies[0],n=[...h.parentNode.children].indexOf(h),"
    "d=h.ariaSort==='descending'?1:-1,v=r=>r.cells[n].textContent.trim(),f=r=>parseFloat(v(r).replace(/,/g,''));"
    "for(const o of h.parentNode.children)o.ariaSort=null;h.ariaSort=d<0?'descending':'ascending';"
    "t.append(...[...t.rows].sort((a,b)=>d*(isNaN(f(a))||isNaN(f(b))?v(a).localeCompare(v(b)):f(a)-f(b))))})"
)
"""Sorts a table by the column whose heading is clicked; the page works without it."""
_HASH = base64.b64encode(hashlib.sha256(_SORT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_HASH}'"
)
_WORDS = {
    "head": "the most popular bearer of a name",
    "tail": "every other bearer of a name",
    "gold": "a page that answers the question",
    "Holm": "p values corrected for the number of tests made",
}
"""Words that are explained wherever a table uses them."""


@dataclass(frozen=True)
class Section:
    """A heading with what is under it: tables, figures, or ready HTML of our own making."""

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    html: str = ""
    on_paper: bool = True
    """Whether it is printed: folded panels are not."""
    folded: bool = False
    """Whether it is shown by its heading alone until it is opened."""


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    sections: Sequence[Section]
    meta: dict[str, str] = field(default_factory=dict)

    def to_html(self) -> str:
        style = files("whichone.report").joinpath("assets/report.css").read_text("utf-8")
        links = "".join(
            f'<li><a href="#s{n}">{html.escape(s.title)}</a>' for n, s in enumerate(self.sections)
        )
        body = "".join(_section(n, section) for n, section in enumerate(self.sections))
        meta = "".join(f"<li>{html.escape(k)}: {html.escape(v)}" for k, v in self.meta.items())
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<title>{html.escape(self.title)}</title><style>{style}</style></head><body>"
            f'<header><h1>{html.escape(self.title)}</h1><p class="meta">{html.escape(self.subtitle)}</p>'
            f'<nav aria-label="Contents"><ul>{links}</ul></nav></header><main>{body}</main>'
            f'<footer class="meta"><ul>{meta}</ul></footer><script>{_SORT}</script></body></html>\n'
        )

    def write(self, path: Path) -> list[Path]:
        """The page, and beside it a folder with every table and figure in every format."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.to_html().encode())
        beside = path.with_name(f"{path.stem}-files")
        beside.mkdir(exist_ok=True)
        written = [path]
        for section in self.sections:
            for table in section.tables:
                for suffix, text in (
                    ("tex", table.to_latex()),
                    ("md", table.to_markdown()),
                    ("csv", table.to_csv()),
                ):
                    written.append(_write(beside / f"{table.key}.{suffix}", text.encode()))
            for figure in section.figures:
                for suffix, data in (
                    ("svg", figure.svg.encode()),
                    ("pdf", figure.pdf),
                    ("png", figure.png),
                ):
                    written.append(_write(beside / f"{figure.key}.{suffix}", data))
        return written


def _write(path: Path, data: bytes) -> Path:
    write_atomic(path, data)
    return path


def _section(number: int, section: Section) -> str:
    parts = [_table(t) for t in section.tables] + [_figure(f) for f in section.figures]
    kind = "" if section.on_paper else ' class="screen"'
    if section.folded:
        return (
            f'<section id="s{number}"{kind}><details class="topic"><summary><h2>{html.escape(section.title)}</h2>'
            f"</summary>{''.join(parts)}{section.html}</details></section>"
        )
    return f'<section id="s{number}"{kind}><h2>{html.escape(section.title)}</h2>{"".join(parts)}{section.html}</section>'


def _table(table: Table) -> str:
    text = html.escape(" ".join(filter(None, (table.full_note, _explained(table)))))
    note = f'<p class="note">{_MEANING}{text}</p>' if text else ""
    formats = "".join(
        f"<details><summary>{name}</summary><pre>{html.escape(text)}</pre></details>"
        for name, text in (
            ("LaTeX", table.to_latex()),
            ("Markdown", table.to_markdown()),
            ("CSV", table.to_csv()),
        )
    )
    return f'{table.to_html()}{note}<div class="downloads">{formats}</div>'


def _explained(table: Table) -> str:
    """The words of this table that a newcomer does not know."""
    said = f"{table.title} {' '.join(table.columns)} {table.note}"
    said += " ".join(str(cell) for row in table.rows for cell in row if isinstance(cell, str))
    used = [w for w in _WORDS if re.search(rf"\b{w}\b", said)]
    return " ".join(f"{word.capitalize()}: {_WORDS[word]}." for word in used)


def _figure(figure: Figure) -> str:
    png = base64.b64encode(figure.png).decode()
    pdf = base64.b64encode(figure.pdf).decode()
    return (
        f'<figure><div class="scroll" role="img" aria-label="{html.escape(figure.title)}">{figure.svg}</div>'
        f"<figcaption><b>{html.escape(figure.title)}</b> {html.escape(figure.note)} "
        f'<span class="downloads"><a download="{figure.key}.png" href="data:image/png;base64,{png}">PNG</a> '
        f'<a download="{figure.key}.pdf" href="data:application/pdf;base64,{pdf}">PDF</a></span>'
        "</figcaption></figure>"
    )
