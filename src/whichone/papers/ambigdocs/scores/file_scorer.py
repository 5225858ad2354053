"""Scoring a predictions file or an answers folder: read, score, summarise, a line a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import missing_extra
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.agreement import agreement, read_labels
from whichone.papers.ambigdocs.scores.answers import read_any
from whichone.papers.ambigdocs.scores.disambig_f1 import with_spans
from whichone.papers.ambigdocs.scores.rules import DEFAULT, PUBLISHED, DocumentChoice, Rules
from whichone.papers.ambigdocs.scores.score import PredictionScore
from whichone.papers.ambigdocs.scores.semantic import CharacterTrigrams, Encoder, missed_paraphrases
from whichone.papers.ambigdocs.scores.summary import clusters, score_all, summarise
from whichone.papers.ambigdocs.scores.validity import means_within_categories, threshold_sensitivity
from whichone.protocols import Reader
from whichone.retrieval.adapters.adapted import load_function
from whichone.runs.read import as_reader


def score_file(
    path: str | Path,
    *,
    published: bool = False,
    documents: str | None = None,
    reader: str | None = None,
    validity: bool = False,
    semantic: str | None = None,
    people: str | Path | None = None,
    benchmark: str | Path | None = None,
    seed: int = 0,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The result of a predictions file or an answers folder, and its lines."""
    predictions = read_any(path, benchmark)
    rules = choose_rules(published, documents)
    if reader is not None:
        predictions = with_spans(predictions, find_reader(reader), published=published)
    return score_predictions(
        predictions, rules, validity=validity, semantic=semantic, people=people, seed=seed
    )


def choose_rules(published: bool, documents: str | None = None) -> Rules:
    rules = PUBLISHED if published else DEFAULT
    if documents is None:
        return rules
    return msgspec.structs.replace(rules, documents=msgspec.convert(documents, DocumentChoice))


def score_predictions(
    predictions: Sequence[Prediction],
    rules: Rules = DEFAULT,
    *,
    validity: bool = False,
    semantic: str | None = None,
    people: str | Path | None = None,
    seed: int = 0,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    scores = score_all(predictions, rules)
    result = summarise(predictions, scores, rules)
    if validity:
        names = clusters(predictions)
        result["means_within_categories"] = means_within_categories(scores, names)
        result["threshold_sensitivity"] = threshold_sensitivity(predictions, rules)
    if people is not None:
        labels = read_labels(people)
        result["agreement"] = agreement(scores, labels, clusters(predictions), seed=seed)
    if semantic is not None:
        result["semantic"] = missed_paraphrases(predictions, find_encoder(semantic), rules)
    return result, [line(score) for score in scores]


def line(score: PredictionScore) -> dict[str, Any]:
    """A question's score as plain data."""
    row: dict[str, Any] = msgspec.to_builtins(score)
    return row


def find_reader(name: str) -> Reader:
    """`module:function` of the user's own, or a question-answering model by name or folder."""
    if ":" in name:
        return as_reader(load_function(name))
    from whichone.papers.ambigdocs.scores.span_reader import SpanReader

    return SpanReader(name)


def find_encoder(name: str) -> Encoder:
    """`trigrams`, or a sentence-transformers model by name or folder."""
    if name == "trigrams":
        return CharacterTrigrams()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_extra("sentence-transformers", "dense") from None
    model: Any = SentenceTransformer(name)
    encoder: Encoder = model
    return encoder
