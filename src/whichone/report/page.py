"""The report: one self-contained HTML file that opens without a network."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import itertools
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whichone.errors import WhichoneError, needs
from whichone.files.lines import write_atomic
from whichone.measures.intervals import SHALLOW, Estimate
from whichone.measures.measure import parse_measure
from whichone.runs.run import MARK, NOTE

if TYPE_CHECKING:
    from jinja2 import Environment

# Figures by matplotlib, as SVG, PDF and PNG with the same bytes for the same data.


HEAD, TAIL, GREY, PALE = "#7a3e9d", "#2166ac", "#8c8c8c", "#c9c9c9"
PALETTE = ("#1b6ca8", "#8e6c8a", "#4f9d69", "#7d8c2e", "#5aa6a6", "#5b5b5b")


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    svg: str
    pdf: bytes
    png: bytes
    note: str = ""


def shortened(text: str, most: int = 42) -> str:
    """A text that fits into a figure; its end, where bearers of one name differ, is kept.

    Emoji are left out: no font of a PDF has them.
    """
    text = "".join(c for c in text if unicodedata.category(c) not in ("So", "Sk", "Cf")).strip() or text
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 3].rstrip()} … {text[-end:].lstrip()}"


@contextmanager
def drawing(rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 3.6)) -> Iterator[Any]:
    """Matplotlib axes without a display and without a date in the files."""
    with needs("matplotlib", "figures"):
        import matplotlib as mpl
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


_LACKING = " Letters that the font lacks are in the SVG alone."


def finish(figure: Any, key: str, title: str, note: str = "") -> Figure:
    from fontTools.subset import Options
    from matplotlib.backends import backend_agg, backend_pdf, backend_svg

    svg, pdf, png = io.StringIO(), io.BytesIO(), io.BytesIO()
    with warnings.catch_warnings(record=True) as noticed:
        warnings.filterwarnings("always", "Glyph .* missing from font")
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once; each format would do it again
        # not by savefig, which draws every figure twice, the first time for the layout alone
        backend_svg.FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
        kept = Options._drop_tables_default
        Options._drop_tables_default = [
            *kept,
            "GDEF",
            "GPOS",
            "GSUB",
        ]  # long to read, and a PDF places each letter itself
        try:
            dates = {"CreationDate": None, "Producer": None, "Creator": None}
            backend_pdf.FigureCanvasPdf(figure).print_pdf(pdf, metadata=dates)
        finally:
            Options._drop_tables_default = kept
        figure.set_dpi(160)
        backend_agg.FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    text = svg.getvalue()
    for warning in noticed:
        if "missing from font" not in str(warning.message):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not note.endswith(_LACKING):
            note += _LACKING
    return Figure(key, title, text[text.index("<svg") :], pdf.getvalue(), png.getvalue(), note)


# A table as a value, written as HTML, LaTeX, Markdown and CSV from the same cells.
WIDE = 8  # Tables with more columns than that put intervals below their values on paper
DEEPER = f"{SHALLOW} deeper than the run: what is missing may be below the end of its rankings."
Cell = str | int | float | Estimate | None

# What pdfLaTeX would not set as it is; other letters need a font that has them.
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
        "°": r"$^\circ$",
        "κ": r"$\kappa$",
        "†": r"\dag{}",
        "‡": r"\ddag{}",
        "\u00a0": "~",
        "\n": " ",
    }
)


@dataclass(frozen=True)
class Table:
    """Columns and rows under a title, with a note that says what the numbers mean."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    # Whether estimates are printed in percent, as the papers do.
    percent: bool = True
    # Signs of significance behind a cell, by row and column.
    marks: dict[tuple[int, int], str] = field(default_factory=dict)
    # What the page calls it, where its title is in technical words.
    plain: str = ""

    @classmethod
    def of(
        cls, key: str, title: str, head: Sequence[str], cells: Iterable[tuple[Sequence[Cell], str, Cell]],
        columns: Sequence[str] = (), **settings: Any,
    ) -> Self:  # fmt: skip
        """A table of cells, each with its row and its column; both come in the order in which they are first named.

        A row is named by the cells under `head`. What was not given is empty.
        """
        rows: dict[tuple[Cell, ...], dict[str, Cell]] = {}
        for row, column, cell in cells:
            rows.setdefault(tuple(row), {})[column] = cell
        named = dict.fromkeys([*columns, *(column for row in rows.values() for column in row)])
        filled = [(*row, *map(own.get, named)) for row, own in rows.items()]
        return cls(key, title, (*head, *named), filled, **settings)

    @property
    def full_note(self) -> str:
        """The note, and what the marks behind a system's name and a figure mean where there are any."""
        marked = any(isinstance(c, str) and c.endswith(MARK) for row in self.rows for c in row)
        deep = any(isinstance(c, Estimate) and c.shallow for row in self.rows for c in row)
        return " ".join(filter(None, [self.note, f"{NOTE}." if marked else "", DEEPER if deep else ""]))

    def explained(self, words: Mapping[str, str]) -> str:
        """The words of this table that a newcomer does not know."""
        said = f"{self.title} {' '.join(self.columns)} {self.note}"
        said += " ".join(str(cell) for row in self.rows for cell in row if isinstance(cell, str))
        used = [w for w in words if re.search(rf"\b{w}\b", said)]
        return " ".join(f"{word.capitalize()}: {words[word]}." for word in used)

    def text(self, row: int, column: int, *, interval: bool = True) -> str:
        return self._cell(self.rows[row][column], interval) + self.marks.get((row, column), "")

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
        shown = f"{scale * estimate.value:.{places}f}{estimate.mark}"
        if not interval or estimate.low is None or estimate.high is None:
            return shown
        return f"{shown} [{scale * estimate.low:.{places}f}, {scale * estimate.high:.{places}f}]"

    def _texts(self) -> list[list[str]]:
        return [[self.text(r, c) for c in range(len(self.columns))] for r in range(len(self.rows))]

    def numeric(self, column: int) -> bool:
        return any(isinstance(row[column], Estimate | int | float) for row in self.rows)

    def to_html(self) -> str:
        return str(templates().get_template("tables.html").module.grid(self))  # type: ignore[attr-defined]

    @property
    def kinds(self) -> list[str]:
        grouped = any(map(self._same_as_above, range(len(self.rows))))
        return ["grouped"] * grouped + ["wide"] * (len(self.columns) > WIDE)

    def shown_rows(self) -> Iterator[tuple[bool, list[tuple[str, str, str, str]]]]:
        """For each row whether a group begins, and its cells: how it is drawn, its value, its interval, its tip."""
        numeric = [self.numeric(c) for c in range(len(self.columns))]
        for r, row in enumerate(self.rows):
            same, cells = self._same_as_above(r), []
            for c, cell in enumerate(row):
                kind = "n" if numeric[c] else "same" if c < same else ""
                value, spread, tip = self.text(r, c), "", ""
                if self.columns[c] == "measure":
                    value, tip = heading(value)
                elif isinstance(cell, str):
                    value, tip = without_id(value)
                if isinstance(cell, Estimate) and cell.low is not None:
                    value = self._estimate(cell, False) + self.marks.get((r, c), "")
                    spread = self._estimate(cell, True).partition(" ")[2]
                cells.append((kind, value, spread, tip))
            yield bool(r and not same), cells

    def _same_as_above(self, row: int) -> int:
        """How many leading words a row shares with the one above it; they are printed faintly."""
        if row == 0:
            return 0
        pairs = zip(self.rows[row - 1], self.rows[row], strict=True)
        equal = (isinstance(new, str) and bool(new) and new == old for old, new in pairs)
        return sum(1 for _ in itertools.takewhile(bool, equal))

    def to_markdown(self) -> str:
        rule = ["---:" if self.numeric(c) else "---" for c in range(len(self.columns))]
        rows = [list(self.columns), rule, *self._texts()]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return (
            "\n".join([f"**{self.title}**", "", *lines, *(["", self.full_note] if self.full_note else [])])
            + "\n"
        )

    def to_csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        estimates = [any(isinstance(row[c], Estimate) for row in self.rows) for c in range(len(self.columns))]
        header: list[str] = []
        for name, of_estimates in zip(self.columns, estimates, strict=True):
            more = ("low", "high", "n", "clusters") if of_estimates else ()
            header += [name, *(f"{name} {what}" for what in more)]
        writer.writerow(map(not_a_formula, header))
        for row in self.rows:
            cells: list[object] = []
            for c, cell in enumerate(row):
                if isinstance(cell, Estimate):
                    cells += [cell.value, cell.low, cell.high, cell.n, cell.clusters]
                else:
                    cells += [cell, *[None] * 4] if estimates[c] else [not_a_formula(cell)]
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
        lines += [" & ".join(_latex(c) for c in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(_latex(cell) for cell in row) + r" \\" for row in self._texts()]
        lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
        stop = "" if self.title.endswith((".", "?", "!")) else "."
        caption = f"{self.title}{stop} {self.full_note}".rstrip()
        lines += [rf"\caption{{{_latex(caption)}}}", rf"\label{{tab:{self.key}}}"]
        return "\n".join([*lines, r"\end{table}"]) + "\n"


def heading(column: str) -> tuple[str, str]:
    """A column in plain words, with the technical name and its meaning where it is a measure."""
    try:
        measure = parse_measure(column)
    except (WhichoneError, ValueError):
        return column, ""
    among = f"{_AMONG[measure.name]} in first {measure.k}" if measure.name in _AMONG else column
    return _PLAIN.get(column, among), f"{column}: {measure.explained}"


def in_plain_words(text: str) -> str:
    return re.sub(r"\b[a-z_]+@\d+", lambda found: heading(found[0])[0], text)


_ID = re.compile(r"(\S.*) \([PQ]\d+\)|(.*[^\W_].*)-[0-9a-f]{12}")


def without_id(text: str) -> tuple[str, str]:
    """A label or a name without the id behind it, and the whole as its tip: "birthplace" of "birthplace (P19)"."""
    found = _ID.fullmatch(text)
    return (found[1] or found[2], text) if found else (text, "")


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def not_a_formula(value: object) -> object:
    """A cell of a CSV file that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _latex(text: str) -> str:
    """A cell that begins with a bracket would be taken for the optional argument of the line break above."""
    shown = text.translate(_LATEX)
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown


_TURNING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def visible(value: object) -> object:
    """Text, or ready HTML, in which characters that cannot be seen, but turn or hide what follows, are written out."""
    if not isinstance(value, str) or not _TURNING.search(value):
        return value
    return type(value)(_TURNING.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", value))


@cache
def templates(package: str = "whichone.report") -> Environment:
    """Templates of the report, or of a paper's package; the web pages take their bars and tables from here too."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=visible,
    )  # fmt: skip
    environment.filters["base64"] = lambda data: base64.b64encode(data).decode()
    environment.filters |= {"heading": heading, "without_id": without_id}
    return environment


def render(name: str, package: str = "whichone.report", **values: Any) -> str:
    return templates(package).get_template(name).render(**values)


# Sorts a table by the column whose heading is clicked, or chosen by keyboard; the page works without it.
_SORT = (
    "for(const h of document.querySelectorAll('th[scope=col]')){h.tabIndex=0;h.addEventListener('click',()=>{"
    "const t=h.closest('table').tBodies[0],n=[...h.parentNode.children].indexOf(h),"
    "d=h.ariaSort==='descending'?1:-1,v=r=>r.cells[n].textContent.trim(),f=r=>parseFloat(v(r).replace(/,/g,''));"
    "for(const o of h.parentNode.children)o.ariaSort=null;h.ariaSort=d<0?'descending':'ascending';"
    "t.append(...[...t.rows].sort((a,b)=>d*(isNaN(f(a))||isNaN(f(b))?v(a).localeCompare(v(b)):f(a)-f(b))))});"
    "h.addEventListener('keydown',e=>{if(e.key==='Enter'||e.key===' '){e.preventDefault();h.click()}})}"
)
# The same, and shows the rows of a table that have what is typed beside it.
_SCRIPT = _SORT + (
    "\nfor(const f of document.querySelectorAll('[data-filter]'))f.addEventListener('input',()=>{"
    "const t=document.getElementById(f.dataset.filter);t.classList.toggle('filtered',f.value!=='');"
    "for(const r of t.tBodies[0].rows)r.hidden=!r.textContent.toLowerCase().includes(f.value.toLowerCase())})"
)
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_HASH}'"
# Columns of pages in plain words; files keep the measures' own names.
_PLAIN = {"acc@1": "right first", "confused@20": "fell for a namesake", "all_correct@1": "names all right"}
_AMONG = {"acc": "right", "all_correct": "names all right"}
# Words that are explained wherever a table uses them.
_WORDS = {
    "head": "the most popular bearer of a name",
    "tail": "every other bearer of a name",
    "gold": "a page that answers the question",
    "Holm": "p values corrected for the number of tests made",
}


@dataclass(frozen=True)
class Section:
    """A heading with what is under it: tables, figures, or ready HTML of our own making."""

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    html: str = ""
    # Whether it is printed: folded panels are not.
    on_paper: bool = True
    # Whether it is shown by its heading alone until it is opened.
    folded: bool = False
    # Whether it opens the page, as a paper's own measure does for its benchmark.
    leads: bool = False


@dataclass(frozen=True)
class ReportPage:
    title: str
    subtitle: str
    sections: Sequence[Section]
    meta: dict[str, str] = field(default_factory=dict)
    # What words mean on this page, where that differs from page to page.
    words: Mapping[str, str] = field(default_factory=dict)

    def to_html(self) -> str:
        style = files("whichone.report").joinpath("assets/report.css").read_text("utf-8")
        return render(
            "page.html", page=self, words={**_WORDS, **self.words}, style=style, script=_SCRIPT,
            policy=_POLICY,
        )  # fmt: skip

    def write(self, path: Path) -> list[Path]:
        """The page, and beside it a folder with every table and figure in every format."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.to_html().encode())
        beside = path.with_name(f"{path.stem}-files")
        beside.mkdir(exist_ok=True)
        files: dict[str, bytes] = {}
        for section in self.sections:
            for t in section.tables:
                texts = {"tex": t.to_latex(), "md": t.to_markdown(), "csv": t.to_csv()}
                files |= {f"{t.key}.{suffix}": text.encode() for suffix, text in texts.items()}
            for f in section.figures:
                files |= {f"{f.key}.svg": f.svg.encode(), f"{f.key}.pdf": f.pdf, f"{f.key}.png": f.png}
        for name, data in files.items():
            write_atomic(beside / name, data)
        return [path, *(beside / name for name in files)]
