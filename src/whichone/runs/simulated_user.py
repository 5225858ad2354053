"""A simulated user who knows whom each question means, and says so when asked back."""

from __future__ import annotations

import re

from whichone.benchmarks.benchmark import Benchmark
from whichone.records import Question

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_WORDS = 30


class SimulatedUser:
    """Answers one question back with what tells the meant bearer from its namesakes.

    That is the qualifying attribute where the benchmark has one, else the first words of its page: what the
    knowledge base says, never the answer's own sentence alone.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._queries = {q.id: q for q in benchmark.queries}
        self._benchmark = benchmark

    def __call__(self, question: Question, asked: str) -> str:
        query = self._queries[question.id]
        if qualifier := query.attributes.get("qualifier"):
            return f"I mean the one with {self._label(query.attributes)} {qualifier}."
        corpus = self._benchmark.corpus
        page = min(query.gold_pages(), default="")
        first = next(iter(corpus.get(corpus.passages_of(page)[:1]).values()), None)
        if first is None:
            return f"I mean {query.name}."
        words = _SENTENCE_END.split(first.text, maxsplit=1)[0].split()[:_WORDS]
        return f"I mean {first.title}: {' '.join(words)}"

    @staticmethod
    def _label(attributes: object) -> str:
        given = attributes.get("qualifier_label") if isinstance(attributes, dict) else None
        return f"the {given}" if given else "the attribute"
