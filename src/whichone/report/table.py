"""A table as a value, written as HTML, LaTeX, Markdown and CSV from the same cells."""

from __future__ import annotations

import csv
import html
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from whichone.measures.intervals import Estimate
from whichone.runs.run import MARK, NOTE

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
