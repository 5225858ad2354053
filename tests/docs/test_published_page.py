"""docs/published.md is made of docs/published.toml, and every figure of it is in the paper, in the row and table it names."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from published_page import DOCS, Table, page, published

CAPTION = re.compile(r"^Table (\d+):", re.M)
TABLES = [
    pytest.param(dataset.paper, given, id=f"{dataset.paper} {given.table} {given.part}".strip())
    for dataset in published().datasets
    for given in dataset.tables
]


def test_the_page_is_fresh() -> None:
    assert (DOCS / "published.md").read_text("utf-8") == page(), "python tests/docs/published_page.py"


@pytest.mark.parametrize(("paper", "given"), TABLES)
def test_every_figure_is_in_the_paper(paper: str, given: Table, shared: Path) -> None:
    text = (shared / "papers" / f"{paper}.md").read_text("utf-8")
    if given.quote:
        assert given.quote in " ".join(text.split())
        found = re.findall(r"[\d.]+(?=%)", given.quote)
        assert sorted(f"{f:g}" for row in given.rows.values() for f in row if f != "-") == sorted(found)
        return
    rows = rows_of(text, given.table)
    if given.transposed:
        header = next(row for row in rows if set(given.rows) <= set(row))
        (figures,) = (row for row in rows if given.transposed in row)
        rows = [list(pair) for pair in zip(header, figures, strict=True)]
    for system, values in given.rows.items():
        meant = [row for row in rows if system in row and (not given.part or row[0] == given.part)]
        figures = [v if isinstance(v, str) else f"{v:g}" for v in values]
        assert any(in_order(figures, row) for row in meant), (system, meant)


def rows_of(text: str, name: str) -> list[list[str]]:
    """Cells of the rows between a table's caption and the caption before; an empty first cell is that of the row above."""
    captions = list(CAPTION.finditer(text))
    n = next(n for n, caption in enumerate(captions) if f"Table {caption[1]}" == name)
    part = text[captions[n - 1].end() if n else 0 : captions[n].start()]
    rows = [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S)
        for row in re.findall(r"<tr>(.*?)</tr>", part, re.S)
    ]
    rows += [line.split("\t") for line in part.splitlines() if "\t" in line]
    result: list[list[str]] = []
    for row in rows:
        cells = [plain(cell) for cell in row]
        if cells and not cells[0] and result and len(cells) == len(result[-1]):
            cells[0] = result[-1][0]
        result.append(cells)
    return result


def plain(cell: str) -> str:
    text = html.unescape(re.sub(r"<sup>.*?</sup>|</?(b|i)>", "", re.sub(r"<br ?/?>", " ", cell)))
    text = " ".join(text.split()).removesuffix(" -")
    return f"{float(text):g}" if re.fullmatch(r"\d+(\.\d+)?", text) else text


def in_order(wanted: list[str], row: list[str]) -> bool:
    cells = iter(row)
    return all(any(cell == value for cell in cells) for value in wanted)


def test_a_wrong_figure_is_found(shared: Path) -> None:
    """BLINK's slots as another figure of its row, and as Bootleg's."""
    rows = [
        row
        for row in rows_of((shared / "papers" / "amber.md").read_text("utf-8"), "Table 5")
        if "BLINK" in row
    ]
    assert in_order(["55.9", "38.2", "31.7"], rows[0])
    assert not in_order(["38.2", "55.9", "31.7"], rows[0])
    assert not any(in_order(["55.9", "56.5"], row) for row in rows)
