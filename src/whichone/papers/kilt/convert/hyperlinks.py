"""Entity-linking training data from the hyperlinks of a knowledge base, one page at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.files.lines import write_json_lines
from whichone.files.tables import DEFAULT_MEMORY, connect, read_batches, tables_sql
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.kilt.convert.entity_linking import cut_context
from whichone.papers.kilt.record import END, START

DEV = 10_000
DEV_SHARE = 0.05


def export_hyperlinks(base: str | Path, out: str | Path) -> dict[str, int]:
    """All links in one file, or train and dev in a folder, called as KILT's files of this kind are.

    No page has links in both: dev has those of pages drawn by a hash of their ids, up to 10,000 links and
    no more than a twentieth of all.
    """
    path = Path(out)
    if path.suffix:
        return {path.name: write_json_lines(path, hyperlink_records(base))}
    path.mkdir(parents=True, exist_ok=True)
    dev = dev_pages(base)
    counts: dict[str, int] = {}
    for name, chosen in (("blink-train-kilt.jsonl", False), ("blink-dev-kilt.jsonl", True)):
        records = (r for r in hyperlink_records(base) if (_page_of(r) in dev) == chosen)
        counts[name] = write_json_lines(path / name, records)
    return counts


def _page_of(record: Mapping[str, Any]) -> str:
    return str(record["id"]).rpartition(":")[0]


def dev_pages(base: str | Path, most: int = DEV, share: float = DEV_SHARE) -> frozenset[str]:
    """The pages whose links are dev."""
    folder = Folder.open(base, KIND)
    links = tables_sql(folder.parts("links"))
    known = f"from {links} where target_page is not null"
    query = f"select page, count(*) {known} group by page order by sha256(page)"
    chosen: set[str] = set()
    with tempfile.TemporaryDirectory() as spill, connect(DEFAULT_MEMORY, Path(spill)) as connection:
        ((total,),) = connection.sql(f"select count(*) {known}").fetchall()
        room = min(most, int(share * total))
        for batch in connection.sql(query).to_arrow_reader(10_000):
            for page, number in zip(*batch.to_pydict().values(), strict=True):
                if number <= room:
                    chosen.add(page)
                    room -= number
            if not room:
                break
    return frozenset(chosen)


def hyperlink_records(base: str | Path, memory: str = DEFAULT_MEMORY) -> Iterator[dict[str, Any]]:
    """A KILT record for each link whose page is known; the text around it is its page's.

    Pages and links come sorted by page, so both are read once, side by side, and never held.
    """
    folder = Folder.open(base, KIND)
    pages = _pages(folder.parts("pages"))
    page: Mapping[str, Any] = {"page": ""}
    for source, group in groupby(_links(folder, memory), key=lambda link: str(link["page"])):
        while page["page"] < source:
            page = next(pages, {"page": chr(0x10FFFF)})
        if page["page"] == source:
            for number, link in enumerate(group):
                if record := _record(page, link, number):
                    yield record


def _links(folder: Folder, memory: str) -> Iterator[dict[str, Any]]:
    """Links with the titles of their pages, sorted as the pages are; more than memory goes to disk."""
    links, pages = (tables_sql(folder.parts(t)) for t in ("links", "pages"))
    query = f"""
        select l.page, l.paragraph, l.start, l."end", l.target_page, p.title as target_title
        from {links} l join {pages} p on p.page = l.target_page
        order by l.page, l.paragraph, l.start, l."end", l.target
    """
    with tempfile.TemporaryDirectory() as spill, connect(memory, Path(spill)) as connection:
        for batch in connection.sql(query).to_arrow_reader(10_000):
            yield from batch.to_pylist()


def _pages(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for batch in read_batches(files, 1000, ["page", "paragraphs"]):
        yield from batch.to_pylist()


def _record(page: Mapping[str, Any], link: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    title, place = link["target_title"], link["paragraph"]
    paragraphs = page["paragraphs"]
    if not 0 <= place < len(paragraphs):
        return None
    text, start, end = paragraphs[place], link["start"], link["end"]
    mention = text[start:end].strip()
    if not mention:
        return None
    before, after = cut_context(text[:start], mention, text[end:])
    entry = {"wikipedia_id": link["target_page"].partition(":")[2], "title": title}
    return {
        "id": f"{page['page']}:{number}",
        "input": f"{before} {START} {mention} {END} {after}".strip(),
        "output": [{"answer": title, "provenance": [entry]}],
        "meta": {"left_context": before, "mention": mention, "right_context": after},
    }
