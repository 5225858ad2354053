"""Prints the lowest release of each package that pyproject.toml allows, as pins for pip.

`./dev lowest` installs these and runs the core tests. A bound names a release that has wheels for
Python 3.11, so that it can be a pin as written.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("fast", "figures", "llm", "web")
"""Those that are tried; torch is pinned exactly, and what is on it is tried at its newest only."""

_BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)(?:;.*)?")


def pins(pyproject: Path) -> list[str]:
    """`name==version` for each bound of the core, of the tried extras and of pytest and hypothesis."""
    document = tomllib.loads(pyproject.read_text("utf-8"))
    project = document["project"]
    wanted = [*project["dependencies"], *document["dependency-groups"]["core-test"]]
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    found = []
    for requirement in wanted:
        bound = _BOUND.fullmatch(requirement)
        if bound is None:
            raise ValueError(f"{requirement!r} has no lower bound of the form name>=version")
        found.append(f"{bound[1]}=={bound[2]}")
    return sorted(set(found), key=str.lower)


if __name__ == "__main__":
    print("\n".join(pins(Path(sys.argv[1]))))
