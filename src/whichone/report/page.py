"""The report: one self-contained HTML file that opens without a network."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from whichone.files.lines import write_atomic
from whichone.report.figure import Figure
from whichone.report.table import Table

_MEANING = "<b>What the numbers mean.</b> "
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it: tables, figures, or ready HTML of our own making."""

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    html: str = ""
    on_paper: bool = True
    """Whether it is printed: folded panels are not."""


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
            f'<footer class="meta"><ul>{meta}</ul></footer></body></html>\n'
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
    return f'<section id="s{number}"{kind}><h2>{html.escape(section.title)}</h2>{"".join(parts)}{section.html}</section>'


def _table(table: Table) -> str:
    said = table.full_note
    note = f'<p class="note">{_MEANING}{html.escape(said)}</p>' if said else ""
    formats = "".join(
        f"<details><summary>{name}</summary><pre>{html.escape(text)}</pre></details>"
        for name, text in (
            ("LaTeX", table.to_latex()),
            ("Markdown", table.to_markdown()),
            ("CSV", table.to_csv()),
        )
    )
    return f'{table.to_html()}{note}<div class="downloads">{formats}</div>'


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
