"""Entity linking: mentions marked in at most 256 tokens, the answer is the title of the page."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from whichone.errors import BadInput, Missing
from whichone.files.lines import open_binary, read_json_lines, read_text_lines
from whichone.knowledge.lookup import read_address
from whichone.papers.kilt.convert.original import Original, made_id
from whichone.papers.kilt.mapping.evidence import Evidence, TaskOutput, TaskRecord
from whichone.papers.kilt.record import END, START

MOST_TOKENS = 256
_MARKS = 2


def cut_context(left: str, mention: str, right: str, most: int = MOST_TOKENS) -> tuple[str, str]:
    """Both sides cut so that all has at most `most` tokens, marks included; the longer side gives."""
    before, after = left.split(), right.split()
    room = max(0, most - _MARKS - len(mention.split()))
    if len(before) + len(after) > room:
        half = room // 2
        keep_before = min(len(before), max(half, room - len(after)))
        before = before[len(before) - keep_before :]
        after = after[: room - keep_before]
    return " ".join(before), " ".join(after)


def linked(
    document: str, number: int, left: str, mention: str, right: str, page: str, line: int
) -> TaskRecord:
    """One record of one mention."""
    before, after = cut_context(left, mention, right)
    text = f"{before} {START} {mention} {END} {after}".strip()
    title = read_address(page).title if "/wiki/" in page else unquote(page).replace("_", " ")
    output = TaskOutput(title, (Evidence(page, None),))
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
                yield from _wned_document(document, name, _text(folder / name), original)


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


def _text(path: Path) -> str:
    with open_binary(path) as file:
        return file.read().decode("utf-8", "replace")


def _wned_document(
    document: ET.Element, name: str, text: str, original: Original
) -> Iterator[TaskRecord]:
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
                    yield linked(
                        name, number, text[:start], text[start:end], text[end:], page, line
                    )
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"not one of Elevant's records: {error!r}", file=file, line=line
                ) from None
