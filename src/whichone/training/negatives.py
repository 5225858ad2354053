"""Examples from a benchmark, with wrong passages: what BM25 finds, and the other bearers' pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.names import title_key
from whichone.records import Passage, Query, page_of
from whichone.retrieval.bm25 import Bm25
from whichone.text.drqa import tokens
from whichone.training.examples import Example, Negative, NegativeKind, Text
from whichone.training.splits import name_of

KINDS: tuple[NegativeKind, ...] = ("bm25", "namesake")
BLOCK = 1_000
"""Queries whose passages are read together."""


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
        examples, without, taught = [], [], []
        for query in queries:
            positive = self.positive(query) if query.input.strip() else None
            if positive is None:
                without.append(query.id)
            else:
                taught.append((query, positive))
        wrong = self._bm25_negatives([query for query, _ in taught])
        for (query, positive), hard in zip(taught, wrong, strict=True):
            negatives = (*hard, *(self._namesakes(query) if "namesake" in self.kinds else ()))
            examples.append(
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
        if not examples:
            raise BadInput(
                "no question has a gold page in the corpus",
                ids=without,
                hint="are these questions with answers, and is it their corpus?",
            )
        return examples, without

    def positive(self, query: Query) -> Passage | None:
        """The passage that the gold names, else the first of a gold page that contains an answer, else its first."""
        evidence = (p for o in query.outputs for group in o.provenance for p in group)
        named = [provenance.passage for provenance in evidence if provenance.passage]
        known = self._corpus.get(named) if named else {}
        if known:
            return next(known[identity] for identity in named if identity in known)
        held = self._on_pages(sorted(query.gold_pages()))
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
        for start in range(0, len(chosen), BLOCK):
            block = chosen[start : start + BLOCK]
            known = self._corpus.get(identity for ids in block for identity in ids)
            yield from ([known[identity] for identity in ids] for ids in block)

    def _on_pages(self, pages: Sequence[str]) -> list[Passage]:
        """The passages of pages, in their order; pages that are not in the corpus have none."""
        ids = [identity for page in pages for identity in self._corpus.passages_of(page)]
        known = self._corpus.get(ids)
        return [known[identity] for identity in ids]

    def _named(self, name: str) -> frozenset[str]:
        """The pages whose titles name this."""
        rows = {b.page for b in self._corpus.names.bearers(name) if b.kind == "title"}
        pages = self._corpus.page_ids(sorted(rows))
        return frozenset(page for page in pages if title_key(self._corpus.title(page)) == name)

    def _namesakes(self, query: Query) -> list[Negative]:
        """Passages of the other bearers of the name: the one kind of wrong passage that hurts.

        Those of the query's name set, else the pages of the corpus whose titles name the same.
        """
        others = self.benchmark.other_pages(query)
        if query.name_set is None:
            others = self._named(name_of(query)) - query.gold_pages()
        held = self._on_pages(sorted(others))
        generator = np.random.default_rng([self.seed, *query.id.encode()])
        order = generator.permutation(len(held))[: self.most]
        return [Negative("namesake", _text(held[i])) for i in sorted(order)]


def _text(passage: Passage) -> Text:
    return Text(passage.title, passage.text, passage.page)


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    width = len(wanted)
    return any(list(words[i : i + width]) == list(wanted) for i in range(len(words) - width + 1))
