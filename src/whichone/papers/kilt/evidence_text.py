"""Tasks whose evidence is still text: KILT's shape with `text`, or input, answer and evidence alone.

Two shapes are read, one record a line:

    {"id", "input", "output": [{"answer", "provenance": [{"title" | "url" | "wikipedia_id", "text"}]}]}
    {"input", "answer", "evidence"}

In the second, `answer` is a text or a list of equally good ones, and `evidence` a text, a record like
those above, or a list of them; all of it together is one set. Evidence without a page is looked for in
the whole snapshot; a page without text is evidence as a whole.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, blocks
from whichone.files.lines import decode_line, read_lines

PAGE_FIELDS = ("wikipedia_id", "title", "url", "page")
SPAN_FIELDS = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character")
BLOCK = 1_024
_KNOWN = {"id", "input", "answer", "evidence", "question"}


class Evidence(msgspec.Struct, frozen=True):
    """One piece of original evidence: the page that the dataset names, its text, all else."""

    page: str | None
    text: str | None
    span: tuple[int, int, int, int] | None = None
    """Paragraph and character of start and end in the snapshot that the record was made for."""
    rest: Mapping[str, Any] = {}


class TaskOutput(msgspec.Struct, frozen=True):
    """An answer (or none) with its evidence; `evidence` None where the output has no provenance."""

    answer: Any = None
    evidence: tuple[Evidence, ...] | None = None
    rest: Mapping[str, Any] = {}


class TaskRecord(msgspec.Struct, frozen=True):
    """One line of a task, with where it appears."""

    id: str
    input: str | None
    outputs: tuple[TaskOutput, ...]
    line: int
    rest: Mapping[str, Any] = {}


_decoder = msgspec.json.Decoder()


def read_task(
    path: str | Path, on_error: str = "fail", bad: list[BadInput] | None = None
) -> Iterator[TaskRecord]:
    """The records of a task; those that cannot be used raise an error or are added to `bad`."""
    seen = Seen()
    for block in blocks(_lines(path, on_error == "fail" or bad is None), BLOCK):
        records = [item for item in block if isinstance(item, TaskRecord)]
        ids = [record.id for record in records]
        before = iter(seen.add(ids, [record.line for record in records]))
        for item in block:
            error = item if isinstance(item, BadInput) else _twice(item, next(before), path)
            if error is None:
                yield item  # type: ignore[misc]
            elif on_error == "fail" or bad is None:
                raise error
            else:
                bad.append(error)


def _lines(path: str | Path, stops: bool) -> Iterator[TaskRecord | BadInput]:
    """Every line as a record, or what is wrong with it; `stops` after the first that is wrong."""
    for line, text in read_lines(path):
        try:
            if not text.strip():
                raise BadInput("a blank line", file=path, line=line)
            yield _record(decode_line(_decoder, text, path, line), path, line)
        except BadInput as error:
            yield error
            if stops:
                return


def _twice(record: TaskRecord, first: int | None, path: str | Path) -> BadInput | None:
    if first is None:
        return None
    text = f"the id occurs twice, first in line {first}"
    return BadInput(text, file=path, line=record.line, ids=[record.id])


def _record(record: Any, path: str | Path, line: int) -> TaskRecord:
    if not isinstance(record, dict):
        raise BadInput("the line is no JSON object", file=path, line=line)
    identity = str(record.get("id", f"{Path(path).name.split('.')[0]}-{line}")).strip()
    text = record.get("input", record.get("question"))
    if text is not None and not isinstance(text, str):
        raise BadInput("the input is no text", file=path, line=line, ids=[identity])
    try:
        if "output" in record:
            outputs = tuple(_output(entry) for entry in record["output"])
            rest = {k: v for k, v in record.items() if k not in ("id", "input", "output")}
        else:
            outputs = _own_outputs(record)
            rest = {k: v for k, v in record.items() if k not in _KNOWN}
            rest = {"meta": rest} if rest else {}
    except (TypeError, AttributeError, ValueError) as error:
        raise BadInput(str(error), file=path, line=line, ids=[identity]) from None
    if not outputs:
        raise BadInput(
            "no output, or no answer and no evidence", file=path, line=line, ids=[identity]
        )
    return TaskRecord(identity, text, outputs, line, rest)


def _output(entry: Any) -> TaskOutput:
    if not isinstance(entry, dict):
        raise TypeError("an output is no JSON object")
    given = entry.get("provenance")
    rest = {k: v for k, v in entry.items() if k not in ("answer", "provenance")}
    evidence = None if given is None else tuple(_evidence(piece) for piece in given)
    return TaskOutput(entry.get("answer"), evidence, rest)


def _own_outputs(record: Mapping[str, Any]) -> tuple[TaskOutput, ...]:
    given = record.get("evidence")
    listed = given if isinstance(given, list) else ([] if given is None else [given])
    evidence = tuple(_evidence(piece) for piece in listed) or None
    answer = record.get("answer")
    answers = answer if isinstance(answer, list) else [answer]
    if answers == [None] and evidence is None:
        return ()
    return tuple(TaskOutput(text, evidence) for text in answers)


def _evidence(piece: Any) -> Evidence:
    if isinstance(piece, str):
        return Evidence(None, piece)
    if not isinstance(piece, dict):
        raise TypeError("a piece of evidence is neither a text nor a JSON object")
    key = next((k for k in PAGE_FIELDS if piece.get(k) is not None), None)
    text = piece.get("text")
    if text is not None and not isinstance(text, str):
        raise TypeError("the text of a piece of evidence is no text")
    if key is None and not text:
        raise ValueError("a piece of evidence names no page and has no text")
    places = [piece.get(field) for field in SPAN_FIELDS]
    span = tuple(places) if all(isinstance(n, int) and n >= 0 for n in places) else None
    gone = {"text", "section", "bleu_score", *PAGE_FIELDS, *SPAN_FIELDS}
    rest = {k: v for k, v in piece.items() if k not in gone}
    return Evidence(str(piece[key]).strip() if key else None, text, span, rest)  # type: ignore[arg-type]


# What all converters share: where the files are, what was left out, and how ids are made.


_SPACE = uuid.UUID("5e4a1c5c-9d1b-4a8e-8c8e-5f1f2f0d9b11")


Names = Callable[[set[str]], tuple[Mapping[str, str], Mapping[str, Sequence[str]]]]
"""Labels and aliases of Wikidata ids."""


class Original(msgspec.Struct, kw_only=True):
    """The files of one dataset; `left_out` counts what a converter does not use, by reason."""

    files: Sequence[Path]
    extra: Sequence[Path] = ()
    """FEVER: its Wikipedia pages. WNED: the folder of raw texts."""
    split: str = "dev"
    seed: int = 0
    options: dict[str, int] = {}
    names: Names | None = None
    near: Path | None = None
    """What is about to be written: files that a converter needs for a while are on the same disk."""
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


def made_id(*parts: str) -> str:
    """An id for a record whose original has none: the same parts give the same id."""
    return str(uuid.uuid5(_SPACE, "\0".join(parts)))


def sentence(title: str | None, text: str, **meta: Any) -> Evidence:
    """A piece of evidence, with what only its dataset knows in `meta`."""
    return Evidence(title, text, None, {"meta": meta} if meta else {})
