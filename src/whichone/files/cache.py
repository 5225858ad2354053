"""Where things lie that can be made again at will."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`WHICHONE_CACHE`, else the user's cache folder by the XDG rule."""
    told = os.environ.get("WHICHONE_CACHE")
    if told:
        return Path(told)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whichone"
