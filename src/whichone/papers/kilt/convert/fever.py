"""FEVER 1 and 2 as one dataset: supported and refuted claims, a set of sentences each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, WhichoneError
from whichone.files.arrow_records import KeyedSpool, Seen, Selection, Spool, blocks
from whichone.files.lines import read_json_lines
from whichone.papers.kilt.convert.original import Original, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

LABELS = ("SUPPORTS", "REFUTES")
BLOCK = 1_000
"""Claims, or pages, that are looked up together."""
_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "-COLON-": ":", "_": " ",
}  # fmt: skip


def page_title(identity: str) -> str:
    """FEVER's page id as a title: `Soul_Food_-LRB-film-RRB-` is Soul Food (film)."""
    for escape, character in _ESCAPES.items():
        identity = identity.replace(escape, character)
    return identity


class _Claim(msgspec.Struct, array_like=True):
    id: str
    line: int
    label: str
    claim: Any
    evidence: Any


def convert_fever(original: Original) -> Iterator[TaskRecord]:
    """Claims of both versions; those without enough information are left out."""
    claims = _claims(original)
    pages = _pages(original, claims)
    for block in blocks(claims, BLOCK):
        listed = [_places(claim) for claim in block]
        wanted = list({page for sets in listed for places in sets for page, _ in places})
        rows = zip(wanted, pages.many(wanted), strict=True)
        texts = {page: dict(numbered or ()) for page, numbered in rows}
        for claim, sets in zip(block, listed, strict=True):
            outputs = _outputs(claim, sets, texts, original) or (TaskOutput(claim.label),)
            yield TaskRecord(claim.id, claim.claim, outputs, claim.line)


def _claims(original: Original) -> Sequence[_Claim]:
    """Each id where it comes first, with its last record."""
    claims: Spool[_Claim] = Spool(_Claim, original.near)
    newest = array("q")
    seen = Seen(original.near)
    for block in _blocks(_read(original)):
        ids = [claim.id for _, claim in block]
        before = seen.add(ids, range(len(claims), len(claims) + len(block)))
        for (file, claim), first in zip(block, before, strict=True):
            if first is None:
                newest.append(len(claims))
            elif claims[first].claim != claim.claim:
                message = "two claims have one id"
                raise BadInput(message, file=file, line=claim.line, ids=[claim.id])
            else:
                newest[first] = len(claims)
                newest.append(-1)
            claims.append(claim)
    places = np.array(newest, np.int64)
    once = places[places >= 0]
    return claims if len(once) == len(claims) else Selection(claims, once)


def _blocks(claims: Iterable[tuple[Path, _Claim]]) -> Iterator[list[tuple[Path, _Claim]]]:
    """Blocks of claims; an error in reading comes after the claims before it, which may have one too."""
    block: list[tuple[Path, _Claim]] = []
    try:
        for claim in claims:
            block.append(claim)
            if len(block) == BLOCK:
                yield block
                block = []
    except WhichoneError:
        yield block
        raise
    yield block


def _read(original: Original) -> Iterator[tuple[Path, _Claim]]:
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                key, label = str(record["id"]), record["label"]
                claim = _Claim(key, line, label, record["claim"], record["evidence"])
            except (KeyError, TypeError):
                raise BadInput("not a record of FEVER", file=file, line=line) from None
            if label in LABELS:
                yield file, claim
            else:
                original.left_out["not enough information"] += 1


Place = tuple[str, int]


def _places(claim: _Claim) -> list[list[Place]]:
    """Sets of page and sentence number; FEVER repeats a set for each annotator."""
    sets = [
        [(entry[2], entry[3]) for entry in group if entry[2] is not None and entry[3] is not None]
        for group in claim.evidence
    ]
    return [
        list(all_places) for all_places in dict.fromkeys(tuple(places) for places in sets if places)
    ]


def _outputs(
    claim: _Claim,
    sets: Sequence[Sequence[Place]],
    texts: Mapping[str, Mapping[int, str]],
    original: Original,
) -> tuple[TaskOutput, ...]:
    outputs = []
    for places in sets:
        found = [texts[page].get(number) for page, number in places]
        original.left_out["sentences not in FEVER's pages"] += found.count(None)
        evidence = tuple(
            sentence(page_title(page), text or "", fever_page_id=page, fever_sentence_id=number)
            for (page, number), text in zip(places, found, strict=True)
        )
        outputs.append(TaskOutput(claim.label, evidence))
    return tuple(outputs)


Numbered = list[tuple[int, str]]


def _pages(original: Original, claims: Iterable[_Claim]) -> KeyedSpool[Numbered]:
    """The sentences of the pages that the claims refer to, from the files of FEVER's wiki-pages."""
    wanted = Seen(original.near)
    for block in blocks(claims, BLOCK):
        pages = [page for claim in block for places in _places(claim) for page, _ in places]
        wanted.add(pages, [0] * len(pages))
    files = [f for path in original.extra for f in _page_files(path)]
    if len(wanted) and not files:
        raise Missing(
            "FEVER names sentences by their number",
            hint="give the folder of its wiki-pages (wiki-001.jsonl ...) with --extra",
        )
    return KeyedSpool(Numbered, _wanted(files, wanted), original.near)


def _wanted(files: Iterable[Path], wanted: Seen) -> Iterator[tuple[str, Numbered]]:
    for file in files:
        pages = (page for _, page in read_json_lines(file) if isinstance(page.get("id"), str))
        for block in blocks(pages, BLOCK):
            known = wanted.numbers([page["id"] for page in block])
            for page, number in zip(block, known, strict=True):
                if number is not None:
                    yield page["id"], _numbered(page["lines"])


def _numbered(lines: str) -> Numbered:
    rows = (line.partition("\t") for line in lines.split("\n"))
    return [(int(n), rest.partition("\t")[0]) for n, _, rest in rows if n.isdigit()]


def _page_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
