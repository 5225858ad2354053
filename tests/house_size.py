"""Prints files, statements and lines of `src/whichone` by room, and fails beyond the limits.

The limits are raised only with a reason in the commit. A statement is an `ast.stmt` node: line breaks do not count.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "whichone"
FILES, STATEMENTS, LINES = 320, 51_000, 85_000
LONGEST = 700
"""Lines of one file."""


def sizes(source: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """What each room contains, and the files that are too long."""
    rooms: dict[str, Counter[str]] = {}
    long = []
    for path in sorted(source.rglob("*.py")):
        text = path.read_text("utf-8")
        place, lines = path.relative_to(source), len(text.splitlines())
        statements = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
        room = place.parts[0] if len(place.parts) > 1 else "(root)"
        rooms.setdefault(room, Counter()).update(files=1, statements=statements, lines=lines)
        if lines > LONGEST:
            long.append(f"{place} has {lines} lines, {LONGEST} at most")
    return rooms, long


def main() -> int:
    rooms, wrong = sizes(SOURCE)
    total = sum(rooms.values(), Counter())
    limits = {"files": FILES, "statements": STATEMENTS, "lines": LINES}
    print(f"{'room':14}" + "".join(f"{unit:>12}" for unit in limits))
    for room, counted in [*rooms.items(), ("all", total), ("at most", Counter(limits))]:
        print(f"{room:14}" + "".join(f"{counted[unit]:>12,}" for unit in limits))
    wrong += [
        f"{total[unit]:,} {unit}, {most:,} at most" for unit, most in limits.items() if total[unit] > most
    ]
    for text in wrong:
        print(f"the house has a size: {text}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
