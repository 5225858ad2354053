"""Printing: data on stdout, as JSON or as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from whichone.errors import UsageError


def emit_json(document: Any) -> None:
    """One JSON document on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def emit_table(
    rows: Sequence[Mapping[str, Any]], *, title: str | None = None, columns: Sequence[str] = ()
) -> None:
    """Rows as a table on stdout, plain text where stdout is no terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = list(columns) or list(rows[0] if rows else ())
    table = Table(title=title, title_justify="left")
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in names))
    console = Console()
    Console(width=max(console.width, 140) if not console.is_terminal else None).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write_rows(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows to a file, its format recognised by the suffix: .jsonl, .csv or .parquet."""
    path = Path(path)
    from whichone.files.lines import write_json_lines

    suffix = path.suffix if path.suffix != ".gz" else Path(path.stem).suffix
    if suffix == ".jsonl":
        write_json_lines(path, rows)
    elif suffix == ".csv":
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(
                file, fieldnames=list(dict.fromkeys(k for r in rows for k in r))
            )
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([dict(r) for r in rows]), path)
    else:
        raise UsageError(
            f"cannot tell the format of {path.name}", hint="end it in .jsonl, .csv or .parquet"
        )


def emit_benchmark(benchmark: Any, as_json: bool) -> None:
    """What was made: id, place and counts."""
    counts = benchmark.folder.manifest.counts
    if as_json:
        emit_json({"id": benchmark.id, "path": str(benchmark.folder.root), "counts": counts})
        return
    counts_text = ", ".join(
        f"{value:,} {key.replace('_', ' ')}"
        for key, value in counts.items()
        if isinstance(value, int) and value
    )
    click.echo(f"{benchmark.folder.root}: {benchmark.id} ({counts_text})")
