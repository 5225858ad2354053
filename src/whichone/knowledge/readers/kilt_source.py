"""KILT's knowledge source, `kilt_knowledgesource.json`: one page a line, to and from our tables.

What our columns do not hold is kept beside them in `pages.history`, so that a record that came from
KILT goes out as it came in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pyarrow.parquet as pq

from whichone.files.folder import Folder
from whichone.knowledge.readers.columns import Columns
from whichone.knowledge.readers.part import Part
from whichone.knowledge.readers.wiki_site import Site, clean_title, is_disambiguation, site_for
from whichone.knowledge.tables import KIND, LINKS, PAGES
from whichone.records import page_id

UNNAMED = "unnamed"
"""In `pages.history` of a record that does not say which entity it is about; its title may say so later."""
_COMMA = re.compile(r",(?! )")  # "Chicago, Illinois" is one category
_PLAIN_TITLE = re.compile(r"[A-Z0-9][A-Za-z0-9.~-]*(?: [A-Za-z0-9.~-]+)*")


def read_part(
    data: bytes, *, source: str = "enwiki", language: str = "en", position: int = 0
) -> Part:
    """Rows of pages and links from whole lines; `position` is the place of the first of them."""
    part = Part()
    reader = _Reader(part, site_for(source, language))
    offset, first = 0, position
    for line in data.split(b"\n"):
        if line.strip():
            try:
                reader.add(msgspec.json.decode(line), position)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                part.refuse(offset, f"not a page of KILT's knowledge source: {error}")
            position += 1
        offset += len(line) + 1
    part.counts["records"] = part.counts["positions"] = position - first
    part.give("pages", reader.pages.table())
    part.give("links", reader.links.table())
    return part


class _Reader:
    """Turns records into rows, in the order of the tables' columns."""

    def __init__(self, part: Part, site: Site) -> None:
        self.pages, self.links = Columns(PAGES.schema), Columns(LINKS.schema)
        self._part, self._site = part, site

    def add(self, record: Mapping[str, Any], position: int) -> None:
        if not isinstance(record, dict):
            raise ValueError("the line is no JSON object")
        number, title = record.get("wikipedia_id", record.get("_id")), record.get("wikipedia_title")
        paragraphs = record.get("text")
        if number is None or not isinstance(title, str) or not isinstance(paragraphs, list):
            raise ValueError("wikipedia_id, wikipedia_title or text is missing")
        history, about = record.get("history") or {}, record.get("wikidata_info") or {}
        categories = record.get("categories")
        categories = _COMMA.split(categories) if categories else []
        listed = is_disambiguation(title, (), categories, self._site)
        page = page_id(self._site.name, number)
        row = {
            "page": page,
            "title": title,
            "entity": about.get("wikidata_id") or None,
            "kind": "disambiguation" if listed or _said_to_be_list(about) else "article",
            "paragraphs": list(map(str, paragraphs)),
            "categories": categories,
            "revision": _integer(history.get("revid")),
            "timestamp": history.get("timestamp"),
            "position": position,
        }
        links, others = self._links(page, record.get("anchors") or [])
        row["history"] = _remainder(record, row, others)
        self.pages.add(tuple(row.values()))
        self.links.extend(links)
        self._part.counts[f"{row['kind']} pages"] += 1
        self._part.counts["links"] += len(links)

    def _links(
        self, page: str, anchors: Sequence[Mapping[str, Any]]
    ) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
        """A page's links in order of place, and what of its anchors they would not give back."""
        if not anchors:
            return [], {}
        wiki, language = self._site.name, self._site.language
        places = [(*_place(anchor), n) for n, anchor in enumerate(anchors)]
        ordered = sorted(places)
        links: list[tuple[Any, ...]] = []
        changed: dict[str, Any] = {}
        for paragraph, start, end, href, n in ordered:
            anchor = anchors[n]
            target, quoted = _target(href, wiki, language)
            text, number = str(anchor.get("text") or ""), anchor.get("wikipedia_id")
            if anchor != _anchor(text, quoted, paragraph, start, end):
                changed[str(len(links))] = anchor
            to = page_id(wiki, number) if number else None
            links.append((page, paragraph, start, end, text, target, to))
        order = [] if ordered == places else [place[-1] for place in ordered]
        return links, {"order": order, "anchors": changed}


@lru_cache(maxsize=1 << 16)
def _target(href: str, wiki: str, language: str) -> tuple[str, str]:
    """The title that an anchor's address means, and the address that the title gives."""
    plain = href.replace("%20", " ")
    if _PLAIN_TITLE.fullmatch(plain):  # the same by a shorter way
        return plain, plain.replace(" ", "%20")
    target = clean_title(unquote(href).partition("#")[0], site_for(wiki, language))
    return target, quote(target)


def _said_to_be_list(about: Mapping[str, Any]) -> bool:
    return "disambiguation page" in str(about.get("description") or "")


def _integer(value: object) -> int | None:
    if type(value) is int and value >= 0:
        return value
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else None


def _place(anchor: Mapping[str, Any]) -> tuple[int, int, int, str]:
    paragraph, start, end = anchor.get("paragraph_id"), anchor.get("start"), anchor.get("end")
    return int(paragraph or 0), int(start or 0), int(end or 0), str(anchor.get("href") or "")


def _anchor(text: str, href: str, paragraph: int, start: int, end: int) -> dict[str, Any]:
    return {"text": text, "href": href, "paragraph_id": paragraph, "start": start, "end": end}


def _remainder(
    record: Mapping[str, Any], row: Mapping[str, Any], others: Mapping[str, Any]
) -> str | None:
    """As JSON, what the columns alone would not give back; None when they would."""
    plain = kilt_record(row, ())
    kept: dict[str, Any] = {}
    fields = {k: v for k, v in record.items() if k not in plain or plain[k] != v}
    fields.pop("anchors", None)
    if fields:
        kept["fields"] = fields
    if not plain.keys() <= record.keys():
        kept["absent"] = [key for key in plain if key not in record]
    kept |= {key: value for key, value in others.items() if value}
    if not row["entity"]:
        kept[UNNAMED] = True
    return msgspec.json.encode(kept).decode() if kept else None


def kilt_record(
    row: Mapping[str, Any], links: Iterable[Mapping[str, Any]], *, anchor_ids: bool = False
) -> dict[str, Any]:
    """One page as KILT writes it; `anchor_ids` adds the page id of every link that has one."""
    kept = msgspec.json.decode(row["history"]) if row.get("history") else {}
    number = row["page"].partition(":")[2]
    history = {"revid": row["revision"], "timestamp": row["timestamp"], **kept.get("history", {})}
    record: dict[str, Any] = {
        "_id": number,
        "wikipedia_id": number,
        "wikipedia_title": row["title"],
        "text": list(row["paragraphs"]),
        "anchors": _anchors(links, kept, anchor_ids),
        "categories": ",".join(row["categories"]),
        "history": {key: value for key, value in history.items() if value is not None},
    }
    if row["entity"]:
        record["wikidata_info"] = {"wikidata_id": row["entity"]}
    record |= kept.get("fields", {})
    for key in kept.get("absent", ()):
        record.pop(key, None)
    return record


def _anchors(
    links: Iterable[Mapping[str, Any]], kept: Mapping[str, Any], anchor_ids: bool
) -> list[dict[str, Any]]:
    own, found = kept.get("anchors", {}), []
    for n, link in enumerate(links):
        anchor = own.get(str(n)) or _anchor(
            link["text"], quote(link["target"]), link["paragraph"], link["start"], link["end"]
        )
        if anchor_ids and link["target_page"] and not anchor.get("wikipedia_id"):
            anchor = {**anchor, "wikipedia_id": link["target_page"].partition(":")[2]}
        found.append(anchor)
    order = kept.get("order")
    if order:
        found = [anchor for _, anchor in sorted(zip(order, found, strict=True), key=lambda p: p[0])]
    return found


def export_kilt(base: str | Path, *, anchor_ids: bool = True) -> Iterator[bytes]:
    """The pages of a knowledge base as lines of KILT's knowledge source, in order of page id.

    Pages and links lie sorted by page, so that both are read once, side by side.
    """
    folder = Folder.open(base, KIND)
    pages = _rows(folder.path("pages.parquet"))
    links = _rows(folder.path("links.parquet")) if folder.has("links.parquet") else iter(())
    grouped = groupby(links, key=lambda link: str(link["page"]))
    page, group = next(grouped, ("", iter(())))
    for row in pages:
        while page and page < row["page"]:
            page, group = next(grouped, ("", iter(())))
        own = list(group) if page == row["page"] else []
        yield msgspec.json.encode(kilt_record(row, own, anchor_ids=anchor_ids))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for batch in pq.ParquetFile(path).iter_batches(batch_size=1000):
        yield from batch.to_pylist()
