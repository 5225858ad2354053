"""A knowledge base's pages as a file of KILT's knowledge source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from whichone.files.folder import Folder
from whichone.files.lines import write_lines
from whichone.files.tables import read_batches
from whichone.knowledge.formats.kilt_record import kilt_record
from whichone.knowledge.tables import KIND


def export_kilt_source(base: str | Path, out: str | Path) -> dict[str, int]:
    """One page a line, links with the ids of their pages."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_knowledgesource.json"
    return {path.name: write_lines(path, export_kilt(base))}


def export_kilt(base: str | Path, *, anchor_ids: bool = True) -> Iterator[bytes]:
    """The pages of a knowledge base as lines of KILT's knowledge source, in order of page id."""
    for _, record in kilt_records(base, anchor_ids=anchor_ids):
        yield msgspec.json.encode(record)


def kilt_records(
    base: str | Path | Folder, *, anchor_ids: bool = True
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same pages by their ids, as records.

    Pages and links are sorted by page, so that both are read once, side by side.
    """
    folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
    pages = _rows(folder.parts("pages"))
    links = _rows(folder.parts("links")) if folder.has("links.parquet") else iter(())
    grouped = groupby(links, key=lambda link: str(link["page"]))
    page, group = next(grouped, ("", iter(())))
    for row in pages:
        while page and page < row["page"]:
            page, group = next(grouped, ("", iter(())))
        own = list(group) if page == row["page"] else []
        yield row["page"], kilt_record(row, own, anchor_ids=anchor_ids)


def _rows(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for batch in read_batches(files, 1000):
        yield from batch.to_pylist()
