"""Examples from a benchmark, with wrong passages: what BM25 finds, and the other bearers' pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.names import title_key
from whichone.records import Passage, Query
from whichone.retrieval.bm25 import Bm25
from whichone.text.drqa import tokens
from whichone.training.examples import Example, Negative, NegativeKind, Text
from whichone.training.splits import name_of

KINDS: tuple[NegativeKind, ...] = ("bm25", "namesake")


class ExampleMaker:
    """Knows a benchmark's passages and finds each query's right and wrong ones."""

    def __init__(
        self,
        benchmark: Benchmark,
        work: Path,
        *,
        kinds: Sequence[str] = KINDS,
        most: int = 4,
        seed: int = 0,
    ) -> None:
        self.benchmark = benchmark
        self.kinds = kinds
        self.most = most
        self.seed = seed
        self._by_page: dict[str, list[Passage]] = {}
        self._by_id: dict[str, Passage] = {}
        self._named: dict[str, set[str]] = {}
        for passage in benchmark.passage_records():
            self._by_page.setdefault(passage.page, []).append(passage)
            self._by_id[passage.id] = passage
            self._named.setdefault(title_key(passage.title), set()).add(passage.page)
        self._bm25 = Bm25.over(benchmark.corpus, work) if "bm25" in kinds else None

    def examples(self, queries: Sequence[Query]) -> tuple[list[Example], list[str]]:
        """One example a query, and the ids of those without a question or a passage to learn from."""
        found, without, taught = [], [], []
        for query in queries:
            positive = self.positive(query) if query.input.strip() else None
            if positive is None:
                without.append(query.id)
            else:
                taught.append((query, positive))
        wrong = self._bm25_negatives([query for query, _ in taught])
        for (query, positive), hard in zip(taught, wrong, strict=True):
            negatives = (*hard, *(self._namesakes(query) if "namesake" in self.kinds else ()))
            found.append(
                Example(
                    id=query.id,
                    question=query.input,
                    positive=_text(positive),
                    negatives=negatives,
                    gold=tuple(sorted(query.gold_pages())),
                    name=name_of(query),
                    relation=query.relation or "",
                    answers=query.answers(),
                )
            )
        if not found:
            raise BadInput(
                "no question has a gold page in the corpus",
                ids=without,
                hint="are these questions with answers, and is it their corpus?",
            )
        return found, without

    def positive(self, query: Query) -> Passage | None:
        """The passage that the gold names, else the first of a gold page that holds an answer, else its first."""
        for provenance in (p for o in query.outputs for group in o.provenance for p in group):
            if provenance.passage in self._by_id:
                return self._by_id[provenance.passage]
        held = [p for page in sorted(query.gold_pages()) for p in self._by_page.get(page, ())]
        wanted = [tokens(answer) for answer in query.answers()]
        for passage in held:
            words = tokens(passage.text)
            if any(w and _contains(words, w) for w in wanted):
                return passage
        return held[0] if held else None

    def _bm25_negatives(self, queries: Sequence[Query]) -> list[tuple[Negative, ...]]:
        if self._bm25 is None:
            return [()] * len(queries)
        rankings = self._bm25.search([q.question() for q in queries], 30)
        return [
            tuple(
                Negative("bm25", _text(p))
                for p in map(self._by_id.__getitem__, ranking.passages)
                if p.page not in query.gold_pages()
            )[: self.most]
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _namesakes(self, query: Query) -> list[Negative]:
        """Passages of the other bearers of the name: the one kind of wrong passage that hurts.

        Those of the query's name set, else the pages of the corpus whose titles name the same.
        """
        others = self.benchmark.other_pages(query)
        if query.name_set is None:
            others = frozenset(self._named.get(name_of(query), ())) - query.gold_pages()
        pages = sorted(others)
        held = [p for page in pages for p in self._by_page.get(page, ())]
        generator = np.random.default_rng([self.seed, *query.id.encode()])
        order = generator.permutation(len(held))[: self.most]
        return [Negative("namesake", _text(held[i])) for i in sorted(order)]


def _text(passage: Passage) -> Text:
    return Text(passage.title, passage.text, passage.page)


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    width = len(wanted)
    return any(list(words[i : i + width]) == list(wanted) for i in range(len(words) - width + 1))
