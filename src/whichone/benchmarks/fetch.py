"""Published datasets onto this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.datasets import NOT_VERIFIED, find_files
from whichone.benchmarks.download import Wanted, fetch_file


def fetch(
    name: str,
    folder: str | Path | None = None,
    *,
    offline: bool = False,
    mirrors: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Every file of that name; where it lies, its sha256, and whether that is the published one."""
    rows = []
    for file in find_files(name):
        own = [f"{mirror.rstrip('/')}/{file.collection}/{file.file}" for mirror in mirrors]
        wanted = Wanted(addresses=(*own, *file.addresses), size=file.size, sha256=file.sha256)
        found = fetch_file(wanted, file.path(folder), offline=offline)
        rows.append(
            {
                "name": file.name,
                "path": str(found.path),
                "bytes": found.bytes,
                "sha256": found.sha256,
                "checked": "sha256" if found.verified else NOT_VERIFIED,
                "downloaded": found.downloaded,
                "licence": file.licence,
                "citation": file.citation,
            }
        )
    return rows
