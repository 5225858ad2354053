"""MediaWiki XML dumps (pages-articles, plain or multistream, any language) to pages and links.

A stream is cut at its pages in constant memory; `read_part` turns the bytes of any
number of whole `<page>` elements into rows, and depends on nothing else, so that a process pool or
Spark can call it. Links carry titles; their pages are found once all redirects are known
(`knowledge/merge.py`).

MediaWiki knows a page that lists namesakes by `__DISAMBIG__`, which comes from a template whose name
differs from wiki to wiki. A dump of all articles contains the templates: those with the mark, those
that redirect to one, and those that call one.
"""

import codecs
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import mmh3
import msgspec
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.lines import open_binary
from whichone.files.parts import ByteRange, RecordChunk, beginning, whole_records
from whichone.files.tables import TableSchema, columns_sql
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats import sources, wiki_site
from whichone.knowledge.formats.wikitext import WikiText, parse_wikitext
from whichone.knowledge.knowledge_tables import LINKS, PAGES, REDIRECTS
from whichone.names import name_key
from whichone.records import Record, page_id

TEMPLATE = 10  # The number of the namespace of templates, in every wiki
TEMPLATES = TableSchema.of(
    "templates",
    ("template",),
    ("template", pa.int64()),
    ("marked", pa.bool_()),
    ("redirect", pa.int64()),
    ("calls", pa.list_(pa.int64())),
)
USES = TableSchema.of("uses", ("page",), ("page", pa.string()), ("templates", pa.list_(pa.int64())))
_NOT_INCLUDED = re.compile(
    r"<!--.*?(?:-->|\Z)|<noinclude\b[^<>]*>.*?(?:</noinclude\s*>|\Z)|<nowiki\b[^<>]*>.*?</nowiki\s*>",
    re.DOTALL | re.IGNORECASE,
)
_CALL = re.compile(r"\{\{\s*([^{}|#<>\[\]\n:]+(?::[^{}|#<>\[\]\n:]+)?)\s*(?=\||\}\}|\n)")
_LEVELS = 4  # A template that calls one that calls one and so on, as far as this


def template_hash(name: str, site: wiki_site.WikiSite) -> int:
    """64 bits of a template's name without its namespace."""
    return _hash(_bare(name, site))


def _bare(name: str, site: wiki_site.WikiSite) -> str:
    name = name.strip().lstrip(":")
    return name.partition(":")[2] if wiki_site.namespace_of(name, site) == TEMPLATE else name


@lru_cache(maxsize=1 << 16)
def _hash(name: str) -> int:
    return int(mmh3.hash64(name_key(name).encode("utf-8", "surrogatepass"))[0])


def marking_templates(queries: MergeQueries, rows: str) -> list[int]:
    """All templates that put the mark on the pages that use them; `rows` is a query of `TEMPLATES`."""
    known = {t for (t,) in queries.fetch(f"select template from ({rows}) where marked")}
    for _ in range(_LEVELS if known else 0):
        listed = f"[{', '.join(map(str, sorted(known)))}]::bigint[]"
        results = queries.fetch(
            f"select template from ({rows}) where list_contains({listed}, redirect)"
            f" or list_has_any(calls, {listed})"
        )
        if not (more := {t for (t,) in results} - known):
            break
        known |= more
    return sorted(known)


_OPEN, _CLOSE = b"<page>", b"</page>"
_BLOCK = 1 << 20
_LARGEST = 256 << 20  # MediaWiki allows 2 MB of wikitext; beyond this the dump is broken
_LINK = re.compile(r"\[\[([^\[\]|]+)")


class RawPage(Record, frozen=True):
    """One `<page>` as the dump has it, its latest revision only."""

    id: int
    title: str
    namespace: int | None = None  # old dumps do not say it
    redirect: str | None = None
    revision: int = 0
    parent: int | None = None
    timestamp: str = ""
    model: str = "wikitext"
    text: str = ""


def raw_page(element: bytes) -> RawPage:
    try:
        page = ET.fromstring(element)
    except ET.ParseError as error:
        raise ValueError(f"not well-formed XML: {error}") from error
    title, number = page.findtext("title"), page.findtext("id")
    if title is None or number is None:
        raise ValueError("a page without title or id")
    redirect, revisions = page.find("redirect"), page.findall("revision")
    revision = revisions[-1] if revisions else ET.Element("revision")
    parent, space = revision.findtext("parentid"), page.findtext("ns")
    try:
        return RawPage(
            id=_number(number),
            title=title,
            namespace=_number(space) if space else None,
            redirect=redirect.get("title") if redirect is not None else None,
            revision=_number(revision.findtext("id") or "0"),
            parent=_number(parent) if parent else None,
            timestamp=revision.findtext("timestamp") or "",
            model=revision.findtext("model") or "wikitext",
            text=revision.findtext("text") or "",
        )
    except ValueError as error:
        raise ValueError(f"page {number}: {error}") from error


def _number(text: str) -> int:
    number = int(text)
    if abs(number) >= 1 << 63:
        raise ValueError(f"a number of {len(text)} digits")
    return number


def redirect_target(page: RawPage, site: wiki_site.WikiSite) -> str | None:
    """Where a page redirects to: what the dump says, or, in old dumps, what its text begins with."""
    if page.redirect is not None:
        return wiki_site.clean_title(page.redirect.partition("#")[0], site)
    start = page.text[:200].lstrip()
    if start[:1] not in ("#", "＃"):
        return None
    folded = start.casefold()
    if not any(folded.startswith(word.casefold()) for word in site.redirect_words):
        return None
    link = _LINK.search(start)
    return wiki_site.clean_title(link[1].partition("#")[0].lstrip(":"), site) if link else None


def read_part(data: bytes, site: wiki_site.WikiSite, *, position: int = 0) -> sources.PartRows:
    """Rows of pages, links and redirects from the whole `<page>` elements in `data`.

    `position` is the place of the first page in its dump. Pages outside the main namespace and
    pages that are not wikitext are counted, not kept.
    """
    part = sources.PartRows(PAGES, LINKS, REDIRECTS, TEMPLATES, USES)
    part.counts["closing brackets"] = data.count(b"</mediawiki>")  # an undamaged dump ends in one
    first, start = position, data.find(_OPEN)
    while start >= 0:
        if (stop := data.find(_CLOSE, start)) < 0:
            part.refuse(start, "the stretch ends within a page")
            break
        stop += len(_CLOSE)
        _read_element(part, data[start:stop], start, site, position)
        position += 1
        start = data.find(_OPEN, stop)
    part.counts["records"] = part.counts["positions"] = position - first
    return part


def _read_element(
    part: sources.PartRows, element: bytes, offset: int, site: wiki_site.WikiSite, position: int
) -> None:
    try:
        raw = raw_page(element)
    except ValueError as error:
        part.refuse(offset, str(error))
        return
    space = wiki_site.namespace_of(raw.title, site) if raw.namespace is None else raw.namespace
    if space != 0:
        part.counts["pages of other namespaces"] += 1
        if space == TEMPLATE and raw.model == "wikitext":
            target = redirect_target(raw, site)
            included = _NOT_INCLUDED.sub("", raw.text)
            calls = {template_hash(match[1], site) for match in _CALL.finditer(included)}
            listed = wiki_site.is_disambiguation_template(_bare(raw.title, site), site)
            part.add(
                "templates",
                {
                    "template": template_hash(raw.title, site),
                    "marked": wiki_site.DISAMBIGUATION in included or listed,
                    "redirect": None if target is None else template_hash(target, site),
                    "calls": [] if target is not None else sorted(calls),
                },
            )
        return
    if (target := redirect_target(raw, site)) is not None:
        part.counts["redirects"] += 1
        part.add("redirects", {"title": raw.title, "target": target, "target_page": None})
        return
    if raw.model != "wikitext":
        part.counts[f"pages of model {raw.model}"] += 1
        return
    _add_page(part, raw, parse_wikitext(raw.title, raw.text, site), site, position)


def _add_page(
    part: sources.PartRows, raw: RawPage, text: WikiText, site: wiki_site.WikiSite, position: int
) -> None:
    listed = wiki_site.is_disambiguation(raw.title, text.templates, text.categories, site)
    kind = "disambiguation" if listed else "article"
    page = page_id(site.name, raw.id)
    history = {"history": {"parentid": raw.parent}} if raw.parent is not None else {}
    part.counts[f"{kind} pages"] += 1
    if not listed:
        used = {template_hash(name, site) for name in text.templates}
        part.add("uses", {"page": page, "templates": sorted(used)})
    part.counts["links"] += len(text.anchors)
    for what, number in text.lost.items():
        part.counts[f"dropped {what}"] += number
    part.add(
        "pages",
        {
            "page": page,
            "title": raw.title,
            "entity": None,
            "kind": kind,
            "paragraphs": text.paragraphs,
            "categories": text.categories,
            "revision": raw.revision,
            "timestamp": raw.timestamp,
            "position": position,
            "history": msgspec.json.encode(history).decode() if history else None,
        },
    )
    for anchor in text.anchors:
        part.add("links", {"page": page, **msgspec.structs.asdict(anchor), "target_page": None})


ENDS = "closing brackets"
_HEAD = 1 << 18
_BLOCK = 1 << 20


class WikipediaDump(sources.DumpFile):
    """`language`, where given, wins over what the dump says of itself."""

    kind = "wikipedia"
    delimiter = b"</page>"

    def __init__(self, path: str | Path, language: str | None = None) -> None:
        super().__init__(path)
        self.language = language

    @cached_property
    def site(self) -> wiki_site.WikiSite:
        return wiki_site.read_site(beginning(self.path, _HEAD), file=str(self.path), language=self.language)

    def jobs(self, number: int) -> Iterator[sources.PartJob]:
        if not wiki_site.is_utf16(beginning(self.path, 2)):
            yield from super().jobs(number)
            return
        whole = ByteRange(0, 0, self.path.stat().st_size)
        everything = ByteRange(0, 0, 1 << 62)
        yield sources.PartJob(number, whole, whole_records(self._recoded(), everything, self.delimiter))

    def _recoded(self) -> Iterator[RecordChunk]:
        position = 0
        decoder = codecs.getincrementaldecoder("utf-16")()
        with open_binary(self.path) as stream:
            try:
                while block := stream.read(_BLOCK):
                    data = decoder.decode(block).encode()
                    yield RecordChunk(position, data)
                    position += len(data)
            except (EOFError, OSError, ValueError) as error:
                raise BadInput(
                    f"damaged or cut off after {position:,} characters: {error}",
                    file=self.path,
                    hint="fetch the file again and compare its checksum",
                ) from error

    def parameters(self) -> dict[str, Any]:
        return {"wiki": self.site.name, "language": self.site.language}

    def check(self) -> None:
        assert self.site.name

    def read(self, job: sources.PartJob) -> sources.Read:
        return sources.read_chunks(self, job, lambda data, at: read_part(data, self.site, position=at))

    def finish(self, parts: sources.PartFiles, queries: MergeQueries) -> dict[str, str]:
        if not parts.counted(ENDS):
            raise BadInput(
                "it ends without </mediawiki>: the dump is cut off",
                file=self.path,
                hint="fetch the file again and compare its checksum",
            )
        kinds = ("article pages", "disambiguation pages", "redirects")
        if not any(p.counted(kind) for p in parts.siblings for kind in kinds):
            raise BadInput(
                f"none of its {parts.counted('records'):,} pages is an article",
                file=self.path,
                hint="wanted is a dump of a Wikipedia; Wikidata comes in as JSON, by --wikidata",
            )
        tables = sources.finish_pages(parts, queries)
        if listed := self._pages_that_list_namesakes(parts, queries):
            kind = "case when l.page is null then p.kind else 'disambiguation' end"
            tables["pages"] = f"""select {columns_sql(PAGES, "p", kind=kind)}
                from ({tables["pages"]}) p left join ({listed}) l on l.page = p.page"""
        return tables | {"redirects": parts.rows("redirects")}

    def _pages_that_list_namesakes(self, parts: sources.PartFiles, queries: MergeQueries) -> str:
        """A query of the pages whose templates have MediaWiki's mark; empty where there are none."""
        # a dump that is split has its templates in other files than most of its articles
        templates = " union all by name ".join(p.rows("templates") for p in parts.siblings)
        if not (marking := marking_templates(queries, templates)):
            return ""
        listed = f"[{', '.join(map(str, marking))}]::bigint[]"
        pages = f"""select distinct page from ({parts.rows("uses")})
            where list_has_any(templates, {listed})"""
        if count := queries.fetch(f"select count(*) from ({pages})")[0][0]:
            parts.notes["article pages"] = -count
            parts.notes["disambiguation pages"] = count
        return pages if count else ""
