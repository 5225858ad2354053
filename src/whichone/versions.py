"""Which software and hardware made something: what a result carries so that others can compare."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_TOLD = (
    "whichone",
    "numpy",
    "pyarrow",
    "duckdb",
    "numba",
    "torch",
    "sentence-transformers",
    "transformers",
    "faiss-cpu",
    "tantivy",
    "pyspark",
)


def versions() -> dict[str, str]:
    """Versions of the installed packages that can change a number; nothing is imported."""
    found = {"python": platform.python_version()}
    for package in _TOLD:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def environment() -> dict[str, Any]:
    """For the `made` part of a manifest: it may differ between equal folders."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
    }
