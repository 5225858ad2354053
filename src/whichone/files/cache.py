"""Where things lie that can be made again at will."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """`WHICHONE_CACHE`, else the user's cache folder by the XDG rule."""
    folder = os.environ.get("WHICHONE_CACHE")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whichone"


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    """Processes that ask for the same derived thing at once wait for the first one to make it."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
