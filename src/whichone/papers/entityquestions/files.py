"""EntityQuestions' question files and the folder layout of its release, read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from whichone.benchmarks.relations import published_relations
from whichone.errors import BadInput, Missing
from whichone.files.json_records import array_records
from whichone.files.lines import read_json_lines, write_atomic
from whichone.records import Output, Query

TASK = "EntityQuestions"

_FILE = re.compile(
    r"(?:(?P<relation>P\d+)(?:_(?P<kind>no_overlap|similar))?|bucket(?P<bucket>\d+)|(?P<other>.+?))"
    r"(?:\.(?P<split>train|dev|test))?\.(?P<format>jsonl|json)(?:\.(?:gz|bz2|zst))?"
)
RANDOM, SEEN = "common-random-buckets", "nq-seen-buckets"
"""The two populations of Figure 1: random entities, and those met in NQ's training questions."""
ONE_OFF = (RANDOM, SEEN, "no-overlap", "similar")


class QuestionRecord(msgspec.Struct):
    question: str
    answers: list[str]


class Place(msgspec.Struct, frozen=True):
    """What the place of a file in the release says about its questions."""

    relation: str | None = None
    split: str | None = None
    set: str = "main"
    bucket: int | None = None
    stem: str = ""

    def prefix(self) -> str:
        """The beginning of its questions' ids."""
        parts = [] if self.set == "main" else [self.set]
        parts.append(self.relation or self.stem)
        parts.extend([] if self.bucket is None else [f"bucket{self.bucket}"])
        parts.extend([self.split] if self.split else [])
        return ".".join(parts)


def place_of(path: Path) -> Place:
    """`dev/P19.dev.json`, `one-off/nq-seen-buckets/P19/bucket3.test.json.gz` and their like."""
    match = _FILE.fullmatch(path.name)
    if match is None:
        return Place(stem=path.name.partition(".")[0])
    folders = path.absolute().parts[:-1]
    one_off = next((name for name in folders if name in ONE_OFF), None)
    kind = match["kind"] and match["kind"].replace("_", "-")
    above = folders[-1] if folders and re.fullmatch(r"P\d+", folders[-1]) else None
    return Place(
        relation=match["relation"] or above,
        split=match["split"],
        set=one_off or kind or ("main" if match["bucket"] is None else "buckets"),
        bucket=int(match["bucket"]) if match["bucket"] else None,
        stem=match["other"] or "",
    )


def read_questions(path: str | Path) -> Iterator[Query]:
    """Queries of a question file (a JSON list, or JSON lines), or of every one in a folder.

    The release contains no subject ids; the name is what is in the relation's template.
    """
    path = Path(path)
    if not path.is_dir():
        yield from _read_file(path)
        return
    files = sorted(p for p in path.rglob("*") if p.is_file() and _FILE.fullmatch(p.name))
    if not files:
        raise Missing("there is no question file (.json or .jsonl) in the folder", where=str(path))
    for file in files:
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Query]:
    place = place_of(path)
    relation = published_relations().get(place.relation or "")
    attributes = {
        key: value
        for key, value in (
            ("split", place.split),
            ("set", place.set),
            ("bucket", place.bucket),
            ("rand_ent", place.set == RANDOM or None),
            ("train_ent", place.set == SEEN or None),
        )
        if value is not None
    }
    count = 0
    for count, (line, record) in enumerate(_records(path), 1):
        if not record.answers:
            raise BadInput("a question without answers", file=path, line=line)
        yield Query(
            id=f"{place.prefix()}.{count - 1}",
            task=TASK,
            input=record.question,
            outputs=(Output(answer=record.answers[0], aliases=tuple(record.answers[1:])),),
            name=relation.name_in(record.question) if relation else None,
            relation=place.relation,
            attributes=attributes,
        )
    if not count:
        raise BadInput("there is no question in the file", file=path)


def _records(path: Path) -> Iterator[tuple[int | None, QuestionRecord]]:
    if ".jsonl" in path.suffixes:
        yield from read_json_lines(path, QuestionRecord)
        return
    for record in array_records(path, QuestionRecord):
        yield None, record


def write_questions(path: str | Path, queries: Iterable[Query]) -> int:
    """One question file as released, indented by four; JSON lines when the name says so."""
    path = Path(path)
    records = [{"question": q.input, "answers": list(q.answers())} for q in queries]
    if path.suffix == ".jsonl":
        data = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    else:
        data = json.dumps(records, indent=4).encode()
    write_atomic(path, data)
    return len(records)
