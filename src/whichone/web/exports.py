"""Rows as CSV files that spreadsheets open without running anything in them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """A table of the rows; columns are those of the first row when they are not named."""
    listed = list(rows)
    names = list(columns) or list(dict.fromkeys(name for row in listed for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in listed:
        writer.writerow([_cell(row.get(name)) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def csv_response(
    rows: Iterable[Mapping[str, Any]], name: str, columns: Sequence[str] = ()
) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(csv_text(rows, columns), media_type="text/csv", headers=headers)
