"""Wrong passages as AmbER's readers learn from them: of the best page that TF-IDF ranks and that is not gold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.progress import talk
from whichone.records import Question
from whichone.retrieval.tfidf import TfIdf
from whichone.training.examples import Example, Negative, Text

DEPTH = 30


def tfidf_negatives(benchmark: Benchmark, examples: Sequence[Example], work: Path) -> list[Example]:
    """The examples, each with the first passage of the best wrong page as its one negative."""
    corpus = benchmark.corpus
    ranked = TfIdf.over(corpus, work).search(
        [Question(id=e.id, text=e.question, task="") for e in examples], DEPTH
    )
    found: list[Example] = []
    for example, ranking in zip(examples, ranked, strict=True):
        wrong = next((page for page in ranking.passages if page not in example.gold), None)
        passages = corpus.passages_of(wrong) if wrong is not None else ()
        negatives: tuple[Negative, ...] = ()
        if passages:
            passage = corpus.passage(passages[0])
            negatives = (Negative("tfidf", Text(passage.title, passage.text, passage.page)),)
        found.append(msgspec.structs.replace(example, negatives=negatives))
    bare = sum(not example.negatives for example in found)
    if bare:
        talk(f"TF-IDF finds no wrong page for {bare:,} of {len(found):,} questions")
    return found
