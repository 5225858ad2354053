"""Tasks whose evidence is still text: KILT's shape with `text`, or input, answer and evidence alone.

Two shapes are read, one record a line:

    {"id", "input", "output": [{"answer", "provenance": [{"title" | "url" | "wikipedia_id", "text"}]}]}
    {"input", "answer", "evidence"}

In the second, `answer` is a text or a list of equally good ones, and `evidence` a text, a record like
those above, or a list of them; all of it together is one set. Evidence without a page is looked for in
the whole snapshot; a page without text is evidence as a whole.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, blocks
from whichone.files.lines import decode_line, read_lines
from whichone.records import Query

PAGE_FIELDS = ("wikipedia_id", "title", "url", "page")
SPAN_FIELDS = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character")
BLOCK = 2_048
_KNOWN = {"id", "input", "answer", "evidence", "question"}


class OriginalEvidence(msgspec.Struct, frozen=True):
    """One piece of original evidence: the page that the dataset names, its text, all else."""

    page: str | None
    text: str | None
    # Paragraph and character of start and end in the snapshot that the record was made for.
    span: tuple[int, int, int, int] | None = None
    rest: Mapping[str, Any] = {}


class TaskOutput(msgspec.Struct, frozen=True):
    """An answer (or none) with its evidence; `evidence` None where the output has no provenance."""

    answer: Any = None
    evidence: tuple[OriginalEvidence, ...] | None = None
    rest: Mapping[str, Any] = {}


class TaskRecord(msgspec.Struct, frozen=True):
    id: str
    input: str | None
    outputs: tuple[TaskOutput, ...]
    line: int
    rest: Mapping[str, Any] = {}


_decoder = msgspec.json.Decoder()


_Record = TypeVar("_Record", bound=Query | TaskRecord)


def distinct_records(
    path: str | Path, read: Callable[[Any, int], _Record], *, stops: bool
) -> Iterator[tuple[int, _Record | BadInput]]:
    """What `read` makes of each line's JSON, or what is wrong with the line, such as an id that occurs twice.

    It `stops` after the first line that `read` refuses.
    """

    def lines() -> Iterator[tuple[int, _Record | BadInput]]:
        for line, text in read_lines(path):
            try:
                if not text.strip():
                    raise BadInput("a blank line", file=path, line=line)
                yield line, read(decode_line(_decoder, text, path, line), line)
            except BadInput as error:
                yield line, error
                if stops:
                    return

    seen = Seen()
    for block in blocks(lines(), BLOCK):
        ids = {line: item.id for line, item in block if not isinstance(item, BadInput)}
        before = dict(zip(ids, seen.add(list(ids.values()), list(ids)), strict=True))
        for line, item in block:
            if (first := before.get(line)) is not None:
                text = f"the id occurs twice, first in line {first}"
                yield line, BadInput(text, file=path, line=line, ids=[ids[line]])
            else:
                yield line, item


def read_task(path: str | Path, on_error: str, bad: list[BadInput]) -> Iterator[TaskRecord]:
    """The records of a task; those that cannot be used raise an error or are added to `bad`."""
    stops = on_error == "fail"
    for _, item in distinct_records(path, partial(_record, path), stops=stops):
        if not isinstance(item, BadInput):
            yield item
        elif stops:
            raise item
        else:
            bad.append(item)


def _record(path: str | Path, record: Any, line: int) -> TaskRecord:
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
            given, answer = record.get("evidence"), record.get("answer")
            listed = given if isinstance(given, list) else ([] if given is None else [given])
            evidence = tuple(_evidence(piece) for piece in listed) or None
            answers = answer if isinstance(answer, list) else [answer]
            outputs = tuple(TaskOutput(answer, evidence) for answer in answers)
            outputs = () if answers == [None] and evidence is None else outputs
            rest = {k: v for k, v in record.items() if k not in _KNOWN}
            rest = {"meta": rest} if rest else {}
    except (TypeError, AttributeError, ValueError) as error:
        raise BadInput(str(error), file=path, line=line, ids=[identity]) from None
    if not outputs:
        raise BadInput("no output, or no answer and no evidence", file=path, line=line, ids=[identity])
    return TaskRecord(identity, text, outputs, line, rest)


def _output(entry: Any) -> TaskOutput:
    if not isinstance(entry, dict):
        raise TypeError("an output is no JSON object")
    given = entry.get("provenance")
    evidence = None if given is None else tuple(_evidence(piece) for piece in given)
    rest = {k: v for k, v in entry.items() if k not in ("answer", "provenance")}
    return TaskOutput(entry.get("answer"), evidence, rest)


def _evidence(piece: Any) -> OriginalEvidence:
    if isinstance(piece, str):
        return OriginalEvidence(None, piece)
    if not isinstance(piece, dict):
        raise TypeError("a piece of evidence is neither a text nor a JSON object")
    key = next((k for k in PAGE_FIELDS if piece.get(k) is not None), None)
    if (text := piece.get("text")) is not None and not isinstance(text, str):
        raise TypeError("the text of a piece of evidence is no text")
    if key is None and not text:
        raise ValueError("a piece of evidence names no page and has no text")
    places = [piece.get(field) for field in SPAN_FIELDS]
    span = tuple(places) if all(isinstance(n, int) and n >= 0 for n in places) else None
    gone = {"text", "section", "bleu_score", *PAGE_FIELDS, *SPAN_FIELDS}
    rest = {k: v for k, v in piece.items() if k not in gone}
    return OriginalEvidence(str(piece[key]).strip() if key else None, text, span, rest)  # type: ignore[arg-type]


_SPACE = uuid.UUID("5e4a1c5c-9d1b-4a8e-8c8e-5f1f2f0d9b11")


# Labels and aliases of Wikidata ids.
Names = Callable[[set[str]], tuple[Mapping[str, str], Mapping[str, Sequence[str]]]]


class Original(msgspec.Struct, kw_only=True):
    """The files of one dataset; `left_out` counts what a converter does not use, by reason."""

    files: Sequence[Path]
    extra: Sequence[Path] = ()  # FEVER: its Wikipedia pages. WNED: the folder of raw texts.
    split: str = "dev"
    seed: int = 0
    options: dict[str, int] = {}
    names: Names | None = None
    # What is about to be written: files that a converter needs for a while are on the same disk.
    near: Path | None = None
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


def made_id(*parts: str) -> str:
    """An id for a record whose original has none: the same parts give the same id."""
    return str(uuid.uuid5(_SPACE, "\0".join(parts)))


def sentence(title: str | None, text: str, **meta: Any) -> OriginalEvidence:
    """A piece of evidence, with what only its dataset knows in `meta`."""
    return OriginalEvidence(title, text, None, {"meta": meta} if meta else {})
