"""Rows as a table of plain text, or of HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def text_table(rows: Rows) -> str:
    widths = {c: max(len(c), *(len(str(r[c])) for r in rows)) for c in rows[0]}
    lines = ["  ".join(c.ljust(w) for c, w in widths.items())]
    lines += ["  ".join(str(r[c]).ljust(w) for c, w in widths.items()) for r in rows]
    return "\n".join(line.rstrip() for line in lines)


def html_table(rows: Rows) -> str:
    head = "".join(f"<th>{html.escape(c)}</th>" for c in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
