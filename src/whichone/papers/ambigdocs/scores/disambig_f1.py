"""Disambig-F1: can a reader find each bearer's answer in what the model said?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from whichone.papers.ambigdocs.records import Document, Prediction
from whichone.papers.ambigdocs.scores.overlap import text_overlap
from whichone.protocols import Reader
from whichone.records import Passage, Question, ReadingTask
from whichone.text.normalisers import surface_name


def disambiguated_question(question: str, name: str, title: str, *, published: bool = False) -> str:
    """The question with `title` in place of the first occurrence of the shared name.

    A question that does not hold the name is left as it is by the published rules, so that every
    bearer is asked for in the same words; by default the title is put in front of it.
    """
    match = re.search(re.escape(name), question, re.IGNORECASE) if name else None
    if match:
        return question[: match.start()] + title + question[match.end() :]
    return question if published else f"{title}: {question}"


def disambig_f1(document: Document, language: str = "en") -> float | None:
    """F1 of the span read for a bearer against its answer or best alias, stop words left out."""
    if document.span is None:
        return None
    span = document.span
    overlaps = (text_overlap(form, span, language).f1 for form in document.answers())
    return max(overlaps, default=0.0)


def reading_tasks(prediction: Prediction, *, published: bool = False) -> list[ReadingTask]:
    """One task a document: its question, with the model's answer as the only passage."""
    asked = prediction.question
    name = surface_name(asked.ambiguous_entity)
    page = f"answer:{asked.qid}"
    passage = Passage(id=f"{page}#0", page=page, title="", text=prediction.gen_answer)
    return [
        ReadingTask(
            question=Question(
                id=f"{asked.qid}/{n}",
                language=asked.language,
                text=disambiguated_question(
                    asked.question, name, document.title, published=published
                ),
            ),
            passages=(passage,),
        )
        for n, document in enumerate(asked.documents)
    ]


def with_spans(
    predictions: Sequence[Prediction], reader: Reader, *, published: bool = False
) -> list[Prediction]:
    """The predictions with what the reader finds for each bearer; a refusal is an empty span."""
    tasks = [
        task
        for prediction in predictions
        for task in reading_tasks(prediction, published=published)
    ]
    spans = iter([answer.text or "" for answer in reader.read(tasks)])
    return [
        structs.replace(
            prediction,
            question=structs.replace(
                prediction.question,
                documents=tuple(
                    structs.replace(document, span=next(spans))
                    for document in prediction.question.documents
                ),
            ),
        )
        for prediction in predictions
    ]
