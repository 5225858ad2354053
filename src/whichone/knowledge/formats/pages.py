"""What all sources of pages share: telling them apart, reading chunks, and the rows they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.formats.source import (
    DumpFile,
    Job,
    Part,
    PartFiles,
    Read,
    Refused,
    Source,
    joined,
)
from whichone.knowledge.formats.wiki_site import as_utf8
from whichone.progress import talk


def pages_source(path: str | Path, language: str | None = None) -> Source:
    """The source of a file of pages: a MediaWiki dump or KILT's knowledge source, by its bytes.

    A dump says its own language; one that is given wins over it.
    """
    from whichone.knowledge.formats.kilt_source import KiltSource
    from whichone.knowledge.formats.wikipedia import WikipediaDump

    start = as_utf8(beginning(Path(path))).lstrip()
    if b"<mediawiki" in start[:1000]:
        return WikipediaDump(path, language)
    if start.startswith(b"{"):
        own = language or "en"
        return KiltSource(path, f"{own}wiki", own)
    raise BadInput(
        "this is neither a MediaWiki XML dump nor KILT's knowledge source",
        file=path,
        hint="give …-pages-articles.xml.bz2 or kilt_knowledgesource.json",
    )


def read_chunks(source: DumpFile, job: Job, read: Callable[[bytes, int], Part]) -> Read:
    """All chunks of a part, read one after another; `read` takes bytes and the first position."""
    tables, position = [], 0
    refused: list[Refused] = []
    counts: Counter[str] = Counter()
    for chunk in source.chunks(job):
        part = read(chunk.data, position)
        tables.append(part.tables())
        counts.update(part.counts)
        position = counts["positions"]
        refused.extend(source.refuse(chunk, part.refused))
    if not tables:
        tables.append(read(b"", 0).tables())
    counts["positions"] = position
    return Read(joined(tables), counts, refused)


def finish_pages(parts: PartFiles, queries: Queries) -> dict[str, str]:
    """A page that appears in the dump several times is kept once, where it appears first."""
    rows = parts.rows("pages")
    repeated = queries.fetch(f"select count(*) - count(distinct page) from ({rows})")[0][0]
    if repeated:
        parts.notes["duplicate pages"] = repeated
        talk(f"{repeated:,} pages appear more than once; of each, the first is kept")
    first = f"select page, min(position) as position from ({rows}) group by page"
    return {
        "pages": f"select p.* from ({rows}) p semi join ({first}) f using (page, position)",
        "links": parts.rows("links"),
    }
