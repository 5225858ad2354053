"""Examples from a benchmark, with wrong passages: what BM25 finds, and the other bearers' pages."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from whichone.benchmarks.benchmark import Benchmark, other_pages
from whichone.benchmarks.benchmark_tables import UsedSets
from whichone.errors import BadInput
from whichone.files.arrow_records import blocks
from whichone.names import title_key
from whichone.records import Passage, Query, page_of
from whichone.retrieval.bm25 import Bm25
from whichone.text.normalisers import contains_any, tokens
from whichone.training.examples import Example, Negative, NegativeKind, Text
from whichone.training.splits import name_of

KINDS: tuple[NegativeKind, ...] = ("bm25", "namesake")
BLOCK = 1_000
"""Queries whose negatives are mined and whose passages are read together."""


class ExampleMaker:
    """Finds each query's right and wrong passages in a benchmark's corpus, which stays on disk."""

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
        self._corpus = benchmark.corpus
        self._bm25 = Bm25.over(benchmark.corpus, work) if "bm25" in kinds else None

    def examples(self, queries: Sequence[Query]) -> tuple[list[Example], list[str]]:
        """One example a query, and the ids of those without a question or a passage to learn from."""
        examples, without = [], []
        for query, example in self.stream(queries):
            if example is None:
                without.append(query.id)
            else:
                examples.append(example)
        if not examples:
            raise nothing_to_learn(without)
        return examples, without

    def stream(self, queries: Iterable[Query]) -> Iterator[tuple[Query, Example | None]]:
        """Every query with its example, made in blocks; None without a question or a passage to learn from."""
        for block in blocks(queries, BLOCK):
            right = [self.positive(q) if q.input.strip() else None for q in block]
            taught = [q for q, positive in zip(block, right, strict=True) if positive is not None]
            wrong = iter(zip(self._bm25_negatives(taught), self._namesakes(taught), strict=True))
            for query, positive in zip(block, right, strict=True):
                if positive is None:
                    yield query, None
                    continue
                hard, namesakes = next(wrong)
                yield query, _example(query, positive, (*hard, *namesakes))

    def positive(self, query: Query) -> Passage | None:
        """The passage that the gold names, else the first of a gold page that contains an answer, else its first."""
        evidence = (p for o in query.outputs for group in o.provenance for p in group)
        named = [provenance.passage for provenance in evidence if provenance.passage]
        known = self._corpus.get(named) if named else {}
        if known:
            return next(known[identity] for identity in named if identity in known)
        held = self._on_pages(sorted(query.gold_pages()))
        wanted = [tokens(answer) for answer in query.answers()]
        first = held[0] if held else None
        return next((p for p in held if contains_any(wanted, p.text)), first)

    def _bm25_negatives(self, queries: Sequence[Query]) -> list[tuple[Negative, ...]]:
        if self._bm25 is None:
            return [()] * len(queries)
        rankings = self._bm25.search([q.question() for q in queries], 30)
        chosen: list[list[str]] = []
        for query, ranking in zip(queries, rankings, strict=True):
            gold = query.gold_pages()
            wrong = (identity for identity in ranking.passages if page_of(identity) not in gold)
            chosen.append(list(islice(wrong, self.most)))
        return [
            tuple(Negative("bm25", _text(passage)) for passage in passages)
            for passages in self._read(chosen)
        ]

    def _read(self, chosen: Sequence[Sequence[str]]) -> Iterator[list[Passage]]:
        """Passages by their ids, fetched for many queries at once."""
        known = self._corpus.get(identity for ids in chosen for identity in ids)
        return ([known[identity] for identity in ids] for ids in chosen)

    def _on_pages(self, pages: Sequence[str]) -> list[Passage]:
        """The passages of pages, in their order; pages that are not in the corpus have none."""
        return [passage for page in pages for passage in self._corpus.on_page(page)]

    def _named(self, name: str) -> frozenset[str]:
        """The pages whose titles name this."""
        rows = {b.page for b in self._corpus.names.bearers(name) if b.kind == "title"}
        pages = self._corpus.page_ids(sorted(rows))
        return frozenset(page for page in pages if title_key(self._corpus.title(page)) == name)

    def _namesakes(self, queries: Sequence[Query]) -> Iterator[list[Negative]]:
        """Passages of the other bearers of the name: the one kind of wrong passage that hurts.

        Those of the query's name set, else the pages of the corpus whose titles name the same.
        """
        if "namesake" not in self.kinds:
            yield from ([] for _ in queries)
            return
        sets = self._sets.get(query.name_set for query in queries if query.name_set)
        for query in queries:
            others = other_pages(query, sets.get(query.name_set or ""))
            if query.name_set is None:
                others = self._named(name_of(query)) - query.gold_pages()
            held = self._on_pages(sorted(others))
            generator = np.random.default_rng([self.seed, *query.id.encode()])
            order = generator.permutation(len(held))[: self.most]
            yield [Negative("namesake", _text(held[i])) for i in sorted(order)]

    @functools.cached_property
    def _sets(self) -> UsedSets:
        """The benchmark's name sets, on disk."""
        sets = UsedSets()
        for block in blocks(self.benchmark.each_set(), BLOCK):
            sets.add(block)
        return sets


def nothing_to_learn(without: Sequence[str]) -> BadInput:
    return BadInput(
        "no question has a gold page in the corpus",
        ids=without,
        hint="are these questions with answers, and is it their corpus?",
    )


def _example(query: Query, positive: Passage, negatives: tuple[Negative, ...]) -> Example:
    return Example(
        id=query.id,
        question=query.input,
        positive=_text(positive),
        negatives=negatives,
        gold=tuple(sorted(query.gold_pages())),
        name=name_of(query),
        relation=query.relation or "",
        answers=query.answers(),
    )


def _text(passage: Passage) -> Text:
    return Text(passage.title, passage.text, passage.page)
