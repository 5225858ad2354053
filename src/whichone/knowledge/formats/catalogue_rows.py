"""The rows of a catalogue's file: JSON, JSON lines, CSV, TSV or Parquet, by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput
from whichone.files.lines import open_binary, read_json, read_json_lines, read_rows, read_table_rows
from whichone.files.tables import group_batches


def rows_of(data: Path, delimiter: str | None, batch_size: int) -> Iterator[Mapping[str, Any]]:
    """Each row by its columns; `delimiter` is that of separated files, where it is not the usual one."""
    if data.name.endswith(".parquet"):
        return _parquet_rows(data, batch_size)
    if ".csv" in data.name or ".tsv" in data.name:
        return _csv_rows(data, delimiter or ("\t" if ".tsv" in data.name else ","))
    return _json_rows(data)


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with open_binary(path) as file:
        listed = file.read(64).lstrip()[:1] == b"["
    if listed:
        yield from read_json(path, list[dict[str, Any]])
        return
    for line, row in read_json_lines(path):
        if not isinstance(row, dict):
            raise BadInput("the line is no JSON object", file=path, line=line)
        yield row


def _csv_rows(path: Path, delimiter: str) -> Iterator[Mapping[str, Any]]:
    _, names = next(read_rows(path, delimiter), (0, []))
    _check_delimiter(names, path, delimiter)
    yield from (record for _, record in read_table_rows(path, delimiter))


def _check_delimiter(names: Sequence[str], path: Path, delimiter: str) -> None:
    other = next((c for c in ";\t|," if c != delimiter and c in names[0]), None) if names else None
    if other is not None and len(names) == 1:
        raise BadInput(
            f"its columns are not divided by {delimiter!r}: {names[0]}",
            file=path,
            hint=f"write delimiter = {msgspec.json.encode(other).decode()} above [columns]",
        )


def _parquet_rows(path: Path, batch_size: int) -> Iterator[Mapping[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in group_batches(file, batch_size):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"not a Parquet file: {error}", file=path) from error
