"""How often each page was looked at, from every format that Wikimedia has published.

pagecounts-ez     en.z Title 42            or  en.z Title 42 A12B30
pageviews hourly  en.m Title 42 0          and pagecounts-raw, en Title 42 6240
pageview_complete en.wikipedia Title 307 desktop 42 A42   (older files: no page id)

A line belongs to a language's Wikipedia by its first field; desktop and mobile are summed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.files.tables import sql_text
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.formats.pages import read_chunks
from whichone.knowledge.formats.source import DumpFile, Job, Part, PartFiles, Read
from whichone.knowledge.formats.wiki_site import clean_title, site_for
from whichone.knowledge.tables import VIEWS
from whichone.progress import talk

Rules = Literal["summed", "published"]
"""`summed` normalises titles and adds up; `published` is what AmbER's program does: only lines of
exactly three fields that begin with en.z, the title as written, a later line replaces an earlier."""

UNFIT = "lines that do not fit"

_NUMBER = re.compile(rb"\d+")
_HOURS = re.compile(rb"(?:[^\d\s]\d+)+")
_DEVICE = re.compile(rb"desktop|mobile-web|mobile-app|mobile")
_SAMPLE = 200
PARTS = VIEWS.schema.remove(VIEWS.schema.get_field_index("source")).append(
    pa.field("position", pa.int64())
)


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
    """The format of one line, or None when it fits none."""
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
    """The format of a file from its first bytes: the one that most of its first lines have."""
    lines = [line for line in head.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
    results = [name for line in lines[:_SAMPLE] if (name := format_of_line(line))]
    if not results:
        raise BadInput(
            "none of the page-view formats fits its first lines",
            file=file or None,
            hint="known are pagecounts-ez, pagecounts-raw, hourly pageviews and pageview_complete",
        )
    return FORMATS[max(dict.fromkeys(results), key=results.count)]


def read_part(
    data: bytes,
    form: ViewsFormat,
    *,
    language: str = "en",
    rules: Rules = "summed",
    position: int = 0,
) -> Part:
    """Titles, blanks not underscores, with their views and a line, from whole lines.

    `position` counts the lines of the project before these ones.
    """
    part = Part()
    published = rules == "published"
    projects = (b"en.z ",) if published else form.projects(language)
    wanted = re.compile(rb"(?m)^(?:" + b"|".join(map(re.escape, projects)) + rb").*$")
    raw: dict[bytes, tuple[int, int]] = {}
    lines = 0
    for match in wanted.finditer(data):
        line = match.group()
        lines += 1
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
    part.give("views", _table(_as_published(raw) if published else _cleaned(raw, language, part)))
    return part


def _is_count(text: bytes) -> bool:
    """Digits of a number that fits into 64 bits."""
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


def _as_published(raw: Mapping[bytes, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {t.decode().replace("_", " "): result for t, result in raw.items()}


def _cleaned(
    raw: Mapping[bytes, tuple[int, int]], language: str, part: Part
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


def _table(value: Mapping[str, tuple[int, int]]) -> pa.Table:
    rows = list(value.items())
    return pa.table(
        {
            "title": pa.array([title for title, _ in rows], pa.string()),
            "views": pa.array([views for _, (views, _) in rows], pa.int64()),
            "position": pa.array([position for _, (_, position) in rows], pa.int64()),
        },
        schema=PARTS,
    )


_UNFIT_SHARE = 0.01


class ViewsFile(DumpFile):
    """Several files may be taken in: their views add up, and `source` names each."""

    kind = "views"

    def __init__(self, path: str | Path, language: str = "en", rules: Rules = "summed") -> None:
        super().__init__(path)
        self.language = language
        self.rules: Rules = rules

    def __reduce__(self) -> tuple[Any, ...]:
        return ViewsFile, (self.path, self.language, self.rules)

    @cached_property
    def format(self) -> ViewsFormat:
        return detect_format(beginning(self.path), file=str(self.path))

    def parameters(self) -> dict[str, Any]:
        return {"format": self.format.name, "language": self.language, "rules": self.rules}

    def check(self) -> None:
        assert self.format.name

    def read(self, job: Job) -> Read:
        def part(data: bytes, at: int) -> Any:
            return read_part(
                data, self.format, language=self.language, rules=self.rules, position=at
            )

        return read_chunks(self, job, part)

    def finish(self, parts: PartFiles, queries: Queries) -> dict[str, str]:
        lines, unfit = parts.counted("lines"), parts.counted(UNFIT)
        # The released program passes over every line that has not three fields, however many.
        most = lines - 1 if self.rules == "published" else max(10, _UNFIT_SHARE * lines)
        if lines and unfit > most:
            raise BadInput(
                f"{unfit:,} of the {lines:,} lines of this wiki are not of the format {self.format.name}",
                file=self.path,
                hint="the file mixes formats or is damaged; fetch it again",
            )
        others = parts.counted("lines of other projects")
        if others and not lines:
            wanted = "en.z" if self.rules == "published" else f"the {self.language} Wikipedia"
            talk(
                f"{self.path.name}: none of its {others:,} lines is of {wanted}; "
                "--language says which are taken"
            )
        add = "sum(views)" if self.rules == "summed" else "arg_max(views, position)"
        name = sql_text(self.path.name)
        rows = parts.rows("views")
        return {
            "views": f"select title, {add} as views, {name} as source from ({rows}) group by title"
        }
