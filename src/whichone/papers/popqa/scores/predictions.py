"""What systems said to PopQA's questions, in the layouts people have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.corpus.passage_files import read_records
from whichone.errors import BadInput, sample
from whichone.files.lines import read_json
from whichone.records import Query

FIELDS = ("prediction", "pred", "output", "generation", "response", "answer", "text")
_IDS = ("id", "qid", "query", "question_id")


def read_predictions(
    path: str | Path, queries: Sequence[Query], field: str | None = None
) -> dict[str, str]:
    """The prediction for each query, by query id.

    Records (.jsonl, .json, .tsv, .csv) with an id or the question; a JSON object of id and text; or
    a JSON list, alone or under "answers" or "predictions", in the order of the gold file.
    """
    path = Path(path)
    if ".json" in path.suffixes:
        document = read_json(path)
        if isinstance(document, dict):
            listed = document.get("answers", document.get("predictions"))
            if not isinstance(listed, list):
                return _checked(document, queries, path)
            document = listed
        if isinstance(document, list) and not any(isinstance(row, dict) for row in document):
            return _in_order(document, queries, path)
    return _checked(_from_records(path, queries, field), queries, path)


def _in_order(texts: list[Any], queries: Sequence[Query], path: Path) -> dict[str, str]:
    if len(texts) != len(queries):
        raise BadInput(
            f"{len(texts)} predictions without ids for {len(queries)} questions", file=path
        )
    pairs = zip((q.id for q in queries), texts, strict=True)
    return _checked(dict(pairs), queries, path)


def _from_records(path: Path, queries: Sequence[Query], field: str | None) -> dict[str, Any]:
    by_text: dict[str, str] = {query.input: query.id for query in queries}
    predictions: dict[str, Any] = {}
    for line, record in read_records(path):
        if not isinstance(record, dict):
            raise BadInput("a record with named fields is expected", file=path, line=line)
        key = next((str(record[name]) for name in _IDS if name in record), None)
        if key is None:
            key = by_text.get(str(record.get("question", record.get("input"))))
        name = field or next((name for name in FIELDS if name in record), None)
        if key is None or name is None or name not in record:
            raise BadInput(
                f"an id (or the question) and a prediction are expected, there is {sorted(record)}",
                file=path,
                line=line,
                hint="name the prediction's field with --prediction",
            )
        if key in predictions:
            raise BadInput(f"two predictions for {key}", file=path, line=line)
        predictions[key] = record[name]
    return predictions


def _checked(value: dict[str, Any], queries: Sequence[Query], path: Path) -> dict[str, str]:
    known = {query.id for query in queries}
    strangers = sorted(value.keys() - known)
    if strangers:
        raise BadInput(f"predictions for unknown questions: {sample(strangers)}", file=path)
    missing = sorted(known - value.keys())
    if missing:
        raise BadInput(
            f"{len(missing)} questions have no prediction: {sample(missing)}",
            file=path,
            hint="give each one; an empty text counts as wrong",
        )
    wrong = [key for key, text in value.items() if text is not None and not isinstance(text, str)]
    if wrong:
        raise BadInput(f"predictions that are no text: {sample(wrong)}", file=path)
    return {key: text or "" for key, text in value.items()}
