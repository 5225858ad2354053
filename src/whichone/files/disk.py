"""A full disk or a memory bound that is too small as errors that say so."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whichone.errors import BadInput

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def full_disk_explained(place: Path) -> Iterator[None]:
    """Turn what the system, Arrow or DuckDB say about a full disk or memory into one error."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL and not _says_full(str(error)):
            raise
        raise _full(place, error) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        if _says_full(str(error)):
            raise _full(place, error) from error
        if "OutOfMemory" in type(error).__name__:
            raise BadInput(
                f"the bound on memory is too small: {str(error).splitlines()[0]}",
                file=place,
                hint="give more --memory; what was finished is kept",
            ) from error
        raise


def _says_full(text: str) -> bool:
    return any(words in text for words in ("No space left", "File too large", "Disk quota"))


def what_is_full(error: Exception) -> str | None:
    """A message where an error of the system, Arrow or DuckDB is that of a full disk."""
    number = error.errno if isinstance(error, OSError) else None
    if number not in _FULL and not _says_full(str(error)):
        return None
    named = getattr(error, "filename", None)
    place = Path(os.fsdecode(named)) if named else Path.cwd()
    folder = next((p for p in (place, *place.absolute().parents) if p.exists()), Path("/"))
    try:
        free = f"{shutil.disk_usage(folder).free:,} bytes are free in {folder}"
    except OSError:
        free = f"it is written in {folder}"
    where = f"{named}: " if named else ""
    return (
        f"{where}the disk is full ({str(error).splitlines()[0]}); {free}\n"
        "  make room and start the command again: what was finished is kept"
    )


def _full(place: Path, error: Exception) -> BadInput:
    return BadInput(
        f"the disk is full: {str(error).splitlines()[0]}",
        file=place,
        hint="make room and start the command again: what was finished is kept",
    )
