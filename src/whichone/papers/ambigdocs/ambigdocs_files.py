"""AmbigDocs' questions as queries and back, and its own files: questions of a split, and predictions for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from whichone.names import name_key
from whichone.records import (
    Bearer,
    NameSet,
    Output,
    Passage,
    Provenance,
    Query,
    grouped,
    page_id,
    page_of,
    passage_id,
)
from whichone.runs.predictions import BenchmarkNames, Predicted, UploadFormat, named_passages

# A question is one query, with one output for each bearer.


class BearerDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage about one bearer: `title` is the bearer, `answer` its own answer.

    Released files have no `aliases`; a question built from a knowledge base knows other answers.
    `span` is what a reader found in a model's answer for this bearer (Disambig-F1), and `popularity`
    how well known the bearer is, where known.
    """

    title: str
    text: str = ""
    pid: str | None = None
    answer: str | None = None
    aliases: tuple[str, ...] = ()
    span: str | None = None
    popularity: float | None = None

    def answers(self) -> tuple[str, ...]:
        return () if self.answer is None else (self.answer, *self.aliases)

    def same_as(self, other: BearerDocument) -> bool:
        """One passage: the same pid where both have one, else the same title and text."""
        if self.pid is not None and other.pid is not None:
            return self.pid == other.pid
        return (self.title, self.text) == (other.title, other.text)


class AmbigQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of train, dev or test; `extra` keeps every field that AmbigDocs does not name."""

    qid: str
    ambiguous_entity: str
    question: str
    documents: tuple[BearerDocument, ...] = ()
    language: str = "en"
    extra: dict[str, Any] = {}


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """A question, what a model said about it, and the passages it was shown.

    `docs` None: the file does not say what was shown.
    """

    question: AmbigQuestion
    gen_answer: str
    docs: tuple[BearerDocument, ...] | None = None
    wrong_answers: tuple[str, ...] = ()


_MOST = 2**31 - 1


class PassageBook:
    """Gives every different passage an id, `source:title#n`, where n is its pid if that is a number.

    A passage without a numeric pid, or with the pid of another text of its page, gets the first
    free number of its page; the latter are listed in `conflicts`.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.conflicts: list[str] = []
        self._pages: dict[str, dict[int, Passage]] = {}
        self._known: dict[tuple[str, str, str | None], str] = {}

    def add(self, document: BearerDocument) -> str:
        key = (document.title, document.text, document.pid)
        if key in self._known:
            return self._known[key]
        page, pid = page_id(self.source, document.title), document.pid or ""
        numbers = self._pages.setdefault(page, {})
        n = int(pid) if pid.isascii() and pid.isdigit() and int(pid) <= _MOST else None
        if n is None or n in numbers:
            if n is not None:
                self.conflicts.append(f"{document.title}: pid {document.pid} has two texts")
            n = next(free for free in range(_MOST) if free not in numbers)
        place = self._known[key] = passage_id(page, n)
        numbers[n] = Passage(
            id=place, page=page, title=document.title, text=document.text, source_id=document.pid
        )
        return place

    def passages(self) -> list[Passage]:
        return [passage for numbers in self._pages.values() for passage in numbers.values()]


TASK = "ambigdocs"


def query_of(
    question: AmbigQuestion, book: PassageBook, *, split: str | None = None, id: str | None = None
) -> Query:
    """A question of a file as a query; documents without an answer keep their place as outputs."""
    known = {"split": split, "extra": question.extra or None}
    return Query(
        id=id or question.qid,
        task=TASK,
        input=question.question,
        outputs=tuple(_output(document, book) for document in question.documents),
        language=question.language,
        name=question.ambiguous_entity,
        name_set=set_id(question.ambiguous_entity),
        attributes={
            "qid": question.qid,
            "bearers": len(question.documents),
            **{name: value for name, value in known.items() if value is not None},
        },
    )


def _output(document: BearerDocument, book: PassageBook) -> Output:
    passage = book.add(document)
    attributes = {} if document.pid is None else {"pid": document.pid}
    source = Provenance(page=page_of(passage), passage=passage, title=document.title, attributes=attributes)
    return Output(
        answer=document.answer,
        aliases=document.aliases,
        entity=document.title,
        provenance=((source,),),
        attributes={} if document.popularity is None else {"popularity": document.popularity},
    )


def set_id(name: str) -> str:
    return f"ambigdocs/{name_key(name)}"


def name_sets(queries: Iterable[Query]) -> list[NameSet]:
    """The shared names of queries with the bearers that their outputs name, in file order.

    The files say nothing of popularity, so that no bearer is head or tail.
    """
    sets: dict[str, tuple[str, dict[str, dict[str, None]]]] = {}
    for query in queries:
        if query.name_set is None or query.name is None:
            continue
        _, bearers = sets.setdefault(query.name_set, (query.name, {}))
        for output in query.outputs:
            if output.entity is not None:
                pages = bearers.setdefault(output.entity, {})
                pages.update((p.page, None) for group in output.provenance for p in group)
    return [
        NameSet(
            id=key,
            name=name,
            collection=TASK,
            bearers=tuple(
                Bearer(entity=entity, label=entity, pages=tuple(pages)) for entity, pages in bearers.items()
            ),
        )
        for key, (name, bearers) in sets.items()
    ]


def question_of_query(
    query: Query, passage: Callable[[str], Passage | None], shown: Iterable[str] = ()
) -> AmbigQuestion:
    """A query as AmbigDocs writes it, one document an output.

    Of an output's passages the first that was `shown` represents it, else its first.
    """
    was_shown = frozenset(shown)
    return AmbigQuestion(
        qid=str(query.attributes.get("qid", query.id)),
        ambiguous_entity=query.name or "",
        question=query.input,
        documents=tuple(_document(output, passage, was_shown) for output in query.outputs),
        language=query.language,
        extra=dict(query.attributes.get("extra", {})),
    )


def _document(
    output: Output, passage: Callable[[str], Passage | None], shown: frozenset[str]
) -> BearerDocument:
    sources = [p for group in output.provenance for p in group]
    chosen = next((p for p in sources if p.passage in shown), sources[0] if sources else None)
    document = passage(chosen.passage) if chosen and chosen.passage else None
    title = (chosen.title if chosen else None) or (document.title if document else None)
    # The pid that a file gave; a passage of another origin has its own id for one.
    pid = (
        chosen.attributes.get("pid", None if _from_file(chosen.page) else chosen.passage) if chosen else None
    )
    return BearerDocument(
        title=title or output.entity or "",
        text=document.text if document else "",
        pid=None if pid is None else str(pid),
        answer=output.answer,
        aliases=output.aliases,
        popularity=output.attributes.get("popularity"),
    )


def _from_file(page: str) -> bool:
    return page.startswith(f"{TASK}:")


def gold_passage_ids(queries: Iterable[Query]) -> set[str]:
    return {
        source.passage
        for query in queries
        for output in query.outputs
        for group in output.provenance
        for source in group
        if source.passage is not None
    }


def shown_document(passage: Passage) -> BearerDocument:
    """A passage that a model was shown, under the pid that the gold documents use."""
    pid = passage.source_id if _from_file(passage.page) else passage.id
    return BearerDocument(title=passage.title, text=passage.text, pid=pid)


# The files.


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


def read_ambigdocs_predictions(path: str | Path) -> Iterator[Prediction]:
    """The predictions of a file: questions with `gen_answer` and, where known, `docs`.

    A `gen_answer` of null is a failure of the model and is read as an empty answer.
    """
    for number, record, text, docs in _said(path):
        question, spans = question_of(record, path, number), record.get("span_predictions")
        yield Prediction(
            question=question if spans is None else with_span_list(question, spans),
            gen_answer=text,
            docs=docs,
            wrong_answers=tuple(map(str, record.get("wrong_answers") or ())),
        )


def _said(path: str | Path) -> Iterator[tuple[int, dict[str, Any], str, tuple[BearerDocument, ...] | None]]:
    """The number of each record, the record, the model's answer and what it was shown."""
    for number, record in read_objects(path):
        ids = [record["qid"]] if "qid" in record else ()
        if not ids or "gen_answer" not in record:
            raise BadInput(
                "not a prediction: qid or gen_answer is missing",
                file=path,
                line=number,
                ids=ids,
                hint="a model that said nothing has the gen_answer null",
            )
        try:
            docs = documents_of(record["docs"], shown=True) if record.get("docs") is not None else None
        except msgspec.ValidationError as error:
            raise BadInput(f"docs are wrong: {error}", file=path, line=number, ids=ids) from error
        yield number, record, str(record["gen_answer"] or ""), docs


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
    return write_objects(path, (question_object(question_of_query(q, passages.get)) for q in queries))


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
    for line, record, text, docs in _said(file):
        question = str(record["qid"])
        shown = None if docs is None else corpus.passages(question, docs)
        yield Predicted(line, question, text, shown=shown)


UPLOAD = UploadFormat(
    "AmbigDocs predictions",
    '[{"qid": "QUERY", "gen_answer": "TEXT", "docs": [{"title": "", "text": "", "pid": ""}]}]',
    read_uploaded,
)


class _Documents:
    def __init__(self, benchmark: Benchmark) -> None:
        self._names = BenchmarkNames(benchmark)
        self._passages: dict[str, BearerDocument] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        if not any(q.task == TASK for q in benchmark.queries):
            return
        for passage in benchmark.passage_records():
            self._passages[passage.id] = shown_document(passage)
            self._by_text[passage.title, passage.text] = passage.id
        for row in benchmark.passages.select(["id", "source_id"]).to_pylist():
            known = self._passages[row["id"]]
            self._passages[row["id"]] = msgspec.structs.replace(known, pid=row["source_id"] or known.pid)

    def passages(self, question: str, documents: tuple[BearerDocument, ...]) -> tuple[str, ...]:
        """Documents from elsewhere are about no bearer of the question and change no category."""
        query = self._names.query(question)
        own = named_passages(query) if query else []
        places = (self._place(own, document) for document in documents)
        return tuple(dict.fromkeys(p for p in places if p is not None))

    def _place(self, own: list[str], document: BearerDocument) -> str | None:
        for passage in own:
            if passage in self._passages and self._passages[passage].same_as(document):
                return passage
        return self._by_text.get((document.title, document.text))
