"""KILT's knowledge source, `kilt_knowledgesource.json`: one page a line, into our tables and back.

What our columns do not hold is kept beside them in `pages.history`, so that a record that came from
KILT goes out as it came in.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

import msgspec

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.lines import write_lines
from whichone.files.parts import beginning
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats import sources
from whichone.knowledge.formats.wiki_site import WikiSite, clean_title, is_disambiguation, site_for
from whichone.knowledge.knowledge_tables import KIND, LINKS, PAGES
from whichone.records import page_id

# In `pages.history` of a record that does not say which entity it is about; its title may say so later.
UNNAMED = "unnamed"


def kilt_record(
    row: Mapping[str, Any], links: Iterable[Mapping[str, Any]], *, anchor_ids: bool = False
) -> dict[str, Any]:
    """One page as KILT writes it; `anchor_ids` adds the page id of every link that has one."""
    kept = msgspec.json.decode(row["history"]) if row.get("history") else {}
    number = row["page"].partition(":")[2]
    history = {"revid": row["revision"], "timestamp": row["timestamp"], **kept.get("history", {})}
    own, result = kept.get("anchors", {}), []
    for n, link in enumerate(links):
        anchor = own.get(str(n)) or anchor_record(
            link["text"], quote(link["target"]), link["paragraph"], link["start"], link["end"]
        )
        if anchor_ids and link["target_page"] and not anchor.get("wikipedia_id"):
            anchor = {**anchor, "wikipedia_id": link["target_page"].partition(":")[2]}
        result.append(anchor)
    if order := kept.get("order"):
        result = [anchor for _, anchor in sorted(zip(order, result, strict=True), key=lambda p: p[0])]
    record: dict[str, Any] = {
        "_id": number,
        "wikipedia_id": number,
        "wikipedia_title": row["title"],
        "text": list(row["paragraphs"]),
        "anchors": result,
        "categories": ",".join(row["categories"]),
        "history": {key: value for key, value in history.items() if value is not None},
    }
    if row["entity"]:
        record["wikidata_info"] = {"wikidata_id": row["entity"]}
    record |= kept.get("fields", {})
    for key in kept.get("absent", ()):
        record.pop(key, None)
    return record


def anchor_record(text: str, href: str, paragraph: int, start: int, end: int) -> dict[str, Any]:
    return {"text": text, "href": href, "paragraph_id": paragraph, "start": start, "end": end}


_COMMA = re.compile(r",(?! )")  # "Chicago, Illinois" is one category
_PLAIN_TITLE = re.compile(r"[A-Z0-9][A-Za-z0-9.~-]*(?: [A-Za-z0-9.~()-]+)*")
_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_Place = Annotated[int, msgspec.Meta(ge=0, le=_INT32)]


def read_part(
    data: bytes, *, source: str = "enwiki", language: str = "en", position: int = 0
) -> sources.PartRows:
    """Rows of pages and links from whole lines; `position` is the place of the first of them."""
    part = sources.PartRows()
    reader = _Reader(part, site_for(source, language))
    offset, first = 0, position
    for line in data.split(b"\n"):
        if line.strip():
            try:
                reader.read(line, position)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                part.refuse(offset, f"not a page of KILT's knowledge source: {error}")
            position += 1
        offset += len(line) + 1
    part.counts["records"] = part.counts["positions"] = position - first
    part.give("pages", reader.pages.table())
    part.give("links", reader.links.table())
    return part


class _Anchor(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str
    href: str
    paragraph_id: _Place
    start: _Place
    end: _Place


class _Usual(
    msgspec.Struct,
    forbid_unknown_fields=True,
    gc=False,
    rename={
        "id": "_id", "number": "wikipedia_id", "title": "wikipedia_title",
        "paragraphs": "text", "about": "wikidata_info",
    },
):  # fmt: skip
    """A record with the fields that KILT's own file has."""

    id: str
    number: str
    title: str
    paragraphs: list[str]
    anchors: list[_Anchor]
    categories: str
    history: dict[str, Any]
    about: dict[str, Any]


_usual = msgspec.json.Decoder(_Usual).decode


class _Reader:
    """Turns records into rows, in the order of the tables' columns."""

    def __init__(self, part: sources.PartRows, site: WikiSite) -> None:
        self.pages, self.links = sources.Columns(PAGES.schema), sources.Columns(LINKS.schema)
        self._part, self._site = part, site

    def read(self, line: bytes, position: int) -> None:
        """One record: most are usual ones, which takes half the time."""
        with contextlib.suppress(msgspec.ValidationError):
            if self._add_usual(_usual(line), position):
                return
        self._add_other(msgspec.json.decode(line), position)

    def _add_usual(self, record: _Usual, position: int) -> bool:
        """The rows of a usual record as `_add_other` would give them; False where it is none."""
        history, entity = record.history, _text(record.about.get("wikidata_id"))
        revision, timestamp = _integer(history.get("revid")), _text(history.get("timestamp"))
        if record.id != record.number or not entity or revision is None or timestamp is None:
            return False
        wiki, language = self._site.name, self._site.language
        page = page_id(wiki, record.number)
        links: list[tuple[Any, ...]] = []
        changed: dict[str, Any] = {}
        before: tuple[Any, ...] = ()
        for anchor in record.anchors:
            href, paragraph, start, end = anchor.href, anchor.paragraph_id, anchor.start, anchor.end
            place = (paragraph, start, end, href)
            if place < before:
                return False
            before = place
            target, quoted = _target(href, wiki, language)
            if quoted != href:
                changed[str(len(links))] = anchor
            links.append((page, paragraph, start, end, anchor.text, target, None))
        kept: dict[str, Any] = {}
        if history != {"revid": revision, "timestamp": timestamp}:
            kept["fields"] = {"history": history}
        if len(record.about) > 1:
            kept.setdefault("fields", {})["wikidata_info"] = record.about
        if changed:
            kept["anchors"] = changed
        categories = _COMMA.split(record.categories) if record.categories else []
        kind = self._kind(record.title, categories, record.about)
        self._add(
            (
                page, record.title, entity, kind, record.paragraphs, categories, revision,
                timestamp, position, _encoded(kept),
            ),
            links,
        )  # fmt: skip
        return True

    def _add_other(self, record: Mapping[str, Any], position: int) -> None:
        if not isinstance(record, dict):
            raise ValueError("the line is no JSON object")
        number, title = record.get("wikipedia_id", record.get("_id")), record.get("wikipedia_title")
        paragraphs = record.get("text")
        if number is None or not isinstance(title, str) or not isinstance(paragraphs, list):
            raise ValueError("wikipedia_id, wikipedia_title or text is missing")
        history, about = record.get("history") or {}, record.get("wikidata_info") or {}
        categories = record.get("categories")
        categories = _COMMA.split(categories) if categories else []
        page = page_id(self._site.name, number)
        row = {
            "page": page,
            "title": title,
            "entity": _text(about.get("wikidata_id")) or None,
            "kind": self._kind(title, categories, about),
            "paragraphs": list(map(str, paragraphs)),
            "categories": categories,
            "revision": _integer(history.get("revid")),
            "timestamp": _text(history.get("timestamp")),
            "position": position,
        }
        links, others = self._links(page, record.get("anchors") or [])
        # What the columns alone would not give back.
        plain = kilt_record(row, ())
        kept: dict[str, Any] = {}
        fields = {k: v for k, v in record.items() if k not in plain or plain[k] != v}
        fields.pop("anchors", None)
        if fields:
            kept["fields"] = fields
        if absent := [key for key in plain if key not in record]:
            kept["absent"] = absent
        kept |= {key: value for key, value in others.items() if value}
        if not row["entity"]:
            kept[UNNAMED] = True
        row["history"] = _encoded(kept)
        self._add(tuple(row.values()), links)

    def _add(self, row: tuple[Any, ...], links: Sequence[tuple[Any, ...]]) -> None:
        self.pages.add(row)
        self.links.extend(links)
        self._part.counts[f"{row[3]} pages"] += 1
        self._part.counts["links"] += len(links)

    def _kind(self, title: str, categories: Sequence[str], about: Mapping[str, Any]) -> str:
        listed = "disambiguation page" in str(about.get("description") or "")
        listed = listed or is_disambiguation(title, (), categories, self._site)
        return "disambiguation" if listed else "article"

    def _links(
        self, page: str, anchors: Sequence[Mapping[str, Any]]
    ) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
        """A page's links in order of place, and what of its anchors they would not give back."""
        places = [(*_place(anchor), n) for n, anchor in enumerate(anchors)]
        ordered = sorted(places)
        links: list[tuple[Any, ...]] = []
        changed: dict[str, Any] = {}
        for paragraph, start, end, href, n in ordered:
            anchor = anchors[n]
            target, quoted = _target(href, self._site.name, self._site.language)
            text, number = str(anchor.get("text") or ""), anchor.get("wikipedia_id")
            if anchor != anchor_record(text, quoted, paragraph, start, end):
                changed[str(len(links))] = anchor
            to = page_id(self._site.name, number) if number else None
            links.append((page, paragraph, start, end, text, target, to))
        order = [] if ordered == places else [place[-1] for place in ordered]
        return links, {"order": order, "anchors": changed}


@lru_cache(maxsize=1 << 16)
def _target(href: str, wiki: str, language: str) -> tuple[str, str]:
    """The title that an anchor's address means, and the address that the title gives."""
    plain = href.replace("%20", " ").replace("%28", "(").replace("%29", ")")
    if _PLAIN_TITLE.fullmatch(plain):  # the same by a shorter way
        return plain, plain.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    target = clean_title(unquote(href).partition("#")[0], site_for(wiki, language))
    return target, quote(target)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    if type(value) is not int:
        text = str(value)
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    return value if 0 <= value <= _INT64 else None


def _place(anchor: Mapping[str, Any]) -> tuple[int, int, int, str]:
    paragraph, start, end = (int(anchor.get(k) or 0) for k in ("paragraph_id", "start", "end"))
    if max(abs(paragraph), abs(start), abs(end)) > _INT32:
        raise ValueError(f"no anchor appears at {start} to {end} of paragraph {paragraph}")
    return paragraph, start, end, str(anchor.get("href") or "")


def _encoded(kept: Mapping[str, Any]) -> str | None:
    return msgspec.json.encode(kept).decode() if kept else None


class KiltSource(sources.DumpFile):
    """`wiki` is what its page ids belong to: KILT's are those of the English Wikipedia."""

    kind = "kilt"

    def __init__(self, path: str | Path, wiki: str = "enwiki", language: str = "en") -> None:
        super().__init__(path)
        self.wiki, self.language = wiki, language

    def parameters(self) -> dict[str, Any]:
        return {"wiki": self.wiki, "language": self.language}

    def check(self) -> None:
        start = beginning(self.path).lstrip()
        if not start.startswith(b"{") or (b'"wikipedia_title"' not in start and b"\n" in start):
            raise BadInput(
                "this is not KILT's knowledge source: its first line has no wikipedia_title",
                file=self.path,
                hint="wanted is kilt_knowledgesource.json, one page a line",
            )

    def read(self, job: sources.PartJob) -> sources.Read:
        read = partial(read_part, source=self.wiki, language=self.language)
        return sources.read_chunks(self, job, lambda data, at: read(data, position=at))

    def finish(self, parts: sources.PartFiles, queries: MergeQueries) -> dict[str, str]:
        return sources.finish_pages(parts, queries)


def export_kilt_source(base: str | Path, out: str | Path) -> dict[str, int]:
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_knowledgesource.json"
    return {path.name: write_lines(path, export_kilt(base))}


def export_kilt(base: str | Path, *, anchor_ids: bool = True) -> Iterator[bytes]:
    return (msgspec.json.encode(record) for _, record in kilt_records(base, anchor_ids=anchor_ids))


def kilt_records(
    base: str | Path | Folder, *, anchor_ids: bool = True
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same pages by their ids, as records.

    Pages and links are sorted by page, so that both are read once, side by side.
    """
    folder = base if isinstance(base, Folder) else Folder.open(base, KIND)
    pages, links = (folder.rows_of(t) if folder.has(f"{t}.parquet") else iter(()) for t in ("pages", "links"))
    grouped = groupby(links, key=lambda link: str(link["page"]))
    page, group = next(grouped, ("", iter(())))
    for row in pages:
        while page and page < row["page"]:
            page, group = next(grouped, ("", iter(())))
        own = list(group) if page == row["page"] else []
        yield row["page"], kilt_record(row, own, anchor_ids=anchor_ids)
