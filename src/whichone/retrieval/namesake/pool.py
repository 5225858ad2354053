"""Which pages a question may be about: the bearers of its names, and what ordinary retrieval likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from whichone.records import grouped
from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.lexical import RowSelection
from whichone.retrieval.namesake.question_names import Mention, PageNames, remainder
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import NamesakeParameters

if TYPE_CHECKING:
    from whichone.retrieval.namesake.evidence import Evidence

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_NAMES = 32  # Of a question that contains more names than this, the longest count
# Of the pages that have a name, so many are weighed: those that ordinary retrieval likes best.
MOST_PAGES = 192
# Among so many of the best pages of ordinary retrieval, those without a name of the question are weighed too.
MOST_OTHERS = 24
MOST_MAPPED = 64  # Of a name that more pages have, none is taken for a page that only lists them
MOST_FORMS = 64  # So many pages that have a name in another form are weighed


@dataclass(frozen=True)
class Group:
    """Mentions of one name in a question, and the pages that have it; "" or how their own form differs."""

    mentions: Sequence[Mention]
    pages: Mapping[int, str]

    @property
    def mention(self) -> Mention:
        return self.mentions[0]


@dataclass(frozen=True)
class Pool:
    """The pages that are weighed; all mappings are by page, and scores are those of a page's best passage."""

    groups: Sequence[Group]
    others: Sequence[int]  # Pages of the best ordinary results that bear no name of the question
    bm25: Mapping[int, float]
    level: Mapping[int, float]  # BM25 where what the name itself scores is made the same for all its bearers
    dense: Mapping[int, float]
    ranks: Mapping[int, int]  # The place of a page among those of ordinary retrieval, from 0
    passages: Mapping[int, int]  # Each page's best passage
    ordinary: Sequence[int]  # Passages by ordinary retrieval, best first


class Pooler:
    """Gathers the bearers of a question's names beside what ordinary retrieval finds."""

    def __init__(
        self, index: Index, names: PageNames, dense: Dense | None, parameters: NamesakeParameters
    ) -> None:
        self._index = index
        self._names = names
        self._pages = index.pages
        self._dense = dense
        self._most = parameters.pool

    def by_closeness(self, vectors: Vectors | None) -> list[list[int]] | None:
        """For each question of a block the closest passages, where the corpus is encoded."""
        if self._dense is None or vectors is None:
            return None
        return self._dense.best(vectors, 2 * self._most)[0].tolist()

    def pool(
        self,
        text: str,
        mentions: Sequence[Mention],
        selection: RowSelection,
        vector: Vectors | None = None,
        close: Sequence[int] = (),
        k: int = 0,
    ) -> Pool:
        """Every bearer, and the pages of the best ordinary results, of which there are at least k."""
        considered = 2 * self._most
        ordinary = self._index.lexical.best(text, max(considered, k), selection)[0].tolist()
        ranked = list(dict.fromkeys(self._pages.of_passages([*ordinary[:considered], *close]).tolist()))
        groups = self._groups(text, mentions, selection)
        named = {page for group in groups for page in group.pages}
        others = [page for page in ranked[:MOST_OTHERS] if page not in named]
        rows = self._pages.rows([*named, *others])
        rows = rows if selection.everything else rows[selection.keeps(rows)]
        plain = self._index.lexical.of(text, rows)
        level = self._level(text, groups, rows, plain)
        close_by = self._closeness(vector, rows)
        owners = self._pages.of_passages(rows)
        first = np.flatnonzero(np.diff(owners, prepend=-1)) if len(rows) else np.zeros(0, np.int64)
        pages = owners[first].tolist()
        best = [
            np.maximum.reduceat(values, first).tolist() if len(rows) else []
            for values in (plain, level, close_by)
        ]
        bm25, levels, closest = (dict(zip(pages, own, strict=True)) for own in best)
        return Pool(
            groups=groups,
            others=others,
            bm25=bm25,
            level=levels,
            dense=closest if self._dense is not None else {},
            ranks={page: n for n, page in enumerate(ranked)},
            passages=self._best_passages(pages, first, rows, level + close_by),
            ordinary=ordinary,
        )

    def _best_passages(self, pages: Sequence[int], first: Ints, rows: Ints, scores: Floats) -> dict[int, int]:
        ends = [*first[1:].tolist(), len(rows)]
        best = (
            start + int(scores[start:end].argmax()) if end - start > 1 else start
            for start, end in zip(first.tolist(), ends, strict=False)
        )
        return {page: int(rows[at]) for page, at in zip(pages, best, strict=True)}

    def _groups(self, text: str, mentions: Sequence[Mention], selection: RowSelection) -> list[Group]:
        """Names with their bearers, the strongest first; a page belongs to the strongest name that it has."""
        groups: list[Group] = []
        taken: set[int] = set()
        maps: set[int] = set()
        for same in by_name(mentions):
            mention = same[0]
            pages = dict.fromkeys((p for p in mention.pages if p not in taken), "")
            other: dict[int, str] = {}
            if mention.whole and mention.proper:
                other = {
                    page: how
                    for page, how in self._names.other_forms(mention.name).items()
                    if page not in pages and page not in taken
                }
                likely = self.likeliest(text, list(other), MOST_FORMS)
                # only people, as far as is known, have longer and shorter first names
                other = {
                    page: other[page]
                    for page in likely
                    if other[page] not in ("longer", "nickname")
                    or not (kinds := self._pages.kinds(page))
                    or "person" in kinds
                }
            for page in (*mention.pages, *other) if len(mention.pages) <= MOST_MAPPED else ():
                if self._pages.lists_bearers(page):  # a map to bearers, no bearer
                    listed = self._names.listed(self._pages.texts(page))
                    other |= {p: "respelt" for p in listed if p not in pages and p not in taken}
                    maps.add(page)
            pages |= {page: other[page] for page in self._index.kept_pages(list(other), selection)}
            if not maps.issuperset(pages):
                pages = {page: how for page, how in pages.items() if page not in maps}
            if pages:
                taken |= pages.keys()
                groups.append(Group(same, pages))
        return groups

    def likeliest(self, text: str, pages: Sequence[int], most: int) -> list[int]:
        """Of very many pages those that ordinary retrieval likes best."""
        if len(pages) <= most:
            return list(pages)
        rows = self._pages.rows(pages)
        best = rows[np.argsort(-self._index.lexical.of(text, rows), kind="stable")]
        return list(dict.fromkeys(self._pages.of_passages(best[: 4 * most]).tolist()))[:most]

    def _level(self, text: str, groups: Sequence[Group], rows: Ints, plain: Floats) -> Floats:
        """BM25 of passages; what the name itself scores is made the same for all its bearers.

        How often a page repeats its own name, and how long it is, says nothing on which bearer is
        meant, so each bearer gets what the name scores on the bearer where it scores most.
        """
        lexical = self._index.lexical
        scores = plain.copy()
        for group in groups:
            own = self._pages.rows(list(group.pages))
            at = np.searchsorted(rows, own)
            at[at == len(rows)] = 0
            here = rows[at] == own if len(rows) else np.zeros(0, np.bool_)
            own, at = own[here], at[here]
            if len(own):
                rest = lexical.of(" ".join(remainder(text, group.mentions)), own)
                name = max(float((plain[at] - rest).max()), lexical.worth(group.mention.name))
                scores[at] = np.maximum(scores[at], rest + name)
        return scores

    def _closeness(self, vector: Vectors | None, rows: Ints) -> Floats:
        if self._dense is None or vector is None or not len(rows):
            return np.zeros(len(rows))
        close: Floats = (self._dense.vectors(rows) @ vector).astype(np.float64)
        return np.asarray(close - close.max(), np.float64)


def by_name(mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Mentions of the same pages together, those written as names first; the longest names only."""
    same = grouped((mention.pages, mention) for mention in mentions)
    groups = [sorted(group, key=lambda m: (m.start,)) for group in same.values()]
    groups.sort(key=lambda g: max((m.whole and m.proper, m.end - m.start) for m in g), reverse=True)
    return groups[:MOST_NAMES]


def with_shared(own: list[Evidence], every: Sequence[Sequence[Evidence]], mention: Mention) -> list[Evidence]:
    """A name's bearers; those too that were weighed for another name, where a page has two names of the question and one is left."""
    if len(own) > 1 or len(mention.pages) < 2:
        return own
    more = (e for other in every for e in other if e not in own and {*e.pages} & {*mention.pages})
    return sorted([*own, *more], key=lambda e: ("unread" in e.values, -e.score, e.page))


def best_by_page(owners: Sequence[int], scores: Any) -> dict[int, float]:
    """Each page's best passage."""
    best: dict[int, float] = {}
    for page, score in zip(owners, np.asarray(scores).tolist(), strict=True):
        best[page] = max(best.get(page, 0.0), score)
    return best
