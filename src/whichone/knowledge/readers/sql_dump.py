"""MediaWiki's SQL dumps (`redirect.sql`, `page.sql`): the rows of their INSERT lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whichone.errors import BadInput

_TABLE = re.compile(rb"CREATE TABLE `(\w+)` \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(rb"^\s*`(\w+)`", re.MULTILINE)
_VALUE = re.compile(rb"'((?:[^'\\]|\\.)*)'|([^\s,()';]+)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_MEANING = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"Z": b"\x1a"}

Value = bytes | int | None


def sql_columns(head: bytes, *, file: str = "") -> tuple[str, tuple[str, ...]]:
    """The name of the dump's table, and its columns in their order, from its CREATE TABLE."""
    found = _TABLE.search(head)
    if found is None:
        raise BadInput(
            "not an SQL dump of MediaWiki: it has no CREATE TABLE",
            file=file or None,
            hint="wanted are …-redirect.sql.gz and …-page.sql.gz of the same date",
        )
    columns = tuple(name.decode() for name in _COLUMN.findall(found[2]))
    return found[1].decode(), columns


def sql_rows(
    line: bytes, table: str, columns: Sequence[str], wanted: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """The wanted columns of one INSERT line's rows; nothing for other lines."""
    start = f"INSERT INTO `{table}` VALUES ".encode()
    if not line.startswith(start):
        return
    places = [columns.index(name) for name in wanted]
    values = [_value(match) for match in _VALUE.finditer(line, len(start))]
    if len(values) % len(columns):
        raise ValueError(f"its values do not make rows of {len(columns)} columns")
    for first in range(0, len(values), len(columns)):
        yield tuple(values[first + place] for place in places)


def _value(match: re.Match[bytes]) -> Value:
    quoted, plain = match.groups()
    if quoted is not None:
        if b"\\" in quoted:
            return _ESCAPE.sub(lambda m: _MEANING.get(m[1], m[1]), quoted)
        return quoted
    if plain == b"NULL":
        return None
    return int(plain) if plain.lstrip(b"-").isdigit() else plain


def title_of(value: Value) -> str:
    """A title as pages have it: blanks for underscores."""
    text = value if isinstance(value, bytes) else str(value).encode()
    return text.decode("utf-8", "replace").replace("_", " ")
