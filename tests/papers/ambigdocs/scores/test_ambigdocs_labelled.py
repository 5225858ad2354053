"""The kind of answer by rule against the one that a person gave, and the mistakes that the rule must not make.

`labelled_categories.jsonl` has 226 answers to questions of the built-in world, of all five kinds. One labeller read all of
them, each before any rule was run on it. 134 were written for this in the manner of chat models; 92 are SmolLM2-135M's
(bench/category_answers.py), garbled more often than not. The rule was changed with the first 194 in view; on the
last 32 its kappa was .51 when they were new, and .58 after one more change (half of an answer's words are needed).
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from whichone.measures.comparison import cohen_kappa
from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument, Prediction
from whichone.papers.ambigdocs.categories import DEFAULT, PUBLISHED, Category, ScoringRules
from whichone.papers.ambigdocs.score_answer import score_prediction

FILE = Path(__file__).with_name("labelled_categories.jsonl")


@pytest.fixture(scope="module")
def labelled() -> list[tuple[Prediction, str, str]]:
    """Prediction, label and source."""
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    questions = {
        row["id"]: AmbigQuestion(
            qid=row["id"],
            ambiguous_entity=row["name"],
            question=row["question"],
            documents=msgspec.convert(row["documents"], tuple[BearerDocument, ...]),
        )
        for row in rows
        if "id" in row
    }
    return [
        (
            Prediction(question=questions[row["question"]], gen_answer=row["answer"]),
            row["label"],
            row["source"],
        )
        for row in rows
        if "label" in row
    ]


def kappa(rows: list[tuple[Prediction, str, str]], rules: ScoringRules, source: str = "") -> float:
    pairs = [
        (str(score_prediction(p, rules).category), label) for p, label, of in rows if of.startswith(source)
    ]
    value = cohen_kappa([a for a, _ in pairs], [b for _, b in pairs])
    assert value is not None
    return round(value, 2)


def test_all_five_kinds_are_labelled(labelled) -> None:
    labels = [label for _, label, _ in labelled]
    assert len(labels) == 226
    assert all(labels.count(kind.value) >= 30 for kind in Category)


@pytest.mark.parametrize(
    ("source", "ours", "published"),
    [
        ("", 0.80, 0.48),
        ("written", 0.97, 0.55),
        ("SmolLM2-135M", 0.52, 0.34),
        ("SmolLM2-135M, held", 0.58, 0.45),
    ],
)  # fmt: skip
def test_agreement(labelled, source: str, ours: float, published: float) -> None:
    assert kappa(labelled, DEFAULT, source) == ours
    assert kappa(labelled, PUBLISHED, source) == published


BUTLER = (
    BearerDocument(title="Samuel Butler (novelist)", text="He wrote Erewhon.", answer="novelist"),
    BearerDocument(title="Samuel Butler (poet)", text="He wrote Hudibras.", answer="poet"),
)
CAMPBELL = (
    BearerDocument(title="Roy Campbell (poet)", text="A South African.", answer="poet"),
    BearerDocument(title="Roy Campbell (trumpeter)", text="From the Bronx.", answer="jazz musician"),
)
WRIGHT = (
    BearerDocument(title="Billy Wright (footballer)", text="An England captain.", answer="Ironbridge"),
    BearerDocument(title="Billy Wright (loyalist)", text="A gunman.", answer="Wolverhampton"),
)
ADAMS = (
    BearerDocument(title="John Adams", text="The second president.", answer="lawyer", aliases=("president",)),
    BearerDocument(title="John Adams (composer)", text="A composer.", answer="composer"),
)
COLLEGE = (
    BearerDocument(title="Ann Roe (judge)", text="A judge.", answer="State College of Ohio"),
    BearerDocument(title="Ann Roe (pilot)", text="A pilot.", answer="State College of Utah"),
)
WORKS = (
    BearerDocument(title="Samuel Butler (novelist)", text="He wrote Erewhon.", answer="Erewhon"),
    BearerDocument(title="Samuel Butler (poet)", text="He wrote Hudibras.", answer="Hudibras"),
)


@pytest.mark.parametrize(
    ("documents", "answer", "kind"),
    [
        (WORKS, "The novelist Samuel Butler wrote Hudibras, the poet wrote Erewhon.", "merged"),
        (WORKS, "The novelist Samuel Butler wrote Erewhon, the poet wrote Hudibras.", "complete"),
        (BUTLER, "The novelist Samuel Butler was a poet, and the poet was a novelist.", "merged"),
        (WRIGHT, "Billy Wright was not born in Wolverhampton.", "no answer"),
        (WRIGHT, "The footballer was not born in Wolverhampton but in Ironbridge.", "partial"),
        (WRIGHT, "Was Billy Wright born in Wolverhampton or in Ironbridge?", "no answer"),
        (COLLEGE, "She went to the State College.", "no answer"),
        (CAMPBELL, "The jazz trumpeter from the Bronx was a jazz musician.", "partial"),
        (CAMPBELL, "One, from South Africa, was a poet; the Bronx's Campbell was a jazz musician.", "complete"),
        (CAMPBELL, "Roy Campbell was a poet and a jazz musician.", "merged"),
        (CAMPBELL, "He was a poet.", "ambiguous"),
        (WRIGHT, "Ironbridge was the birthplace of the captain, Wolverhampton that of the gunman.", "complete"),
        (WRIGHT, "Ironbridge was the birthplace of the gunman, Wolverhampton that of the captain.", "merged"),
        (WRIGHT, "Ironbridge for the captain and Wolverhampton for the gunman.", "complete"),
        (WRIGHT, "It depends: if you mean the gunman, Wolverhampton; if the captain, Ironbridge.", "complete"),
        (ADAMS, "The second president was a lawyer.", "partial"),
    ],
)  # fmt: skip
def test_whose_answer_is_whose(documents: tuple[BearerDocument, ...], answer: str, kind: str) -> None:
    question = AmbigQuestion(
        qid="q",
        ambiguous_entity=documents[0].title.partition(" (")[0],
        question="What was it?",
        documents=documents,
    )
    assert score_prediction(Prediction(question=question, gen_answer=answer)).category == kind
