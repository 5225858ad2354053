"""`namesake`: every bearer of every name in the question, ordered by how well it fits the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.files.cache import cache_folder
from whichone.files.manifest import MANIFEST
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense.encoder import Encoder, Vectors, encoder_name, find_encoder
from whichone.retrieval.dense.retriever import Dense
from whichone.retrieval.indexes import adopt_folder, created, index_folder, opened
from whichone.retrieval.namesake.corpus import Pages
from whichone.retrieval.namesake.evidence import Asked, Evidence, Weigher
from whichone.retrieval.namesake.knowledge import Knowledge
from whichone.retrieval.namesake.names import (
    SEPARATOR,
    Mention,
    PageNames,
    remainder,
    subject,
)
from whichone.retrieval.namesake.parameters import NamesakeParameters
from whichone.retrieval.namesake.pool import Pool, Pooler
from whichone.retrieval.namesake.relations import RelationTable, stems
from whichone.retrieval.namesake.sentence_store import SentenceStore
from whichone.retrieval.namesake.sentences import SentenceCloseness, rules

_SHOWN_BEARERS = 5
PLACES = frozenset(["place", "building", "organization"])
"""Kinds whose titles tell namesakes apart by a comma, not by parentheses."""


class NamesakeRetriever:
    """Finds the names in a question, takes all their bearers, and weighs them."""

    name = "namesake"
    Parameters = NamesakeParameters

    def __init__(
        self,
        pages: Pages,
        names: PageNames,
        pooler: Pooler,
        weigher: Weigher,
        parameters: NamesakeParameters,
        *,
        encoder: Encoder | None = None,
        described: dict[str, Any] | None = None,
    ) -> None:
        self._pages = pages
        self._names = names
        self._pooler = pooler
        self._weigher = weigher
        self._encoder = encoder
        self._relations = RelationTable.load()
        self.parameters = parameters
        self._described = {**msgspec.to_builtins(parameters), **(described or {})}

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> NamesakeRetriever:
        """Names from the corpus, and from a knowledge base where one is given."""
        parameters = msgspec.convert(options, NamesakeParameters, strict=False)
        return cls._made(corpus, work, Bm25.over(corpus, work), parameters)

    @classmethod
    def build(
        cls, corpus: Corpus | Iterable[Passage], folder: Path, **options: Any
    ) -> NamesakeRetriever:
        """Index a corpus, or any passages, into a folder; options are those it is opened with."""
        parameters = msgspec.convert(options, NamesakeParameters, strict=False)
        kept = msgspec.to_builtins(parameters)
        if parameters.knowledge:
            kept["knowledge"] = str(Path(parameters.knowledge).resolve())
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            if not (place.partial / "bm25" / MANIFEST).exists():
                Bm25.build(held, place.partial / "bm25")
            adopt_folder(place, "bm25")
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path, **options: Any) -> NamesakeRetriever:
        """Open an index; `options` go before those it was built with."""
        place, corpus, kept = opened(folder, cls.name)
        parameters = msgspec.convert({**kept, **options}, NamesakeParameters, strict=False)
        work = cache_folder() / "indexes" / corpus.hash[:16]
        return cls._made(corpus, work, Bm25.open(place.root / "bm25"), parameters)

    @classmethod
    def _made(
        cls, corpus: Corpus, work: Path, bm25: Bm25, parameters: NamesakeParameters
    ) -> NamesakeRetriever:
        encoder = find_encoder(parameters.encoder, device=parameters.device)
        dense = None
        if encoder is not None and parameters.encode == "all":
            dense = Dense.over(corpus, work, encoder=encoder)
        pages = Pages(corpus)
        knowledge = Knowledge(parameters.knowledge, corpus) if parameters.knowledge else None
        closeness = None
        if encoder is not None:
            made_of = {**encoder.describe(), "corpus": corpus.hash, **rules()}
            store = SentenceStore(index_folder(work, "sentences", made_of))
            closeness = SentenceCloseness(encoder, pages.texts, store)
        weigher = Weigher(
            pages,
            parameters,
            closeness=closeness,
            knowledge=knowledge,
            popularity=knowledge.popularity() if knowledge is not None else {},
        )
        described = {
            "encoder": encoder_name(parameters.encoder, encoder),
            "model": encoder.describe() if encoder is not None else None,
            "knowledge_base": {"id": knowledge.id} if knowledge is not None else None,
            "bm25": bm25.describe(),
        }
        return cls(
            pages,
            PageNames(
                knowledge.names() if knowledge is not None else (),
                corpus.names,
                lambda page: bool(pages.kinds(page) & PLACES),
            ),
            Pooler(pages, bm25, dense, parameters),
            weigher,
            parameters,
            encoder=encoder,
            described=described,
        )

    @property
    def sees(self) -> tuple[str, ...]:
        return ("corpus", "knowledge base") if self.parameters.knowledge else ("corpus",)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "namesake", **self._described}

    def close(self) -> None:
        """Keeps the sentences that were encoded for the next run."""
        self._weigher.close()

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        vectors = self.question_vectors(questions)
        mentions = [self.mentions(question) for question in questions]
        self._weigher.learn([m.pages for found in mentions for m in found])
        close = self._pooler.by_closeness(vectors)
        for n, question in enumerate(questions):
            vector = vectors[n] if vectors is not None else None
            near = close[n] if close is not None else ()
            pool = self._pooler.pool(question.text, mentions[n], vector, near)
            yield self._rank(question, mentions[n], pool, k, vector)

    def question_vectors(self, questions: Sequence[Question]) -> Vectors | None:
        """What the encoder makes of questions; None where there is none."""
        if self._encoder is None or not questions:
            return None
        texts = [question.text.replace(SEPARATOR, " ") for question in questions]
        return self._encoder.questions(texts)

    def _rank(
        self,
        question: Question,
        mentions: Sequence[Mention],
        pool: Pool,
        k: int,
        vector: Vectors | None,
    ) -> Ranking:
        asked = self._asked(question, mentions, vector)
        weighed = self._weighed(pool, asked)
        if is_claim(question.text):
            pool = self._subject_first(pool, asked)
        order = reordered(pool.pages, list(weighed.values()))
        return Ranking(
            question=question.id,
            **self._passages(question, order, pool, k),
            notes=self._notes(pool, weighed, asked),
        )

    def _asked(
        self, question: Question, mentions: Sequence[Mention], vector: Vectors | None
    ) -> Asked:
        pieces = remainder(question.text, mentions)
        return Asked(
            pieces,
            tuple(stem for piece in pieces for stem in stems(piece)),
            self._relations.asked(pieces),
            vector,
        )

    def _weighed(self, pool: Pool, asked: Asked) -> dict[Mention, list[Evidence]]:
        return {
            group.mention: self._weigher.weigh(group.lexical, asked)
            for group in pool.groups
            if len(group.lexical) > 1
        }

    def weighed(self, question: Question, vector: Vectors | None = None) -> list[list[Evidence]]:
        """For each shared name of a question its bearers, best first, and what speaks for each."""
        mentions = self.mentions(question)
        pool = self._pooler.pool(question.text, mentions, vector)
        return list(self._weighed(pool, self._asked(question, mentions, vector)).values())

    def page_id(self, page: int) -> str:
        return self._pages.id(page)

    def _subject_first(self, pool: Pool, asked: Asked) -> Pool:
        """In a claim the names of its object stand too; the kind tells which is the subject.

        "Boris Karloff appeared in Kansas": what has a cast is a film, so it is not about Karloff.
        """
        bearers = {page for group in pool.groups for page in group.lexical}
        if not asked.relations or len(pool.groups) < 2:
            return pool
        scores = {
            page: score
            + (
                self.parameters.subject * self._weigher.kind(page, asked.relations)
                if page in bearers
                else 0
            )
            for page, score in zip(pool.pages, pool.scores, strict=True)
        }
        order = sorted(scores, key=lambda page: (-scores[page], page))
        return dataclasses.replace(pool, pages=order, scores=[scores[page] for page in order])

    def mentions(self, question: Question) -> list[Mention]:
        """The names that are written as names; all that were found where none is."""
        found = self._names.find(question.mention or question.text)
        if question.mention is not None:
            at = question.text.find(question.mention)
            found = [
                dataclasses.replace(m, start=m.start + at, end=m.end + at) for m in found if at >= 0
            ]
        return [mention for mention in found if mention.proper] or found

    def _passages(
        self, question: Question, order: Sequence[int], pool: Pool, k: int
    ) -> dict[str, Any]:
        """Each page's best passage in the order of the pages, then ordinary results up to k."""
        rows = [pool.passages[page] for page in order[:k]]
        scores = pool.scores[: len(rows)]
        if len(rows) < k:
            taken = set(rows)
            more = [r for r in self._pooler.by_words(question.text, k) if r not in taken]
            lowest = scores[-1] if scores else 0.0
            for place, row in enumerate(more[: k - len(rows)], 1):
                rows.append(row)
                scores.append(lowest - place / (k + 1))
        return {"passages": tuple(self._pages.passage_ids(rows)), "scores": tuple(scores)}

    def _notes(
        self, pool: Pool, weighed: dict[Mention, list[Evidence]], asked: Asked
    ) -> dict[str, Any]:
        names = []
        for mention in sorted((group.mention for group in pool.groups), key=lambda m: m.start):
            bearers = weighed.get(mention, [])
            names.append(
                {
                    "name": mention.name,
                    "bearers": len(mention.pages),
                    "whole": mention.whole,
                    "candidates": [e.note(self._pages) for e in bearers[:_SHOWN_BEARERS]]
                    or [
                        {"page": self._pages.id(p), "title": self._pages.title(p)}
                        for p in mention.pages
                    ],
                }
            )
        if not names:
            return {"names": [], "how": "no name of the corpus is in the question"}
        return {"names": names, "asks": [relation.name for relation in asked.relations]}


def is_claim(text: str) -> bool:
    """Whether a text states something: neither a question nor a slot to fill."""
    return "?" not in text and subject(text) == text


def reordered(pages: Sequence[int], groups: Iterable[Sequence[Evidence]]) -> list[int]:
    """The pages with each group's members in the group's order, on the places the group holds."""
    order = list(pages)
    for group in groups:
        members = {evidence.page for evidence in group}
        places = [n for n, page in enumerate(order) if page in members]
        for place, evidence in zip(places, group, strict=True):
            order[place] = evidence.page
    return order
