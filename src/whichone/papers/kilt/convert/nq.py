"""Natural Questions, the open version: questions with short answers of at most five tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whichone.errors import BadInput
from whichone.files.lines import read_json_lines
from whichone.papers.kilt.convert.original import Original, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

MOST_TOKENS = 5


def convert_nq(original: Original) -> Iterator[TaskRecord]:
    """Both the released forms: `document_tokens`, or `document_text` cut at blanks."""
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                converted = _record(record, original)
            except (KeyError, TypeError, IndexError) as error:
                raise BadInput(
                    f"not a record of Natural Questions: {error!r}", file=file, line=line
                ) from None
            if converted:
                identity, outputs = converted
                yield TaskRecord(identity, record["question_text"], outputs, line)


def _record(
    record: Mapping[str, Any], original: Original
) -> tuple[str, tuple[TaskOutput, ...]] | None:
    tokens = _tokens(record)
    page = record.get("document_url") or record.get("document_title")
    short: dict[str, TaskOutput] = {}
    long: dict[str, TaskOutput] = {}
    for annotation in record["annotations"]:
        for span in annotation["short_answers"]:
            words = _words(tokens, span)
            if len(words) > MOST_TOKENS:
                original.left_out["answers of more than five tokens"] += 1
            elif words:
                text = " ".join(words)
                short.setdefault(text, TaskOutput(text, (sentence(page, text),)))
        text = " ".join(_words(tokens, annotation["long_answer"]))
        if text:
            document = {
                "yes_no_answer": annotation.get("yes_no_answer", "NONE"),
                "annotation_id": annotation.get("annotation_id"),
            }
            long.setdefault(text, TaskOutput(None, (sentence(page, text, **document),)))
    if not short:
        original.left_out["questions without a short answer"] += 1
        return None
    return str(record["example_id"]), (*short.values(), *long.values())


def _tokens(record: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Tokens, and whether each is markup."""
    if "document_tokens" in record:
        return [(token["token"], bool(token["html_token"])) for token in record["document_tokens"]]
    pieces = record["document_text"].split(" ")
    return [(piece, piece.startswith("<") and piece.endswith(">")) for piece in pieces]


def _words(tokens: list[tuple[str, bool]], span: Mapping[str, int]) -> list[str]:
    start, end = span["start_token"], span["end_token"]
    if start < 0 or end < 0:
        return []
    return [token for token, markup in tokens[start:end] if not markup]
