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
from whichone.papers.ambigdocs.files import documents_of, read_objects
from whichone.papers.ambigdocs.queries import TASK as AMBIGDOCS
from whichone.papers.ambigdocs.queries import shown_document
from whichone.papers.ambigdocs.records import Document
from whichone.records import Answer, Query
from whichone.runs.answers import ANSWERS, KIND, LEFT_OUT, TIMING, Answers
from whichone.runs.prediction_files import PageFinder, read_record
from whichone.runs.results import FAILURES


class Said(msgspec.Struct, frozen=True):
    """One answer of a file: its line, the question as the file names it, the passages shown."""

    line: int
    question: str
    text: str | None
    passages: tuple[str, ...] = ()
    docs: tuple[Document, ...] | None = None


Reader = Callable[[Path, Benchmark], Iterator[Said]]


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


def ambigdocs_answers(file: Path, benchmark: Benchmark) -> Iterator[Said]:
    """AmbigDocs' predictions; `docs` is what the model was shown."""
    for line, record in read_objects(file):
        if "qid" not in record or "gen_answer" not in record:
            raise BadInput("not a prediction: qid or gen_answer is missing", line=line)
        docs = None
        if record.get("docs") is not None:
            try:
                docs = documents_of(record["docs"], shown=True)
            except msgspec.ValidationError as error:
                raise BadInput(f"docs are wrong: {error}", line=line) from None
        yield Said(line, str(record["qid"]), str(record["gen_answer"] or ""), docs=docs)


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
    by_source = {str(q.attributes["qid"]): q.id for q in benchmark.queries if "qid" in q.attributes}
    corpus = _Documents(benchmark)
    rows: dict[str, dict[str, Any]] = {}
    for said in read(file, benchmark):
        question = by_source.get(said.question, said.question)
        check(question, queries, rows, said.line)
        rows[question] = {
            "question": question, "text": said.text, "passages": list(said.passages),
            "shown": corpus.shown(queries[question], said), "score": None, "notes": None,
        }  # fmt: skip
    missing = missing_rows(queries, rows, missing_is_wrong)
    with Folder.create(work, KIND) as folder:
        folder.write(ANSWERS, ANSWERS.from_rows(list(rows.values())))
        folder.write(FAILURES, FAILURES.from_rows(missing))
        folder.write(LEFT_OUT, LEFT_OUT.from_rows([]))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(name=name, parents={"benchmark": benchmark.id})
    return Answers.open(work)


class _Documents:
    """Which passages of the corpus the documents of an AmbigDocs file are."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._passages: dict[str, Document] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        if any(q.task == AMBIGDOCS for q in benchmark.queries):
            for passage in benchmark.passage_records():
                self._passages[passage.id] = shown_document(passage)
                self._by_text[passage.title, passage.text] = passage.id
            ids = benchmark.passages.select(["id", "source_id"]).to_pylist()
            for row in ids:
                known = self._passages[row["id"]]
                own = row["source_id"] or known.pid
                self._passages[row["id"]] = msgspec.structs.replace(known, pid=own)

    def shown(self, query: Query, said: Said) -> list[str]:
        """The passages that were shown; where the file does not say, all of the question's own.

        Documents from elsewhere are about no bearer of the question and change no category.
        """
        if query.task != AMBIGDOCS:
            return []
        own = [p.passage for o in query.outputs for g in o.provenance for p in g if p.passage]
        if said.docs is None:
            return list(dict.fromkeys(own))
        found = [self._found(own, document) for document in said.docs]
        return list(dict.fromkeys(p for p in found if p is not None))

    def _found(self, own: list[str], document: Document) -> str | None:
        for passage in own:
            if passage in self._passages and self._passages[passage].same_as(document):
                return passage
        return self._by_text.get((document.title, document.text))


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
