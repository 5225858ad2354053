"""A knowledge base's pages as a file of KILT's knowledge source."""

from __future__ import annotations

from pathlib import Path

from whichone.files.lines import write_lines
from whichone.knowledge.readers.kilt_source import export_kilt


def export_kilt_source(base: str | Path, out: str | Path) -> dict[str, int]:
    """One page a line, links with the ids of their pages."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_knowledgesource.json"
    return {path.name: write_lines(path, export_kilt(base))}
