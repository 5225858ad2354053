"""DPR's passage file, `psgs_w100.tsv`, as DPR reads it and as EntityQuestions does.

DPR reads it as CSV: doubled quotes become one, the header is no passage, outer quotes are stripped.
A text that opens with a quotation mark and does not close it, in which DPR's reader swallows the
following rows, is kept as it is.
EntityQuestions' BM25 splits at tabs: the first and last character of the text are cut whatever they
are, doubled quotes stay, the id is lower-cased, and the header becomes a passage.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import read_lines, read_rows
from whichone.records import Passage

Rules = Literal["dpr", "entityquestions"]
_HEADER = ["id", "text", "title"]


class PassageRow(msgspec.Struct, frozen=True):
    id: str
    text: str
    title: str

    @property
    def contents(self) -> str:
        """What EntityQuestions' BM25 indexes."""
        return f"{self.title} {self.text}"


def read_psgs(path: str | Path, rules: Rules = "dpr") -> Iterator[PassageRow]:
    """The rows of a passage file, streamed."""
    return _by_dpr(path) if rules == "dpr" else _by_entityquestions(path)


def psgs_passages(path: str | Path, rules: Rules = "dpr") -> Iterator[Passage]:
    """The rows as passages: their page is `psgs:` and the title, their number that of the row."""
    for number, row in enumerate(read_psgs(path, rules), 1):
        page = f"psgs:{row.title}"
        yield Passage(
            id=f"{page}#{number}", page=page, title=row.title, text=row.text, source_id=row.id
        )


def _by_dpr(path: str | Path) -> Iterator[PassageRow]:
    for line, row in read_rows(path, "\t"):
        if line == 1 and row == _HEADER:
            continue
        if len(row) != 3:
            raise _not_three(len(row), path, line)
        yield PassageRow(row[0], row[1].strip('"'), row[2])


def _by_entityquestions(path: str | Path) -> Iterator[PassageRow]:
    for number, line in read_lines(path):
        try:
            fields = line.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            raise BadInput(f"not a passage file: {error}", file=path, line=number) from error
        if len(fields) != 3:
            raise _not_three(len(fields), path, number)
        yield PassageRow(fields[0].lower(), fields[1][1:-1], fields[2].strip())


def _not_three(number: int, path: str | Path, line: int) -> BadInput:
    return BadInput(
        f"{number} columns where id, text and title are expected",
        file=path,
        line=line,
        hint="a passage file is psgs_w100.tsv or one like it, with tabs between its columns",
    )
