"""Question files of open-domain question answering: NQ-open, WebQuestions, CuratedTREC, DPR's CSV."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.lines import NOT_JSON, open_binary, read_rows, read_text_lines, write_atomic
from whichone.records import Output, Query

_DESCRIPTION = re.compile(r'\(description\s+(?:"((?:[^"\\]|\\.)*)"|([^()\s]+))\)')

Row = tuple[int, str, list[str], str | None]
"""Line (or place), question, answers, and the relation where the file has one."""


def read_open_questions(path: str | Path, format: str) -> Iterator[Query]:
    """Queries of a file in one of `FORMATS`; those of CuratedTREC have regular expressions as answers."""
    if format not in FORMATS:
        raise UsageError(
            f"there is no question format {format!r}", hint=did_you_mean(format, FORMATS)
        )
    path = Path(path)
    regular = format == "curatedtrec"
    count = 0
    for count, (line, question, answers, relation) in enumerate(FORMATS[format](path), 1):
        if not question.strip() or not answers:
            raise BadInput("a question without text or answers", file=path, line=line)
        yield Query(
            id=f"{format}.{count - 1}",
            task=format,
            input=question,
            outputs=(Output(answer=answers[0], aliases=tuple(answers[1:])),),
            relation=relation,
            attributes={"answers_are": "regular expressions" if regular else "texts"},
        )
    if not count:
        raise BadInput("there is no question in the file", file=path)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON list or of JSON lines, whatever the file is called."""
    with open_binary(path) as file:
        data = file.read()
    if data.lstrip().startswith(b"["):
        try:
            yield from enumerate(msgspec.json.decode(data, type=list[dict[str, Any]]), 1)
        except NOT_JSON as error:
            raise BadInput(f"not a list of questions: {error}", file=path) from error
        return
    for line, text in enumerate(data.splitlines(), 1):
        if text.strip():
            try:
                yield line, msgspec.json.decode(text, type=dict[str, Any])
            except NOT_JSON as error:
                raise BadInput(f"not a question: {error}", file=path, line=line) from error


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(answer) for answer in value] if isinstance(value, list) else [str(value)]


def _nq_open(path: Path) -> Iterator[Row]:
    """`{"question": ..., "answer": [...]}` a line."""
    for line, record in _objects(path):
        answers = record.get("answer", record.get("answers"))
        relation = record.get("relation")
        known = None if relation is None else str(relation)
        yield line, str(record.get("question", "")), _texts(answers), known


def _webquestions(path: Path) -> Iterator[Row]:
    """The release (`utterance`, `targetValue`), and the copies with `question` and `answers`."""
    for line, record in _objects(path):
        if "targetValue" in record:
            descriptions = _DESCRIPTION.findall(str(record["targetValue"]))
            answers = [re.sub(r"\\(.)", r"\1", quoted) or bare for quoted, bare in descriptions]
            yield line, str(record.get("utterance", "")), answers, None
        else:
            question = record.get("question", record.get("qText", ""))
            answers = _texts(record.get("answers", record.get("answer")))
            yield line, str(question), answers, None


def _curatedtrec(path: Path) -> Iterator[Row]:
    """JSON objects with `question` and `answer`, or TSV whose last two columns are they."""
    with open_binary(path) as file:
        first = file.read(64).lstrip()
    if first.startswith((b"{", b"[")):
        yield from _nq_open(path)
        return
    for line, text in read_text_lines(path):
        if text.strip():
            columns = text.split("\t")
            if len(columns) < 2:
                raise BadInput(
                    "question and answer in tab-separated columns are expected",
                    file=path,
                    line=line,
                )
            yield line, columns[-2], [columns[-1]], None


def _dpr_csv(path: Path) -> Iterator[Row]:
    """DPR's tab-separated question and Python list of answers.

    DPR evaluates the list as code; only literals are read here. As in DPR, a typographic
    apostrophe of the question (not of the answers) turns into a plain one.
    """
    for line, columns in read_rows(path, "\t"):
        if len(columns) != 2:
            raise BadInput(
                f"question and answers are expected, there are {len(columns)} columns",
                file=path,
                line=line,
            )
        yield line, columns[0].replace("’", "'"), _literal(columns[1], path, line), None


def _literal(text: str, path: Path, line: int) -> list[str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise BadInput(f"no list of texts: {text[:80]!r}", file=path, line=line)
    return list(value)


FORMATS: dict[str, Callable[[Path], Iterable[Row]]] = {
    "nq-open": _nq_open,
    "webquestions": _webquestions,
    "curatedtrec": _curatedtrec,
    "dpr-csv": _dpr_csv,
}


def write_open_questions(path: str | Path, queries: Iterable[Query], format: str) -> int:
    """The questions in one of `FORMATS`, as its readers expect them."""
    if format not in FORMATS:
        raise UsageError(
            f"there is no question format {format!r}", hint=did_you_mean(format, FORMATS)
        )
    rows = [(query.input, list(query.answers())) for query in queries]
    write_atomic(path, _WRITERS[format](rows))
    return len(rows)


def _json_lines(rows: list[tuple[str, list[str]]]) -> bytes:
    records = ({"question": question, "answer": answers} for question, answers in rows)
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _target_values(rows: list[tuple[str, list[str]]]) -> bytes:
    def value(answers: list[str]) -> str:
        quoted = (answer.replace("\\", r"\\").replace('"', r"\"") for answer in answers)
        return "(list " + " ".join(f'(description "{text}")' for text in quoted) + ")"

    records = [{"utterance": q, "targetValue": value(answers)} for q, answers in rows]
    return msgspec.json.format(msgspec.json.encode(records), indent=2)


def _python_lists(rows: list[tuple[str, list[str]]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows((question, repr(answers)) for question, answers in rows)
    return text.getvalue().encode()


_WRITERS: dict[str, Callable[[list[tuple[str, list[str]]]], bytes]] = {
    "nq-open": _json_lines,
    "webquestions": _target_values,
    "curatedtrec": _json_lines,
    "dpr-csv": _python_lists,
}


def _export(benchmark: Benchmark, out: str | Path, format: str, name: str) -> dict[str, int]:
    """One file, called `name` when `out` is a folder."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= name
    return {path.name: write_open_questions(path, benchmark.queries, format)}


def export_nq_open(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    return _export(benchmark, out, "nq-open", "questions.jsonl")


def export_webquestions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    return _export(benchmark, out, "webquestions", "questions.json")


def export_curatedtrec(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    return _export(benchmark, out, "curatedtrec", "questions.jsonl")


def export_dpr_csv(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    return _export(benchmark, out, "dpr-csv", "questions.csv")
