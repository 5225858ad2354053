"""Bearers and ordinary results weighed together: which page is the question about?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.dense.retriever import Dense
from whichone.retrieval.namesake.corpus import Pages
from whichone.retrieval.namesake.names import Mention, names_one_thing, remainder, subject
from whichone.retrieval.namesake.parameters import NamesakeParameters
from whichone.retrieval.namesake.relations import RelationTable

Floats = npt.NDArray[np.float64]

MOST_NAMES = 32
"""Of a question that holds more names than this, the longest count."""


@dataclass(frozen=True)
class Group:
    """A name of the question, with each bearer's BM25 on what the question says besides asking."""

    mention: Mention
    lexical: dict[int, float]


@dataclass(frozen=True)
class Pool:
    """Pages with their scores, best first, and each one's best passage."""

    pages: list[int]
    scores: list[float]
    passages: dict[int, int]
    groups: list[Group]


class Pooler:
    """Scores the bearers of a question's names beside what ordinary retrieval finds."""

    def __init__(
        self, pages: Pages, bm25: Bm25, dense: Dense | None, parameters: NamesakeParameters
    ) -> None:
        self._pages = pages
        self._bm25 = bm25
        self._dense = dense
        self._weights = parameters
        self._relations = RelationTable.load()

    def by_words(self, text: str, k: int) -> list[int]:
        """Passages by BM25, best first."""
        best, _ = self._bm25.scorer.best(self._bm25.vocabulary.find(text), k)
        found: list[int] = best.tolist()
        return found

    def by_closeness(self, vectors: Vectors | None) -> list[list[int]] | None:
        """For each question of a block the closest passages, where the corpus is encoded."""
        if self._dense is None or vectors is None:
            return None
        found: list[list[int]] = self._dense.best(vectors, 2 * self._weights.pool)[0].tolist()
        return found

    def pool(
        self,
        text: str,
        mentions: Sequence[Mention],
        vector: Vectors | None = None,
        close: Sequence[int] = (),
    ) -> Pool:
        """Every bearer, and the pages of the best ordinary results, by score, ties by page."""
        near = [*self.by_words(text, 2 * self._weights.pool), *close]
        mentions = [mention for group in _by_name(mentions) for mention in group]
        named: dict[int, Mention] = {}
        for mention in mentions:
            for page in mention.pages:
                if page not in named or _strength(mention) > _strength(named[page]):
                    named[page] = mention
        pages = sorted({*named, *self._pages.of_passages(near).tolist()})
        rows = self._pages.rows(pages)
        lexical, groups = self._lexical(text, mentions, rows)
        closeness = self._closeness(vector, rows)
        owner = self._pages.of_passages(rows)
        total = np.zeros(len(rows))
        if len(rows):
            total += self._weights.lexical * lexical / max(float(lexical.max()), 1e-9)
            total += self._weights.dense * closeness
        best: dict[int, tuple[float, int]] = {}
        for row, page, score in zip(rows.tolist(), owner.tolist(), total.tolist(), strict=True):
            if page not in best or score > best[page][0]:
                best[page] = (score, row)
        length = max(len(subject(text)), 1)
        alone = self._weights.alone if names_one_thing(text, mentions) else 0.0
        scores = {
            page: best[page][0] + self._name(named.get(page), length) + alone * (page in named)
            for page in pages
        }
        order = sorted(pages, key=lambda page: (-scores[page], page))
        passages = {page: best[page][1] for page in pages}
        return Pool(order, [scores[page] for page in order], passages, groups)

    def _name(self, mention: Mention | None, length: int) -> float:
        if mention is None:
            return 0.0
        share = self._weights.share * (mention.end - mention.start) / length
        return share + (self._weights.named if mention.whole and mention.proper else 0.0)

    def _lexical(
        self, text: str, mentions: Sequence[Mention], rows: npt.NDArray[np.int64]
    ) -> tuple[Floats, list[Group]]:
        """BM25 of passages; what the name itself scores is made the same for all its bearers.

        How often a page repeats its own name, and how long it is, says nothing on which bearer is
        meant, so each bearer gets what the name scores on the bearer where it scores most.
        """
        scorer, find = self._bm25.scorer, self._bm25.vocabulary.find
        whole = find(text)
        scores = scorer.of(whole, rows).astype(np.float64)
        at = {row: n for n, row in enumerate(rows.tolist())}
        bearing: dict[int, float] = {}
        groups = []
        for same in _by_name(mentions):
            mention = same[0]
            own = self._pages.rows(mention.pages)
            pieces = remainder(text, same)
            rest = scorer.of(find(" ".join(pieces)), own).astype(np.float64)
            name = float((scores[[at[row] for row in own.tolist()]] - rest).max())
            name = max(name, self._name_worth(mention.name))
            lexical: dict[int, float] = {}
            told = scorer.of(find(self._relations.without_cue(pieces)), own).tolist()
            owners = self._pages.of_passages(own).tolist()
            scored = zip(own.tolist(), owners, rest.tolist(), told, strict=True)
            for row, page, value, other in scored:
                bearing[row] = max(bearing.get(row, 0.0), value + name)
                lexical[page] = max(lexical.get(page, 0.0), other)
            groups.append(Group(mention, lexical))
        for row, value in bearing.items():
            scores[at[row]] = value
        return scores, groups

    def _name_worth(self, name: str) -> float:
        """About what a name scores on a page that holds it once; a page may never say its alias."""
        postings, vocabulary = self._bm25.scorer.postings, self._bm25.vocabulary
        k1 = self._bm25.parameters.k1
        worth = 0.0
        # in order of the text: the sum must not depend on how strings are hashed
        for term in dict.fromkeys(vocabulary.analyse(name)):
            found = vocabulary.find(term)
            held = sum(int(postings.frequencies[n]) for n in found[:1])
            worth += float(np.log1p((len(postings) - held + 0.5) / (held + 0.5)))
        return worth / (1 + k1)

    def _closeness(self, vector: Vectors | None, rows: npt.NDArray[np.int64]) -> Floats:
        if self._dense is None or vector is None or not len(rows):
            return np.zeros(len(rows))
        close: Floats = (self._dense.vectors(rows) @ vector).astype(np.float64)
        return np.asarray(close - close.max(), np.float64)


def _by_name(mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Mentions of the same pages together, those written as names first; the longest names only."""
    same: dict[tuple[int, ...], list[Mention]] = {}
    for mention in mentions:
        same.setdefault(mention.pages, []).append(mention)
    groups = [sorted(group, key=lambda m: (m.start,)) for group in same.values()]
    groups.sort(key=lambda g: max(map(_strength, g)), reverse=True)
    return groups[:MOST_NAMES]


def _strength(mention: Mention) -> tuple[bool, int]:
    return mention.whole and mention.proper, mention.end - mention.start
