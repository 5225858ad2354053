"""One KILT record as a query, and a query as the record it came from, nothing lost on either way.

Our fields hold what the whole house understands: answers, pages, spans. Everything else of a record
stays in `attributes` and is laid over our own fields on the way out, so that an output without an
answer, an answer that is null, a numeric id or a field nobody has heard of come back as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from whichone.records import Output, Provenance, Query, page_id

SOURCE = "enwiki"
START, END, SEPARATOR = "[START_ENT]", "[END_ENT]", "[SEP]"
KEPT = "kilt"
"""The attribute of a query that contains what its record has beyond our fields."""
ABSENT = "absent"
UNKNOWN_PAGE = "?"
"""Begins the key of a page that a record names by its title alone, where no snapshot resolves it."""

_SPAN = {
    "start_paragraph": "start_paragraph_id",
    "start_character": "start_character",
    "end_paragraph": "end_paragraph_id",
    "end_character": "end_character",
}


class NotKilt(ValueError):
    """A record that no rule of the format allows; the message says why."""


def query_of(
    record: Mapping[str, Any],
    *,
    task: str,
    text: str | None = None,
    source: str = SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> Query:
    """The query of a record; `text` is its input where the record itself has none."""
    if not isinstance(record, dict):
        raise NotKilt("the line is no JSON object")
    if record.get("id") is None:
        raise NotKilt("the record has no id")
    given = record.get("input")
    if given is not None and not isinstance(given, str):
        raise NotKilt(f"the input is no text: {given!r}")
    asked = given if given is not None else text or ""
    outputs = record.get("output")
    if outputs is not None and not isinstance(outputs, list):
        raise NotKilt("output is no list")
    plain = Query(
        id=str(record["id"]).strip(),
        task=task,
        input=asked,
        outputs=tuple(_output(entry, source) for entry in outputs or ()),
        mention=mention_of(asked) if task == "el" else None,
        name=_name(asked, task),
        relation=asked.partition(SEPARATOR)[2].strip() or None if task == "sf" else None,
    )
    said: dict[str, Any] = {"id": plain.id, "input": asked}
    kept = _remainder(record, {**said, "output": outputs} if outputs else said)
    if text and given is None:  # a question that was joined stays when the record goes out
        kept = _with_input(kept)
    return msgspec.structs.replace(plain, attributes={**(attributes or {}), KEPT: kept})


def _with_input(kept: dict[str, Any]) -> dict[str, Any]:
    absent = [key for key in kept.get(ABSENT, ()) if key != "input"]
    others = {key: value for key, value in kept.items() if key not in (ABSENT, "input")}
    return {**others, ABSENT: absent} if absent else others


def record_of(query: Query) -> dict[str, Any]:
    """The record of a query, as it came in where it came from KILT."""
    if KEPT in query.attributes:
        return _overlaid(_plain_record(query), query.attributes[KEPT])
    return _foreign_record(query)


def _foreign_record(query: Query) -> dict[str, Any]:
    """A query of another benchmark: what KILT has no field for goes into `meta`."""
    kept_fields = ("name", "role", "relation", "entity", "name_set")
    meta = {key: value for key in kept_fields if (value := getattr(query, key)) is not None}
    outputs = tuple(
        msgspec.structs.replace(
            output, attributes={"meta": dict(output.attributes)} if output.attributes else {}
        )
        for output in query.outputs
    )
    record = _plain_record(msgspec.structs.replace(query, outputs=outputs))
    return {**record, "meta": {**query.attributes, **meta}}


def mention_of(text: str) -> str | None:
    """The marked mention of an entity-linking input."""
    _, start, rest = text.partition(START)
    mention, end, _ = rest.partition(END)
    return mention.strip() if start and end else None


def _name(text: str, task: str) -> str | None:
    if task == "el":
        return mention_of(text)
    subject, mark, _ = text.partition(SEPARATOR)
    return subject.strip() if task == "sf" and mark else None


def _output(entry: Any, source: str) -> Output:
    if not isinstance(entry, dict):
        raise NotKilt("an output is no JSON object")
    answer, given = entry.get("answer"), entry.get("provenance")
    if given is not None and not isinstance(given, list):
        raise NotKilt("provenance is no list")
    text = answer if isinstance(answer, str) else None
    said = {} if text is None else {"answer": text}
    return Output(
        answer=text,
        provenance=() if given is None else (tuple(_evidence(e, source) for e in given),),
        attributes=_remainder(entry, said if given is None else {**said, "provenance": given}),
    )


def _evidence(entry: Any, source: str) -> Provenance:
    if not isinstance(entry, dict):
        raise NotKilt("an entry of provenance is no JSON object")
    title = entry.get("title")
    number = entry.get("wikipedia_id")
    key = str(number).strip() if number is not None else f"{UNKNOWN_PAGE}{title or ''}"
    start, first, end, last = (_number(entry.get(theirs)) for theirs in _SPAN.values())
    named: dict[str, Any] = {
        "page": page_id(source, key),
        "title": title if isinstance(title, str) else None,
        "start_paragraph": start,
        "start_character": first,
        "end_paragraph": end,
        "end_character": last,
    }
    said = _entry(key, named["title"], (start, first, end, last))
    return Provenance(**named, attributes=_remainder(entry, said))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _plain_record(query: Query) -> dict[str, Any]:
    record: dict[str, Any] = {"id": query.id, "input": query.input}
    if query.outputs:
        record["output"] = [
            _overlaid(_plain_output(output), output.attributes)
            for flat in query.outputs
            for output in _one_set_each(flat)
        ]
    return record


def _one_set_each(output: Output) -> list[Output]:
    """KILT has one set of provenance an output, so further sets and aliases get outputs of their own."""
    if len(output.provenance) <= 1 and not output.aliases:
        return [output]
    first = msgspec.structs.replace(output, aliases=(), provenance=output.provenance[:1])
    sets = [Output(answer=output.answer, provenance=(group,)) for group in output.provenance[1:]]
    return [first, *sets, *(Output(answer=alias) for alias in output.aliases)]


def _plain_output(output: Output) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if output.answer is not None:
        record["answer"] = output.answer
    if output.provenance:
        record["provenance"] = [
            _overlaid(_plain_evidence(entry), entry.attributes) for entry in output.provenance[0]
        ]
    return record


def _plain_evidence(entry: Provenance) -> dict[str, Any]:
    span = (entry.start_paragraph, entry.start_character, entry.end_paragraph, entry.end_character)
    return _entry(entry.page.partition(":")[2], entry.title, span)


def _entry(key: str, title: str | None, span: tuple[int | None, ...]) -> dict[str, Any]:
    """What our fields say of an entry of provenance."""
    record: dict[str, Any] = {} if key.startswith(UNKNOWN_PAGE) else {"wikipedia_id": key}
    if title is not None:
        record["title"] = title
    named = zip(_SPAN.values(), span, strict=True)
    return record | {theirs: value for theirs, value in named if value is not None}


def _remainder(record: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """What `plain` lacks of a record or says otherwise, and which of its fields the record lacks.

    Lists of `plain` represent lists whose entries keep their own remainders.
    """
    kept = {
        key: value
        for key, value in record.items()
        if key not in plain or not _same(plain[key], value)
    }
    if ABSENT in kept:
        raise NotKilt(f"a field is called {ABSENT!r}, which is whichone's own word")
    absent = [key for key in plain if key not in record]
    return {**kept, ABSENT: absent} if absent else kept


def _same(ours: Any, theirs: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true differ."""
    return type(ours) is type(theirs) and (ours == theirs or isinstance(ours, list))


def _overlaid(plain: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    absent = kept.get(ABSENT, ())
    fields = {**plain, **{key: value for key, value in kept.items() if key != ABSENT}}
    return {key: value for key, value in fields.items() if key not in absent}
