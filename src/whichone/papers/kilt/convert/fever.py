"""FEVER 1 and 2 as one dataset: supported and refuted claims, a set of sentences each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whichone.errors import BadInput, Missing
from whichone.files.lines import read_json_lines
from whichone.papers.kilt.convert.original import Original, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

LABELS = ("SUPPORTS", "REFUTES")
_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "-COLON-": ":", "_": " ",
}  # fmt: skip


def page_title(identity: str) -> str:
    """FEVER's page id as a title: `Soul_Food_-LRB-film-RRB-` is Soul Food (film)."""
    for escape, character in _ESCAPES.items():
        identity = identity.replace(escape, character)
    return identity


def convert_fever(original: Original) -> Iterator[TaskRecord]:
    """Claims of both versions; those without enough information are left out."""
    claims: dict[str, tuple[int, dict[str, Any]]] = {}
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                key, label = str(record["id"]), record["label"]
                record["claim"], record["evidence"]
            except (KeyError, TypeError):
                raise BadInput("not a record of FEVER", file=file, line=line) from None
            if label not in LABELS:
                original.left_out["not enough information"] += 1
            elif key in claims and claims[key][1]["claim"] != record["claim"]:
                raise BadInput("two claims have one id", file=file, line=line, ids=[key])
            else:
                claims[key] = (line, record)
    texts = _sentences(original, claims)
    for key, (line, record) in claims.items():
        outputs = _outputs(record, texts, original)
        yield TaskRecord(key, record["claim"], outputs or (TaskOutput(record["label"]),), line)


Place = tuple[str, int]


def _places(record: dict[str, Any]) -> list[list[Place]]:
    """Sets of page and sentence number; FEVER repeats a set for each annotator."""
    sets = [
        [(entry[2], entry[3]) for entry in group if entry[2] is not None and entry[3] is not None]
        for group in record["evidence"]
    ]
    return [
        list(all_places) for all_places in dict.fromkeys(tuple(places) for places in sets if places)
    ]


def _outputs(
    record: dict[str, Any], texts: dict[Place, str], original: Original
) -> tuple[TaskOutput, ...]:
    outputs = []
    for places in _places(record):
        missing = [place for place in places if place not in texts]
        original.left_out["sentences not in FEVER's pages"] += len(missing)
        evidence = tuple(
            sentence(page_title(page), texts.get((page, number), ""),
                     fever_page_id=page, fever_sentence_id=number)
            for page, number in places
        )  # fmt: skip
        outputs.append(TaskOutput(record["label"], evidence))
    return tuple(outputs)


def _sentences(
    original: Original, claims: dict[str, tuple[int, dict[str, Any]]]
) -> dict[Place, str]:
    """The texts that the claims refer to, from the files of FEVER's wiki-pages."""
    wanted = {place for _, r in claims.values() for places in _places(r) for place in places}
    pages = {page for page, _ in wanted}
    texts: dict[Place, str] = {}
    files = [f for path in original.extra for f in _page_files(path)]
    if wanted and not files:
        raise Missing(
            "FEVER names sentences by their number",
            hint="give the folder of its wiki-pages (wiki-001.jsonl ...) with --extra",
        )
    for file in files:
        for _, record in read_json_lines(file):
            if record.get("id") not in pages:
                continue
            for row in record["lines"].split("\n"):
                number, _, rest = row.partition("\t")
                place = (record["id"], int(number)) if number.isdigit() else None
                if place in wanted and place is not None:
                    texts[place] = rest.split("\t")[0]
    return texts


def _page_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
