"""Wikimedia's smaller dumps: page views in every format it has published, and redirects from its SQL tables.

pagecounts-ez     en.z Title 42            or  en.z Title 42 A12B30
pageviews hourly  en.m Title 42 0          and pagecounts-raw, en Title 42 6240
pageview_complete en.wikipedia Title 307 desktop 42 A42   (older files: no page id)

A line belongs to a language's Wikipedia by its first field; desktop and mobile are summed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_lines
from whichone.files.manifest import BlockHashes, content_hash
from whichone.files.parts import beginning
from whichone.files.tables import TableSchema, sql_text, tables_sql
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.sources import DumpFile, PartFiles, PartJob, PartRows, Read, read_chunks
from whichone.knowledge.formats.wiki_site import clean_title, site_for
from whichone.knowledge.knowledge_tables import VIEWS
from whichone.progress import talk

# `summed` normalises titles and adds up; `published` is what AmbER's program does: only lines of
# exactly three fields that begin with en.z, the title as written, a later line replaces an earlier.
Rules = Literal["summed", "published"]

UNFIT = "lines that do not fit"

_NUMBER = re.compile(rb"\d+")
_HOURS = re.compile(rb"(?:[^\d\s]\d+)+")
_DEVICE = re.compile(rb"desktop|mobile-web|mobile-app|mobile")
_SAMPLE = 200
PARTS = VIEWS.schema.remove(VIEWS.schema.get_field_index("source")).append(pa.field("position", pa.int64()))


class ViewsFormat(msgspec.Struct, frozen=True):
    """Where title and count appear in a line, counted from its end: a title may contain blanks."""

    name: str
    suffixes: tuple[str, ...]  # what follows the language in the first field
    after_title: int  # how many fields
    count: int

    def projects(self, language: str) -> tuple[bytes, ...]:
        return tuple(f"{language}{suffix} ".encode() for suffix in self.suffixes)


_WIKIPEDIA = (".wikipedia",)
_EZ = (".z", ".m.z", ".zero.z")
_HOURLY = ("", ".m", ".zero")
FORMATS = {
    f.name: f
    for f in (
        ViewsFormat("pagecounts-ez totals", _EZ, 1, -1),
        ViewsFormat("pagecounts-ez", _EZ, 2, -2),
        ViewsFormat("pageviews hourly", _HOURLY, 2, -2),
        ViewsFormat("pageview_complete", _WIKIPEDIA, 4, -2),
        ViewsFormat("pageview_complete without page ids", _WIKIPEDIA, 3, -2),
    )
}


def format_of_line(line: bytes) -> str | None:
    fields = line.split()
    if len(fields) < 3:
        return None
    last, before = fields[-1], fields[-2]
    if len(fields) >= 5 and _HOURS.fullmatch(last) and _NUMBER.fullmatch(before):
        if _DEVICE.fullmatch(fields[-3]):
            known = len(fields) >= 6 and re.fullmatch(rb"\d+|null|-", fields[-4])
            return "pageview_complete" if known else "pageview_complete without page ids"
        return None
    if re.fullmatch(rb"[\w-]+(\.\w+)*\.[bdknoqsvz]", fields[0]):
        if len(fields) == 3 and _NUMBER.fullmatch(last):
            return "pagecounts-ez totals"
        if _HOURS.fullmatch(last) and _NUMBER.fullmatch(before):
            return "pagecounts-ez"
    if len(fields) >= 4 and _NUMBER.fullmatch(last) and _NUMBER.fullmatch(before):
        return "pageviews hourly"
    return None


def detect_format(head: bytes, *, file: str = "") -> ViewsFormat:
    lines = [line for line in head.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
    if not (results := [name for line in lines[:_SAMPLE] if (name := format_of_line(line))]):
        raise BadInput(
            "none of the page-view formats fits its first lines",
            file=file or None,
            hint="known are pagecounts-ez, pagecounts-raw, hourly pageviews and pageview_complete",
        )
    return FORMATS[max(dict.fromkeys(results), key=results.count)]


def read_part(
    data: bytes, form: ViewsFormat, *, language: str = "en", rules: Rules = "summed", position: int = 0
) -> PartRows:
    """Titles, blanks not underscores, with their views and a line, from whole lines.

    `position` counts the lines of the project before these ones.
    """
    part = PartRows()
    published = rules == "published"
    projects = (b"en.z ",) if published else form.projects(language)
    wanted = re.compile(rb"(?m)^(?:" + b"|".join(map(re.escape, projects)) + rb").*$")
    raw: dict[bytes, tuple[int, int]] = {}
    lines = 0
    for lines, match in enumerate(wanted.finditer(data), 1):
        line = match.group()
        title, count = _published(line) if published else _title_and_count(line, form)
        if count < 0:
            part.counts[UNFIT] += 1  # all published files hold a few
        elif published:
            raw[title] = (count, position + lines)
        else:
            before, first = raw.get(title, (0, position + lines))
            raw[title] = (before + count, first)
    part.counts["lines"] = lines
    part.counts["lines of other projects"] = sum(map(bool, data.split(b"\n"))) - lines
    part.counts["records"] = part.counts["positions"] = lines
    if published:
        titled = {title.decode().replace("_", " "): views for title, views in raw.items()}
    else:
        titled = _cleaned(raw, language, part)
    rows = [(title, *views) for title, views in titled.items()]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    part.give(
        "views", pa.table([pa.array(c, f.type) for c, f in zip(columns, PARTS, strict=True)], schema=PARTS)
    )
    return part


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) < 19


def _title_and_count(line: bytes, form: ViewsFormat) -> tuple[bytes, int]:
    """A negative count: the line is not of this format."""
    fields = line.rsplit(None, form.after_title)
    project, blank, title = fields[0].partition(b" ")
    count = fields[form.count]
    if len(fields) <= form.after_title or not blank or not _is_count(count):
        return project, -1
    return title, int(count)


def _published(line: bytes) -> tuple[bytes, int]:
    """Fields split as text, where more than in bytes is white space: U+00A0 splits a title."""
    fields = line.decode("utf-8", "replace").split()
    if len(fields) != 3 or not _is_count(fields[2].encode()):
        return b"", -1
    return fields[1].encode(), int(fields[2])


def _cleaned(
    raw: Mapping[bytes, tuple[int, int]], language: str, part: PartRows
) -> dict[str, tuple[int, int]]:
    site = site_for(f"{language}wiki", language)
    results: dict[str, tuple[int, int]] = {}
    for written, (count, position) in raw.items():
        if written == b"-":
            part.counts["views without a title"] += count
            continue
        title = clean_title(written.decode("utf-8", "replace"), site)
        before, first = results.get(title, (0, position))
        results[title] = (before + count, min(first, position))
    return results


_UNFIT_SHARE = 0.01


class ViewsFile(DumpFile):
    """Several files may be taken in: their views add up, and `source` names each."""

    kind = "views"

    def __init__(self, path: str | Path, language: str = "en", rules: Rules = "summed") -> None:
        super().__init__(path)
        self.language = language
        self.rules: Rules = rules

    @cached_property
    def format(self) -> ViewsFormat:
        return detect_format(beginning(self.path), file=str(self.path))

    def parameters(self) -> dict[str, Any]:
        return {"format": self.format.name, "language": self.language, "rules": self.rules}

    def check(self) -> None:
        assert self.format.name

    def read(self, job: PartJob) -> Read:
        read = partial(read_part, form=self.format, language=self.language, rules=self.rules)
        return read_chunks(self, job, lambda data, at: read(data, position=at))

    def finish(self, parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
        lines, unfit = parts.counted("lines"), parts.counted(UNFIT)
        # The released program passes over every line that has not three fields, however many.
        most = lines - 1 if self.rules == "published" else max(10, _UNFIT_SHARE * lines)
        if lines and unfit > most:
            raise BadInput(
                f"{unfit:,} of the {lines:,} lines of this wiki are not of the format {self.format.name}",
                file=self.path,
                hint="the file mixes formats or is damaged; fetch it again",
            )
        if (others := parts.counted("lines of other projects")) and not lines:
            wanted = "en.z" if self.rules == "published" else f"the {self.language} Wikipedia"
            talk(
                f"{self.path.name}: none of its {others:,} lines is of {wanted}; "
                "--language says which are taken"
            )
        add = "sum(views)" if self.rules == "summed" else "arg_max(views, position)"
        name = sql_text(self.path.name)
        rows = parts.rows("views")
        return {"views": f"select title, {add} as views, {name} as source from ({rows}) group by title"}


_TABLE = re.compile(rb"CREATE TABLE `(\w+)` \((.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(rb"^\s*`(\w+)`", re.MULTILINE)
_VALUE = re.compile(rb"'((?:[^'\\]|\\.)*)'|([^\s,()';]+)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_MEANING = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"Z": b"\x1a"}

_Value = bytes | int | None


def sql_columns(head: bytes, *, file: str = "") -> tuple[str, tuple[str, ...]]:
    """The name of the dump's table, and its columns in their order, from its CREATE TABLE."""
    if (result := _TABLE.search(head)) is None:
        raise BadInput(
            "not an SQL dump of MediaWiki: it has no CREATE TABLE",
            file=file or None,
            hint="wanted are …-redirect.sql.gz and …-page.sql.gz of the same date",
        )
    return result[1].decode(), tuple(name.decode() for name in _COLUMN.findall(result[2]))


def sql_rows(
    line: bytes, table: str, columns: Sequence[str], wanted: Sequence[str]
) -> Iterator[tuple[_Value, ...]]:
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


def _value(quoted: bytes, plain: bytes) -> _Value:
    if not plain:
        return _ESCAPE.sub(lambda m: _MEANING.get(m[1], m[1]), quoted)
    if plain == b"NULL":
        return None
    return int(plain) if plain.lstrip(b"-").isdigit() else plain


def title_of(value: _Value) -> str:
    text = value if isinstance(value, bytes) else str(value).encode()
    return text.decode("utf-8", "replace").replace("_", " ")


IDS = TableSchema.of("redirect_ids", ("id",), ("id", pa.int64()), ("target", pa.string()))
TITLES = pa.schema([("id", pa.int64()), ("title", pa.string())])
_HEAD = 1 << 16
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

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return sql_columns(beginning(self.path, _HEAD), file=str(self.path))[1]

    def fingerprint(self, hashes: BlockHashes | None = None) -> dict[str, Any]:
        return {**super().fingerprint(hashes), "page table": content_hash(self.pages, hashes)}

    def parameters(self) -> dict[str, Any]:
        return {"page table": self.pages.name}

    def check(self) -> None:
        assert self.columns

    def read(self, job: PartJob) -> Read:
        return read_chunks(self, job, self._part)

    def _part(self, data: bytes, position: int) -> PartRows:
        part, offset = PartRows(IDS), 0
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

    def finish(self, parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
        if not parts.counted("redirects"):
            raise BadInput("it has no redirect of an article", file=self.path)
        file = parts.folder / "redirect-titles.parquet"
        with pq.ParquetWriter(file, TITLES) as writer:
            for batch in self._titles():
                writer.write_table(batch)
        return {
            "redirects": f"""
            select t.title, r.target, null::text as target_page
            from ({parts.rows(IDS.name)}) r join {tables_sql([file])} t on t.id = r.id
            """
        }

    def _titles(self) -> Iterator[pa.Table]:
        _, columns = sql_columns(beginning(self.pages, _HEAD), file=str(self.pages))
        talk(f"reading the titles of redirects from {self.pages}")
        for number, line in read_lines(self.pages):
            try:
                rows = [
                    (identity, title_of(title))
                    for identity, namespace, title, is_redirect in sql_rows(
                        line, "page", columns, _WANTED["page"]
                    )
                    if namespace == 0 and is_redirect == 1 and isinstance(identity, int)
                ]
            except ValueError as error:
                raise BadInput(str(error), file=self.pages, line=number) from error
            if rows:
                ids, titles = zip(*rows, strict=True)
                yield pa.table([[*ids], [*titles]], schema=TITLES)
