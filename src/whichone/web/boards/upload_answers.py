"""Uploaded answers, in any of their formats, as a folder of answers with what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.lines import read_json_lines
from whichone.records import Answer, Query
from whichone.runs.answers import ANSWERS, KIND, LEFT_OUT, TIMING, Answers
from whichone.runs.prediction_files import PageFinder, read_record
from whichone.runs.results import FAILURES
from whichone.runs.settings import AMBIGDOCS


class Said(msgspec.Struct, frozen=True):
    """One answer of a file: its line, the question as the file names it, the passages it rests on."""

    line: int
    question: str
    text: str | None
    passages: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None
    """None where the file does not say what was shown."""


Reader = Callable[[Path, Benchmark], Iterator[Said]]


class UploadFormat(msgspec.Struct, frozen=True):
    """A format of answers that a paper brings: its name on the page, one record of it, its reader."""

    title: str
    example: str
    read: Reader


def kilt_answers(file: Path, benchmark: Benchmark) -> Iterator[Said]:
    """KILT's predictions with the pages they rest on; FEVER's and plain lines are read as well."""
    finder = PageFinder(benchmark)
    for line, record in read_json_lines(file):
        answer = read_record(record, finder, file, line)
        yield Said(line, answer.question, answer.text, answer.passages)


def own_answers(file: Path, benchmark: Benchmark) -> Iterator[Said]:
    for line, record in read_json_lines(file):
        answer: Answer = converted(record, Answer, line)
        yield Said(line, answer.question, answer.text, answer.passages)


def converted(record: Any, kind: type[Any], line: int) -> Any:
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise BadInput(str(error), line=line) from None


def read_answers(
    file: Path, work: Path, benchmark: Benchmark, name: str, read: Reader, missing_is_wrong: bool
) -> Answers:
    """A folder of answers; every query once, and none that the benchmark does not ask."""
    queries = {q.id: q for q in benchmark.queries}
    by_source = source_ids(benchmark)
    rows: dict[str, dict[str, Any]] = {}
    for said in read(file, benchmark):
        question = by_source.get(said.question, said.question)
        check(question, queries, rows, said.line)
        rows[question] = {
            "question": question, "text": said.text, "passages": list(said.passages),
            "shown": _shown(queries[question], said), "score": None, "notes": None,
        }  # fmt: skip
    missing = missing_rows(queries, rows, missing_is_wrong)
    with Folder.create(work, KIND) as folder:
        folder.write(ANSWERS, ANSWERS.from_rows(list(rows.values())))
        folder.write(FAILURES, FAILURES.from_rows(missing))
        folder.write(LEFT_OUT, LEFT_OUT.from_rows([]))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(name=name, parents={"benchmark": benchmark.id})
    return Answers.open(work)


def source_ids(benchmark: Benchmark) -> dict[str, str]:
    """Queries by what their source file calls them."""
    return {str(q.attributes["qid"]): q.id for q in benchmark.queries if "qid" in q.attributes}


def gold_passages(query: Query) -> list[str]:
    """The passages that a query's own gold names, each once."""
    named = (p.passage for o in query.outputs for group in o.provenance for p in group)
    return list(dict.fromkeys(passage for passage in named if passage))


def _shown(query: Query, said: Said) -> list[str]:
    """The passages that were shown; where a file does not say, all of a question's own.

    Only questions about several bearers are scored by what was shown.
    """
    if query.task != AMBIGDOCS:
        return []
    return gold_passages(query) if said.shown is None else list(said.shown)


def check(question: str, known: Mapping[str, Any], seen: Mapping[str, Any], line: int) -> None:
    if question not in known:
        raise BadInput(f"the benchmark has no such query: {question[:100]}", line=line)
    if question in seen:
        raise BadInput(f"this query came before: {question[:100]}", line=line)


def missing_rows(
    known: Mapping[str, Any], seen: Mapping[str, Any], missing_is_wrong: bool
) -> list[dict[str, Any]]:
    """Failures for the queries that a file says nothing of, or the reason to refuse it."""
    missing = sorted(known.keys() - seen.keys())
    if missing and not missing_is_wrong:
        raise BadInput(
            f"{len(missing)} of {len(known)} queries are missing",
            ids=missing,
            hint="say that missing queries count as wrong, or answer every query",
        )
    return [{"question": q, "error": "the file has nothing for it"} for q in missing]
