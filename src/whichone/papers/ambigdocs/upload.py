"""AmbigDocs' predictions as people upload them to a board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.papers.ambigdocs.files import documents_of, read_objects
from whichone.papers.ambigdocs.queries import TASK, shown_document
from whichone.papers.ambigdocs.records import Document
from whichone.runs.predictions import Said, UploadFormat, gold_passages, source_ids


def read_uploaded(file: Path, benchmark: Benchmark) -> Iterator[Said]:
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
        yield Said(line, str(record["qid"]), str(record["gen_answer"] or ""), shown=shown)


UPLOAD = UploadFormat(
    "AmbigDocs predictions",
    '[{"qid": "QUERY", "gen_answer": "TEXT", "docs": [{"title": "", "text": "", "pid": ""}]}]',
    read_uploaded,
)


class _Documents:
    """Which passages of the corpus the documents of an AmbigDocs file are."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._own: dict[str, list[str]] = {}
        self._passages: dict[str, Document] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        if not any(q.task == TASK for q in benchmark.queries):
            return
        self._own = {q.id: gold_passages(q) for q in benchmark.queries}
        self._own |= {key: self._own[query] for key, query in source_ids(benchmark).items()}
        for passage in benchmark.passage_records():
            self._passages[passage.id] = shown_document(passage)
            self._by_text[passage.title, passage.text] = passage.id
        for row in benchmark.passages.select(["id", "source_id"]).to_pylist():
            known = self._passages[row["id"]]
            own = row["source_id"] or known.pid
            self._passages[row["id"]] = msgspec.structs.replace(known, pid=own)

    def passages(self, question: str, documents: tuple[Document, ...]) -> tuple[str, ...]:
        """Documents from elsewhere are about no bearer of the question and change no category."""
        own = self._own.get(question, [])
        places = (self._place(own, document) for document in documents)
        return tuple(dict.fromkeys(p for p in places if p is not None))

    def _place(self, own: list[str], document: Document) -> str | None:
        for passage in own:
            if passage in self._passages and self._passages[passage].same_as(document):
                return passage
        return self._by_text.get((document.title, document.text))
