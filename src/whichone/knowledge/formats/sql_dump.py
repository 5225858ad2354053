"""MediaWiki's SQL dumps (`redirect.sql`, `page.sql`): the rows of their INSERT lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_lines
from whichone.files.manifest import BlockHashes, content_hash
from whichone.files.parts import beginning
from whichone.files.tables import TableSchema, sql_text
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.formats.pages import read_chunks
from whichone.knowledge.formats.source import DumpFile, Job, Part, PartFiles, Read
from whichone.progress import talk

_TABLE = re.compile(rb"CREATE TABLE `(\w+)` \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(rb"^\s*`(\w+)`", re.MULTILINE)
_VALUE = re.compile(rb"'((?:[^'\\]|\\.)*)'|([^\s,()';]+)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_MEANING = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"Z": b"\x1a"}

Value = bytes | int | None


def sql_columns(head: bytes, *, file: str = "") -> tuple[str, tuple[str, ...]]:
    """The name of the dump's table, and its columns in their order, from its CREATE TABLE."""
    result = _TABLE.search(head)
    if result is None:
        raise BadInput(
            "not an SQL dump of MediaWiki: it has no CREATE TABLE",
            file=file or None,
            hint="wanted are …-redirect.sql.gz and …-page.sql.gz of the same date",
        )
    columns = tuple(name.decode() for name in _COLUMN.findall(result[2]))
    return result[1].decode(), columns


def sql_rows(
    line: bytes, table: str, columns: Sequence[str], wanted: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """The wanted columns of one INSERT line's rows; nothing for other lines."""
    start = f"INSERT INTO `{table}` VALUES ".encode()
    if not line.startswith(start):
        return
    places = [columns.index(name) for name in wanted]
    values: list[tuple[bytes, bytes]] = _VALUE.findall(line, len(start))
    if len(values) % len(columns):
        raise ValueError(f"its values do not make rows of {len(columns)} columns")
    for first in range(0, len(values), len(columns)):
        yield tuple(_value(*values[first + place]) for place in places)


def _value(quoted: bytes, plain: bytes) -> Value:
    if not plain:
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


IDS = TableSchema("redirect_ids", pa.schema([("id", pa.int64()), ("target", pa.string())]), ("id",))
TITLES = pa.schema([("id", pa.int64()), ("title", pa.string())])
_HEAD = 1 << 16
_BATCH = 100_000
_WANTED = {
    "redirect": ("rd_from", "rd_namespace", "rd_title", "rd_interwiki"),
    "page": ("page_id", "page_namespace", "page_title", "page_is_redirect"),
}


def redirects_source(files: Sequence[str | Path]) -> RedirectsDump:
    """The one source of `redirect.sql` and `page.sql`, given in any order."""
    by_table: dict[str, Path] = {}
    for file in files:
        table, columns = sql_columns(beginning(Path(file), _HEAD), file=str(file))
        missing = [c for c in _WANTED.get(table, ()) if c not in columns]
        if table not in _WANTED or missing:
            raise BadInput(
                f"a dump of the table {table}"
                + (f" without {', '.join(missing)}" if missing else "; redirect or page is wanted"),
                file=file,
            )
        if table in by_table:
            raise UsageError(f"{by_table[table]} and {file} are both dumps of the table {table}")
        by_table[table] = Path(file)
    for table, other in (("redirect", "page"), ("page", "redirect")):
        if table not in by_table:
            raise UsageError(
                f"{by_table[other]} alone does not name redirects: redirect.sql has the ids of"
                " redirects, page.sql their titles",
                hint=f"add the dump of the table {table} of the same date: --redirects …-{table}.sql.gz",
            )
    return RedirectsDump(by_table["redirect"], by_table["page"])


class RedirectsDump(DumpFile):
    """`redirect.sql` in parts; the titles of its ids are read from `page.sql` when all parts are read."""

    kind = "redirects"

    def __init__(self, path: str | Path, pages: str | Path) -> None:
        super().__init__(path)
        self.pages = Path(pages)

    def __reduce__(self) -> tuple[Any, ...]:
        return RedirectsDump, (self.path, self.pages)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return sql_columns(beginning(self.path, _HEAD), file=str(self.path))[1]

    def fingerprint(self, hashes: BlockHashes | None = None) -> dict[str, Any]:
        return {**super().fingerprint(hashes), "page table": content_hash(self.pages, hashes)}

    def parameters(self) -> dict[str, Any]:
        return {"page table": self.pages.name}

    def check(self) -> None:
        assert self.columns

    def read(self, job: Job) -> Read:
        return read_chunks(self, job, self._part)

    def _part(self, data: bytes, position: int) -> Part:
        part, offset = Part(IDS), 0
        for line in data.splitlines(keepends=True):
            try:
                for row in sql_rows(line, "redirect", self.columns, _WANTED["redirect"]):
                    source, namespace, title, interwiki = row
                    if namespace == 0 and not interwiki:
                        part.add(IDS.name, {"id": source, "target": title_of(title)})
                        part.counts["redirects"] += 1
            except ValueError as error:
                part.refuse(offset, str(error))
            offset += len(line)
        part.counts["records"] += part.counts["redirects"]
        part.counts["positions"] = part.counts["records"]
        return part

    def finish(self, parts: PartFiles, queries: Queries) -> dict[str, str]:
        if not parts.counted("redirects"):
            raise BadInput("it has no redirect of an article", file=self.path)
        file = parts.folder / "redirect-titles.parquet"
        with pq.ParquetWriter(file, TITLES) as writer:
            for batch in self._titles():
                writer.write_table(batch)
        titles = f"read_parquet({sql_text(file)})"
        rows = parts.rows(IDS.name)
        return {
            "redirects": f"""
            select t.title, r.target, null::text as target_page
            from ({rows}) r join {titles} t on t.id = r.id
            """
        }

    def _titles(self) -> Iterator[pa.Table]:
        """Ids and titles of the articles' redirects in `page.sql`."""
        _, columns = sql_columns(beginning(self.pages, _HEAD), file=str(self.pages))
        ids: list[int] = []
        titles: list[str] = []
        talk(f"reading the titles of redirects from {self.pages}")
        for number, line in read_lines(self.pages):
            try:
                for row in sql_rows(line, "page", columns, _WANTED["page"]):
                    identity, namespace, title, is_redirect = row
                    if namespace == 0 and is_redirect == 1 and isinstance(identity, int):
                        ids.append(identity)
                        titles.append(title_of(title))
            except ValueError as error:
                raise BadInput(str(error), file=self.pages, line=number) from error
            if len(ids) >= _BATCH:
                yield pa.table({"id": ids, "title": titles}, schema=TITLES)
                ids, titles = [], []
        yield pa.table({"id": ids, "title": titles}, schema=TITLES)
