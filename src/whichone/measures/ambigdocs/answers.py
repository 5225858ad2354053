"""Answers of a reader on a benchmark as predictions, which the measures score and files hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whichone.benchmarks.ambigdocs.export_files import passages_by_id
from whichone.benchmarks.ambigdocs.files import prediction_object, write_objects
from whichone.benchmarks.ambigdocs.queries import gold_passage_ids, question_of, shown_document
from whichone.benchmarks.ambigdocs.records import Prediction
from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Answer


def predictions_of(benchmark: Benchmark, answers: Iterable[Answer]) -> list[Prediction]:
    """What a reader said about every query, in the benchmark's order.

    A query without an answer, or with a refusal, is an empty answer to which nothing was shown
    but what the answer says.
    """
    by_id = {answer.question: answer for answer in answers}
    shown = {passage for answer in by_id.values() for passage in answer.passages}
    passages = passages_by_id(benchmark, shown | gold_passage_ids(benchmark.queries))
    found = []
    for query in benchmark.queries:
        answer = by_id.get(query.id, Answer(question=query.id))
        found.append(
            Prediction(
                question=question_of(query, passages.get, answer.passages),
                gen_answer=answer.text or "",
                docs=tuple(shown_document(passages[p]) for p in answer.passages if p in passages),
                wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
            )
        )
    return found


def write_predictions(path: str | Path, predictions: Iterable[Prediction]) -> int:
    """A predictions file as AmbigDocs' own scorer reads it; how many."""
    return write_objects(path, map(prediction_object, predictions))
