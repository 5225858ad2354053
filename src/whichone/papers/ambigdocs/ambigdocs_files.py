"""AmbigDocs' own files: questions of a split, and predictions for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.json_records import decode_whole
from whichone.files.lines import open_binary, read_json_lines, write_atomic
from whichone.papers.ambigdocs.ambigdocs_records import (
    TASK,
    AmbigQuestion,
    BearerDocument,
    Prediction,
    gold_passage_ids,
    shown_document,
)
from whichone.papers.ambigdocs.ambigdocs_records import question_of as ambigdocs_records_question_of
from whichone.records import Passage, Query, grouped
from whichone.runs.predictions import BenchmarkNames, Predicted, UploadFormat, named_passages

_QUESTION_FIELDS = ("qid", "ambiguous_entity", "question", "documents")
_PREDICTION_FIELDS = ("docs", "gen_answer", "span_predictions", "wrong_answers")
_LANGUAGE = "language"


def read_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON list or of JSON lines, with their number (from 1)."""
    with open_binary(path) as file:
        is_list = file.read(256).lstrip().startswith(b"[")
    records: Iterable[tuple[int, Any]]
    records = enumerate(decode_whole(path, list[Any]), 1) if is_list else read_json_lines(path)
    for number, record in records:
        if not isinstance(record, dict):
            raise BadInput("an object is expected here", file=path, line=number)
        yield number, record


def read_questions(path: str | Path) -> Iterator[AmbigQuestion]:
    for number, record in read_objects(path):
        yield question_of(record, path, number)


def question_of(record: Mapping[str, Any], path: str | Path, number: int) -> AmbigQuestion:
    if missing := [field for field in _QUESTION_FIELDS if field not in record]:
        raise BadInput(
            f"the question has no {missing[0]!r}",
            file=path,
            line=number,
            ids=[record["qid"]] if "qid" in record else (),
            hint="AmbigDocs names its fields " + ", ".join(_QUESTION_FIELDS),
        )
    known = {*_QUESTION_FIELDS, *_PREDICTION_FIELDS, _LANGUAGE}
    try:
        return AmbigQuestion(
            qid=str(record["qid"]),
            ambiguous_entity=str(record["ambiguous_entity"]),
            question=str(record["question"]),
            documents=documents_of(record["documents"]),
            language=str(record.get(_LANGUAGE) or "en"),
            extra={k: v for k, v in record.items() if k not in known},
        )
    except msgspec.ValidationError as error:
        raise BadInput(
            f"documents are wrong: {error}", file=path, line=number, ids=[record["qid"]]
        ) from error


def documents_of(raw: Any, *, shown: bool = False) -> tuple[BearerDocument, ...]:
    """Documents of a file: pids and answers may be numbers, answers may be missing.

    What was only `shown` need not have a title.
    """
    if not isinstance(raw, list):
        raise msgspec.ValidationError("a list is expected")
    rows = []
    for row in raw:
        if not isinstance(row, dict):
            raise msgspec.ValidationError("a document is an object")
        fields: dict[str, Any] = {
            **({"title": ""} if shown else {}),
            **row,
            "pid": row.get("pid", row.get("id")),
        }
        as_text = ("title", "text", "pid", "answer")
        rows.append(
            {k: str(v) if k in as_text and isinstance(v, int | float) else v for k, v in fields.items()}
        )
    try:
        return msgspec.convert(rows, tuple[BearerDocument, ...])
    except UnicodeEncodeError as error:  # half of a surrogate pair, which Python's reader takes
        raise msgspec.ValidationError(f"not valid Unicode: {error}") from None


def read_predictions(path: str | Path) -> Iterator[Prediction]:
    """The predictions of a file: questions with `gen_answer` and, where known, `docs`.

    A `gen_answer` of null is a failure of the model and is read as an empty answer.
    """
    for number, record in read_objects(path):
        question = question_of(record, path, number)
        if "gen_answer" not in record:
            raise BadInput(
                "the prediction has no 'gen_answer'",
                file=path,
                line=number,
                ids=[question.qid],
                hint="a model that said nothing has the gen_answer null",
            )
        spans = record.get("span_predictions")
        try:
            yield Prediction(
                question=question if spans is None else with_span_list(question, spans),
                gen_answer=str(record["gen_answer"] or ""),
                docs=documents_of(record["docs"], shown=True) if record.get("docs") is not None else None,
                wrong_answers=tuple(map(str, record.get("wrong_answers") or ())),
            )
        except msgspec.ValidationError as error:
            raise BadInput(f"docs are wrong: {error}", file=path, line=number, ids=[question.qid]) from error


def with_span_list(question: AmbigQuestion, spans: Sequence[str]) -> AmbigQuestion:
    """The question with the i-th span at its i-th document; documents beyond the list have none."""
    if len(spans) > len(question.documents):
        raise BadInput(f"{len(spans)} spans for {len(question.documents)} documents", ids=[question.qid])
    replace = msgspec.structs.replace
    documents = (replace(d, span=span) for d, span in zip_longest(question.documents, spans))
    return replace(question, documents=tuple(documents))


def question_object(question: AmbigQuestion) -> dict[str, Any]:
    return {
        "qid": question.qid,
        "ambiguous_entity": question.ambiguous_entity,
        "question": question.question,
        "documents": [document_object(document) for document in question.documents],
        **({} if question.language == "en" else {_LANGUAGE: question.language}),
        **question.extra,
    }


def document_object(document: BearerDocument) -> dict[str, Any]:
    known = {
        "answer": document.answer,
        "aliases": list(document.aliases) or None,
        "popularity": document.popularity,
    }
    row = {"title": document.title, "text": document.text, "pid": document.pid}
    return row | {name: value for name, value in known.items() if value is not None}


def prediction_object(prediction: Prediction) -> dict[str, Any]:
    row = question_object(prediction.question) | {"gen_answer": prediction.gen_answer}
    if prediction.docs is not None:
        row["docs"] = [document_object(document) for document in prediction.docs]
    if prediction.wrong_answers:
        row["wrong_answers"] = list(prediction.wrong_answers)
    return row


def write_objects(path: str | Path, objects: Iterable[Mapping[str, Any]]) -> int:
    """A JSON list, one object a line, so that two versions can be compared; how many."""
    lines = [msgspec.json.encode(row) for row in objects]
    write_atomic(path, b"[\n" + b",\n".join(lines) + b"\n]\n")
    return len(lines)


def export_ambigdocs(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `out`: one .json file, or a folder with one file a split; how many questions in each.

    Every output becomes a document, so a benchmark whose outputs name no bearer cannot go out.
    """
    check_named(benchmark.queries, "AmbigDocs files hold questions about a name and its bearers")
    out = Path(out)
    passages = passages_by_id(benchmark, gold_passage_ids(benchmark.queries))
    splits = grouped((str(query.attributes.get("split", "test")), query) for query in benchmark.queries)
    if out.suffix == ".json":
        return {out.name: _write(out, (q for listed in splits.values() for q in listed), passages)}
    out.mkdir(parents=True, exist_ok=True)
    return {
        f"{split}.json": _write(out / f"{split}.json", listed, passages) for split, listed in splits.items()
    }


def _write(path: Path, queries: Iterable[Query], passages: Mapping[str, Passage]) -> int:
    return write_objects(
        path, (question_object(ambigdocs_records_question_of(q, passages.get)) for q in queries)
    )


def check_named(queries: Iterable[Query], hint: str) -> None:
    if unnamed := [query.id for query in queries if query.name is None]:
        raise BadInput(f"{len(unnamed)} queries ask about no shared name", ids=unnamed, hint=hint)


def passages_by_id(benchmark: Benchmark, ids: Iterable[str]) -> dict[str, Passage]:
    table = benchmark.passages
    wanted = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(ids), pa.string())))
    rows = wanted.select(["id", "page", "title", "text", "source_id"]).to_pylist()
    return {row["id"]: Passage(**row) for row in rows}


def read_uploaded(file: Path, benchmark: Benchmark) -> Iterator[Predicted]:
    """AmbigDocs' predictions; `docs` is what the model was shown."""
    corpus = _Documents(benchmark)
    for line, record in read_objects(file):
        if "qid" not in record or "gen_answer" not in record:
            raise BadInput("not a prediction: qid or gen_answer is missing", line=line)
        shown = None
        if record.get("docs") is not None:
            try:
                documents = documents_of(record["docs"], shown=True)
            except msgspec.ValidationError as error:
                raise BadInput(f"docs are wrong: {error}", line=line) from None
            shown = corpus.passages(str(record["qid"]), documents)
        yield Predicted(line, str(record["qid"]), str(record["gen_answer"] or ""), shown=shown)


UPLOAD = UploadFormat(
    "AmbigDocs predictions",
    '[{"qid": "QUERY", "gen_answer": "TEXT", "docs": [{"title": "", "text": "", "pid": ""}]}]',
    read_uploaded,
)


class _Documents:
    def __init__(self, benchmark: Benchmark) -> None:
        self._own: dict[str, list[str]] = {}
        self._passages: dict[str, BearerDocument] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        if not any(q.task == TASK for q in benchmark.queries):
            return
        self._own = {key: named_passages(q) for key, q in BenchmarkNames(benchmark).queries.items()}
        for passage in benchmark.passage_records():
            self._passages[passage.id] = shown_document(passage)
            self._by_text[passage.title, passage.text] = passage.id
        for row in benchmark.passages.select(["id", "source_id"]).to_pylist():
            known = self._passages[row["id"]]
            self._passages[row["id"]] = msgspec.structs.replace(known, pid=row["source_id"] or known.pid)

    def passages(self, question: str, documents: tuple[BearerDocument, ...]) -> tuple[str, ...]:
        """Documents from elsewhere are about no bearer of the question and change no category."""
        own = self._own.get(question, [])
        places = (self._place(own, document) for document in documents)
        return tuple(dict.fromkeys(p for p in places if p is not None))

    def _place(self, own: list[str], document: BearerDocument) -> str | None:
        for passage in own:
            if passage in self._passages and self._passages[passage].same_as(document):
                return passage
        return self._by_text.get((document.title, document.text))
