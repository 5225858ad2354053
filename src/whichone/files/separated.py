"""Tables as text: CSV, where quotation marks may wrap a field of several lines, and TSV, where a line is a record."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from whichone.errors import BadInput
from whichone.files.lines import open_binary, read_text_lines

_LONGEST_FIELD = 1 << 30


def read_rows(path: str | Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record; blank lines are passed over.

    With tabs, a field is unwrapped when it is quoted from its first to its last character, with
    quotation marks inside doubled, as DPR's files are; any other quotation mark is text.
    """
    return _tab_rows(path) if delimiter == "\t" else _csv_rows(path, delimiter)


def read_table_rows(
    path: str | Path, delimiter: str = ",", bad: list[str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and record by the names in the first row.

    Rows with another number of fields go into `bad` where it is given, else they are raised.
    """
    names: list[str] | None = None
    for line, row in read_rows(path, delimiter):
        if names is None:
            names = row
            check_names(names, path, line)
            continue
        try:
            record = table_record(names, row, path, line, delimiter)
        except BadInput as wrong:
            if bad is None:
                raise
            bad.append(str(wrong))
            continue
        yield line, record


def table_record(
    names: list[str], row: list[str], path: str | Path, line: int, delimiter: str = "\t"
) -> dict[str, str]:
    """A row by the names of its columns."""
    if len(row) != len(names):
        raise BadInput(
            f"the line has {len(row)} columns, the header {len(names)}",
            file=path,
            line=line,
            hint="a record of a TSV file is one line" if delimiter == "\t" else None,
        )
    return dict(zip(names, row, strict=True))


def check_names(names: list[str], path: str | Path, line: int) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadInput("columns of the same name", file=path, line=line, ids=twice)


def _csv_rows(path: str | Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    with open_binary(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")  # spreadsheets write a mark
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8: {error}", file=path, hint="save it as UTF-8") from error
        except csv.Error as error:
            raise BadInput(
                f"not CSV: {error}",
                file=path,
                line=reader.line_num,
                hint="a quotation mark that opens a field must close it; inside it is doubled",
            ) from error


def _tab_rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in read_text_lines(path):
        if text:
            yield line, tab_fields(text)


def tab_fields(text: str) -> list[str]:
    """The fields of a line of a TSV file, unwrapped."""
    fields = text.split("\t")
    return [_unwrapped(f) for f in fields] if '"' in text else fields


def _unwrapped(field: str) -> str:
    if len(field) < 2 or field[0] != '"' or field[-1] != '"':
        return field
    inside = field[1:-1]
    if '"' not in inside:
        return inside
    if '"' in inside.replace('""', ""):
        return field
    return inside.replace('""', '"')
