"""Small files of the datasets' original formats, converted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whichone.papers.kilt.convert import CONVERTERS
from whichone.papers.kilt.evidence_text import Original, TaskRecord


def convert(name: str, *files: Path, **more: Any) -> tuple[list[TaskRecord], dict[str, int]]:
    original = Original(files=list(files), **more)
    records = list(CONVERTERS[name](original))
    return records, {k: v for k, v in original.left_out.items() if v}


def write(path: Path, content: Any) -> Path:
    if isinstance(content, list) and path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def texts(record: TaskRecord) -> list[tuple[Any, list[tuple[str | None, str | None]] | None]]:
    return [
        (o.answer, None if o.evidence is None else [(e.page, e.text) for e in o.evidence])
        for o in record.outputs
    ]


def fever(identity: int, label: str, claim: str, *sets: list[tuple[str, int]]) -> dict[str, Any]:
    evidence = [[[1, 2, page, number] for page, number in group] for group in sets]
    return {"id": identity, "label": label, "claim": claim, "evidence": evidence}


def trex(subject: str, relation: str, value: str, sentence_id: int = 0) -> dict[str, Any]:
    def mention(key: str) -> dict[str, str]:
        return {"uri": f"http://www.wikidata.org/entity/{key}", "surfaceform": f"the {key}"}

    names = {"subject": subject, "predicate": relation, "object": value}
    return {**{k: mention(v) for k, v in names.items()}, "sentence_id": sentence_id}


def trex_document(name: str, *triples: dict[str, Any]) -> dict[str, Any]:
    bounds = [[0, 4], [5, 9]]
    return {"title": name, "text": "One. Two.", "sentences_boundaries": bounds, "triples": [*triples]}
