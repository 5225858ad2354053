"""The report: one self-contained HTML file that opens without a network."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from whichone.files.lines import write_atomic
from whichone.report.figure import Figure
from whichone.report.table import Table

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
