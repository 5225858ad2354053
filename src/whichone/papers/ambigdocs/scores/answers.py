"""Answers of a reader on a benchmark as predictions, which the measures score and files hold."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.measures.scores import used_passages
from whichone.papers.ambigdocs.export_files import passages_by_id
from whichone.papers.ambigdocs.files import prediction_object, read_predictions, write_objects
from whichone.papers.ambigdocs.queries import gold_passage_ids, question_of, shown_document
from whichone.papers.ambigdocs.records import Prediction
from whichone.runs.run import Answers


def read_any(place: str | Path, benchmark: str | Path | None = None) -> list[Prediction]:
    """The predictions of a file, or of an answers folder."""
    if not Path(place).is_dir():
        return list(read_predictions(place))
    answers = Answers.open(place)
    said = answers.answers
    return predictions_of(
        answers.benchmark(benchmark),
        {id: answer.text for id, answer in said.items()},
        {id: used_passages(shown, said.get(id)) for id, shown in answers.shown.items()},
        left_out=answers.left_out,
    )


def predictions_of(
    benchmark: Benchmark,
    texts: Mapping[str, str | None],
    shown: Mapping[str, Sequence[str]],
    *,
    left_out: Container[str] = (),
) -> list[Prediction]:
    """What was said about every query, in the benchmark's order, and what was shown for it.

    A query that failed or was refused is an empty answer; only those that the setting does not fit
    (`left_out`) are no predictions.
    """
    asked = [query for query in benchmark.queries if query.id not in left_out]
    unnamed = [query.id for query in asked if query.name is None]
    if unnamed:
        raise BadInput(
            f"{len(unnamed)} queries ask about no shared name",
            ids=unnamed,
            hint="these measures are for questions about a name and its bearers",
        )
    ids = {passage for listed in shown.values() for passage in listed}
    passages = passages_by_id(benchmark, ids | gold_passage_ids(asked))
    return [
        Prediction(
            question=question_of(query, passages.get, shown.get(query.id, ())),
            gen_answer=texts.get(query.id) or "",
            docs=tuple(
                shown_document(passages[p]) for p in shown.get(query.id, ()) if p in passages
            ),
            wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
        )
        for query in asked
    ]


def write_predictions(path: str | Path, predictions: Iterable[Prediction]) -> int:
    """A predictions file as AmbigDocs' own scorer reads it; how many."""
    return write_objects(path, map(prediction_object, predictions))


def export_predictions(
    answers: str | Path, out: str | Path, benchmark: str | Path | None = None
) -> dict[str, int]:
    """An answers folder as a predictions file."""
    return {Path(out).name: write_predictions(out, read_any(answers, benchmark))}
