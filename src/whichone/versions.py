"""Which software and hardware made something: what a result carries so that others can compare."""

import functools
import hashlib
import inspect
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
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


@functools.cache  # parsing the metadata of ten packages takes longer than writing a small folder
def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Versions of the installed packages that can change a number."""
    installed = {package: known for package in _PACKAGES if (known := installed_version(package))}
    return {"python": platform.python_version(), **installed}


def environment() -> dict[str, Any]:
    """For the `made` part of a manifest: it may differ between equal folders."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "system": platform.system()},
    }


def own_code(system: object) -> Any:
    """What a wrapper calls, or the module that made it."""
    own = getattr(system, "own_code", system)
    while isinstance(own, functools.partial):
        own = own.func
    return own


def code_of(system: object) -> str | None:
    """A hash of the file that contains somebody's own system; None where it is one of ours.

    What that file imports, or asks over a network, is not seen. Code without a source (typed into an
    interpreter) is never the same twice.
    """
    if parts := getattr(system, "parts", ()):  # an agent and its search tool
        codes = [code for part in parts if (code := code_of(part))]
        return hashlib.sha256(" ".join(codes).encode()).hexdigest()[:16] if codes else None
    own = own_code(system)
    if not (inspect.isroutine(own) or inspect.isclass(own) or inspect.ismodule(own)):
        own = type(own)
    place = own.__name__ if inspect.ismodule(own) else getattr(own, "__module__", "")
    if str(place).partition(".")[0] == "whichone":
        return None
    try:
        file = inspect.getsourcefile(own)
        text = Path(file).read_bytes() if file and Path(file).is_file() else None
        text = text if text is not None else inspect.getsource(own).encode()
    except (OSError, TypeError):
        text = os.urandom(16)
    return hashlib.sha256(text).hexdigest()[:16]
