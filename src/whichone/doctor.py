"""What is installed, what is missing, and how to get it."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing looked for: what it is for, its version or None, and how to get it."""

    what: str
    kind: str
    version: str | None
    how: str = ""


_PROGRAMS = {
    "java": ("the Spark engine", "apt install default-jre-headless"),
    "chromium": ("tests of reports and the web page", "apt install chromium"),
    "lbzip2": ("the ingestion benchmark's yardstick", "apt install lbzip2"),
    "postgres": ("a web page for many annotators", "apt install postgresql"),
}


def examine() -> list[Finding]:
    """Python, the core packages, each extra's packages, and programs; nothing is imported."""
    findings = [Finding("python", "core", sys.version.split()[0])]
    for package, extra in _packages():
        how = f"pip install 'whichone[{extra}]'" if extra else "pip install whichone"
        findings.append(Finding(package, extra or "core", _version(package), how))
    for program, (purpose, how) in _PROGRAMS.items():
        place = shutil.which(program)
        findings.append(Finding(program, f"program for {purpose}", place, how))
    return findings


def _packages() -> list[tuple[str, str]]:
    """The packages whichone asks for, each with the extra that brings it ("" for the core)."""
    import re

    pairs: dict[tuple[str, str], None] = {}
    for line in requires("whichone") or ():
        name = re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name != "whichone" and (extra is None or extra[1] != "all"):
            pairs.setdefault((name, extra[1] if extra else ""))
    return list(pairs)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def as_rows(findings: list[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "what": f.what,
            "for": f.kind,
            "found": f.version or "missing",
            "how to get it": "" if f.version else f.how,
        }
        for f in findings
    ]
