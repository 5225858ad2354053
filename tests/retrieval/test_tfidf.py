"""DrQA's TF-IDF against the formula written out, its n-grams and its hash."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import passage_rows
from whichone.records import Passage, Question
from whichone.retrieval.baselines import NgramBuckets, TfIdf

PAGES = {
    "p:1": "The red fox jumps over the lazy dog",
    "p:2": "A red dog, a red house and a red car",
    "p:3": "Foxes are not dogs",
    "p:4": "Nothing to see here",
    "p:5": "The blue house appears on the hill",
    "p:6": "A house is a house is a house",
    "p:7": "Green hills, green grass",
    "p:8": "Grass grows on hills",
}


def corpus_of(pages: dict[str, str]) -> Corpus:
    records = [Passage(id=f"{p}#0", page=p, title="", text=text) for p, text in pages.items()]
    return Corpus.of_table(passage_rows(records), hash="test")


def plain(question: str) -> list[tuple[str, float]]:
    """Scores by the formula, bucket by bucket, in double precision."""
    buckets = NgramBuckets()
    bags = {page: Counter(map(buckets.bucket, buckets.ngrams(text))) for page, text in PAGES.items()}
    scores: dict[str, float] = {}
    for bucket, asked in Counter(map(buckets.bucket, buckets.ngrams(question))).items():
        holding = sum(bucket in bag for bag in bags.values())
        idf = max(0.0, math.log((len(bags) - holding + 0.5) / (holding + 0.5)))
        for page, bag in bags.items():
            if bag[bucket] and idf:
                part = math.log1p(asked) * idf * math.log1p(bag[bucket]) * idf
                scores[page] = scores.get(page, 0.0) + part
    return sorted(scores.items(), key=lambda pair: (-round(pair[1], 5), pair[0]))


@pytest.mark.parametrize("backend", ["numba", "numpy"])
@pytest.mark.parametrize(
    "question", ["red fox", "Where is the red house?", "green green hills", "house", "zebra", "", "the of"]
)
def test_scores_are_those_of_the_formula(tmp_path: Path, question: str, backend: str) -> None:
    TfIdf.build(corpus_of(PAGES), tmp_path / "index")
    retriever = TfIdf.open(tmp_path / "index", backend=backend)  # type: ignore[arg-type]
    (ranking,) = retriever.search([Question(id="q", text=question)], 20)
    wanted = plain(question)
    assert ranking.passages == tuple(page for page, _ in wanted)
    assert ranking.scores == pytest.approx([score for _, score in wanted], rel=1e-5)


def test_ngrams_hold_no_stop_word_and_no_punctuation() -> None:
    buckets = NgramBuckets()
    assert buckets.ngrams("The Red-Fox isn't in Köln.") == ["red", "fox", "ko\u0308ln"]
    assert buckets.ngrams("red fox, red car") == ["red", "fox", "red", "car", "red fox", "red car"]


def test_the_hash_is_murmur_three() -> None:
    # values of the published algorithm, unsigned, seed 0
    assert NgramBuckets(size=1 << 32).bucket("hello") == 0x248BFA47
    assert NgramBuckets(size=1 << 32).bucket("hello, world") == 0x149BBB7F
    assert NgramBuckets().bucket("hello") == 0x248BFA47 % (1 << 24)


def test_what_half_the_pages_hold_weighs_nothing(tmp_path: Path) -> None:
    TfIdf.build(corpus_of({"a": "fox", "b": "fox dog"}), tmp_path / "index")
    (ranking,) = TfIdf.open(tmp_path / "index").search([Question(id="q", text="fox")], 5)
    assert ranking.passages == ()


def test_whole_pages_of_a_benchmark(small: Benchmark, tmp_path: Path) -> None:
    retriever = TfIdf.over(small.corpus, tmp_path / "work")
    (ranking,) = retriever.search([Question(id="q", text="word7 part1")], 5)
    assert ranking.passages[0] == "w:7"
    assert TfIdf.over(small.corpus, tmp_path / "work").describe() == {
        "retriever": "tfidf",
        "buckets": 1 << 24,
        "stop_words": "drqa",
        "title_weight": 1,
    }
