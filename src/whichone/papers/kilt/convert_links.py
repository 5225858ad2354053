"""Entity linking from annotated texts and from a knowledge base's links: mentions marked in at most 256 tokens."""

import random
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from whichone.errors import BadInput, Missing
from whichone.files.folder import Folder
from whichone.files.lines import open_binary, read_json_lines, read_text_lines, write_json_lines
from whichone.files.tables import connect, read_batches, tables_sql
from whichone.knowledge.knowledge_tables import KIND
from whichone.knowledge.lookup import read_address
from whichone.options import DEFAULT_MEMORY
from whichone.papers.kilt.evidence_text import Original, OriginalEvidence, TaskOutput, TaskRecord, made_id
from whichone.papers.kilt.kilt_record import END, START

MOST_TOKENS = 256
_MARKS = 2


def cut_context(left: str, mention: str, right: str, most: int = MOST_TOKENS) -> tuple[str, str]:
    """Both sides cut so that all has at most `most` tokens, marks included; the longer side gives."""
    before, after = left.split(), right.split()
    room = max(0, most - _MARKS - len(mention.split()))
    if len(before) + len(after) > room:
        keep_before = min(len(before), max(room // 2, room - len(after)))
        before = before[len(before) - keep_before :]
        after = after[: room - keep_before]
    return " ".join(before), " ".join(after)


def linked(
    document: str, number: int, left: str, mention: str, right: str, page: str, line: int
) -> TaskRecord:
    before, after = cut_context(left, mention, right)
    text = f"{before} {START} {mention} {END} {after}".strip()
    title = read_address(page).title if "/wiki/" in page else unquote(page).replace("_", " ")
    output = TaskOutput(title, (OriginalEvidence(page, None),))
    meta = {"left_context": before, "mention": mention, "right_context": after}
    identity = f"{made_id('el', document, str(number))}_{document}:{number}"
    return TaskRecord(identity, text, (output,), line, {"meta": meta})


def convert_aida(original: Original) -> Iterator[TaskRecord]:
    """AIDA CoNLL-YAGO: a token a line, `-DOCSTART- (947testa CRICKET)` before each document."""
    wanted = {"dev": "testa", "test": "testb"}.get(original.split, "")
    for file in original.files:
        document, lines = "", list[tuple[int, list[str]]]()
        for line, text in read_text_lines(file):
            if text.startswith("-DOCSTART-"):
                yield from _aida_document(document, lines, wanted, original)
                document, lines = text.partition("(")[2].rstrip(") "), []
            else:
                lines.append((line, text.split("\t")))
        yield from _aida_document(document, lines, wanted, original)


def _aida_document(
    document: str, lines: Sequence[tuple[int, list[str]]], wanted: str, original: Original
) -> Iterator[TaskRecord]:
    split = next((name for name in ("testa", "testb") if name in document.split(" ")[0]), "")
    if not document or split != wanted:
        return
    words = [parts[0] for _, parts in lines]
    number = 0
    for place, (line, parts) in enumerate(lines):
        if len(parts) < 4 or parts[1] != "B":
            continue
        if parts[3] == "--NME--" or len(parts) < 5:
            original.left_out["mentions without a page"] += 1
            continue
        end = place + 1
        while end < len(lines) and len(lines[end][1]) > 1 and lines[end][1][1] == "I":
            end += 1
        left, right = " ".join(words[:place]), " ".join(words[end:])
        yield linked(document, number, left, parts[2], right, parts[4], line)
        number += 1


def convert_wned(original: Original) -> Iterator[TaskRecord]:
    """WNED-WIKI and WNED-CWEB: annotations in XML, texts beside them in `RawText`."""
    for file in original.files:
        folder = original.extra[0] if original.extra else file.parent / "RawText"
        if not folder.is_dir():
            raise Missing("the folder of raw texts", where=str(folder), hint="name it with --extra")
        chosen = _half([document.get("docName") or "" for document in _documents(file)], original)
        for place, document in enumerate(_documents(file)):
            if place in chosen:
                name = document.get("docName") or ""
                with open_binary(folder / name) as raw:
                    text = raw.read().decode("utf-8", "replace")
                yield from _wned_document(document, name, text, original)


def _documents(file: Path) -> Iterator[ET.Element]:
    """One at a time: what was in a document goes when the next one is read."""
    with open_binary(file) as raw:
        try:
            for _, element in ET.iterparse(raw):
                if element.tag == "document":
                    yield element
                    element.clear()
        except ET.ParseError as error:
            raise BadInput(f"no XML: {error}", file=file) from None


def _half(names: Sequence[str], original: Original) -> set[int]:
    """The places of dev's or test's documents: each has a random half."""
    drawn = sorted(range(len(names)), key=names.__getitem__)
    random.Random(original.seed).shuffle(drawn)
    middle = (len(drawn) + 1) // 2
    return set(drawn[:middle] if original.split == "dev" else drawn[middle:])


def _wned_document(document: ET.Element, name: str, text: str, original: Original) -> Iterator[TaskRecord]:
    for number, annotation in enumerate(document.iter("annotation")):
        page = (annotation.findtext("wikiName") or "").strip()
        start = int(annotation.findtext("offset") or 0)
        end = start + int(annotation.findtext("length") or 0)
        if not page or page.upper() == "NIL":
            original.left_out["mentions without a page"] += 1
            continue
        yield linked(name, number, text[:start], text[start:end], text[end:], page, number + 1)


def convert_elevant(original: Original) -> Iterator[TaskRecord]:
    """Elevant's benchmark files: a text a line with spans and Wikidata ids."""
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                text, name = record["text"], str(record["id"])
                for number, label in enumerate(record["labels"]):
                    start, end = label["span"]
                    page = label["entity_id"]
                    if not str(page).startswith("Q"):
                        original.left_out["mentions without a page"] += 1
                        continue
                    yield linked(name, number, text[:start], text[start:end], text[end:], page, line)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(f"not one of Elevant's records: {error!r}", file=file, line=line) from None


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
        records = (r for r in hyperlink_records(base) if (str(r["id"]).rpartition(":")[0] in dev) == chosen)
        counts[name] = write_json_lines(path / name, records)
    return counts


def dev_pages(base: str | Path, most: int = DEV, share: float = DEV_SHARE) -> frozenset[str]:
    links = tables_sql(Folder.open(base, KIND).parts("links"))
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
    batches = read_batches(folder.parts("pages"), 1000, ["page", "paragraphs"])
    pages = (row for batch in batches for row in batch.to_pylist())
    page: Mapping[str, Any] = {"page": ""}
    for source, group in groupby(_links(folder, memory), key=lambda link: str(link["page"])):
        while page["page"] < source:
            page = next(pages, {"page": chr(0x10FFFF)})
        if page["page"] == source:
            yield from (
                record for number, link in enumerate(group) if (record := _record(page, link, number))
            )


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


def _record(page: Mapping[str, Any], link: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    title, start, end = link["target_title"], link["start"], link["end"]
    known = 0 <= link["paragraph"] < len(page["paragraphs"])
    text = page["paragraphs"][link["paragraph"]] if known else ""
    if not (mention := text[start:end].strip()):
        return None
    before, after = cut_context(text[:start], mention, text[end:])
    entry = {"wikipedia_id": link["target_page"].partition(":")[2], "title": title}
    return {
        "id": f"{page['page']}:{number}",
        "input": f"{before} {START} {mention} {END} {after}".strip(),
        "output": [{"answer": title, "provenance": [entry]}],
        "meta": {"left_context": before, "mention": mention, "right_context": after},
    }
