"""Bearers and ordinary results weighed together: which page is the question about?"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.evidence import Evidence
from whichone.retrieval.namesake.lexical import Selection
from whichone.retrieval.namesake.loose_names import has_other_form, name_words
from whichone.retrieval.namesake.question_names import Mention, names_one_thing, remainder, subject
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import (
    Fit,
    NamesakeParameters,
    logistic,
    resolvable_features,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_NAMES = 32
"""Of a question that contains more names than this, the longest count."""
MOST_PAGES = 256
"""Of the pages that have a name, so many are weighed: those that ordinary retrieval likes best."""


MOST_LONGER = 20
"""Among so many of ordinary retrieval's best pages, longer forms of a name are looked for."""


@dataclass(frozen=True)
class Group:
    """A name of the question and the pages that have it, each with BM25 of the whole question."""

    mention: Mention
    lexical: dict[int, float]
    longer: frozenset[int] = frozenset()
    """Those that have only a longer form of it: "John F. Kennedy" for "John Kennedy"."""


@dataclass(frozen=True)
class Pool:
    """Pages with their scores, best first, and each one's best passage."""

    pages: list[int]
    scores: list[float]
    passages: dict[int, int]
    groups: list[Group]
    ordinary: list[int]
    """Passages by ordinary retrieval, best first."""


class Pooler:
    """Scores the bearers of a question's names beside what ordinary retrieval finds."""

    def __init__(
        self,
        index: Index,
        dense: Dense | None,
        parameters: NamesakeParameters,
        openers: frozenset[str],
    ) -> None:
        self._openers = openers
        self._index = index
        self._pages = index.pages
        self._dense = dense
        self._weights = parameters

    def by_closeness(self, vectors: Vectors | None) -> list[list[int]] | None:
        """For each question of a block the closest passages, where the corpus is encoded."""
        if self._dense is None or vectors is None:
            return None
        rows: list[list[int]] = self._dense.best(vectors, 2 * self._weights.pool)[0].tolist()
        return rows

    def pool(
        self,
        text: str,
        mentions: Sequence[Mention],
        selection: Selection,
        vector: Vectors | None = None,
        close: Sequence[int] = (),
        k: int = 0,
    ) -> Pool:
        """Every bearer, and the pages of the best ordinary results, by score, ties by page.

        Ordinary results are at least k, where there are so many.
        """
        considered = 2 * self._weights.pool
        ordinary = self._index.lexical.best(text, max(considered, k), selection)[0].tolist()
        words = ordinary[:considered]
        near = [*words, *close]
        mentions = [mention for group in by_name(mentions) for mention in group]
        named: dict[int, Mention] = {}
        for mention in mentions:
            for page in mention.pages:
                if page not in named or _strength(mention) > _strength(named[page]):
                    named[page] = mention
        pages = sorted({*named, *self._pages.of_passages(near).tolist()})
        rows = self._pages.rows(pages)
        rows = rows if selection.everything else rows[selection.keeps(rows)]
        likely = list(dict.fromkeys(self._pages.of_passages(words).tolist()))[:MOST_LONGER]
        lexical, groups = self._lexical(text, mentions, rows, likely)
        closeness = self._closeness(vector, rows)
        total = np.zeros(len(rows))
        if len(rows):
            total += self._weights.lexical * lexical / max(float(lexical.max()), 1e-9)
            total += self._weights.dense * closeness
        best: dict[int, tuple[float, int]] = {}
        owner = self._pages.of_passages(rows)
        for row, page, score in zip(rows.tolist(), owner.tolist(), total.tolist(), strict=True):
            if page not in best or score > best[page][0]:
                best[page] = (score, row)
        length = max(len(subject(text)), 1)
        alone = self._weights.alone if names_one_thing(text, mentions, self._openers) else 0.0
        scores = {
            page: score + self._name(named.get(page), length) + alone * (page in named)
            for page, (score, _) in best.items()
        }
        order = sorted(scores, key=lambda page: (-scores[page], page))
        passages = {page: row for page, (_, row) in best.items()}
        return Pool(order, [scores[page] for page in order], passages, groups, ordinary)

    def _name(self, mention: Mention | None, length: int) -> float:
        if mention is None:
            return 0.0
        share = self._weights.share * (mention.end - mention.start) / length
        return share + (self._weights.named if mention.whole and mention.proper else 0.0)

    def _lexical(
        self, text: str, mentions: Sequence[Mention], rows: Ints, likely: Sequence[int]
    ) -> tuple[Floats, list[Group]]:
        """BM25 of passages; what the name itself scores is made the same for all its bearers.

        How often a page repeats its own name, and how long it is, says nothing on which bearer is
        meant, so each bearer gets what the name scores on the bearer where it scores most.
        """
        lexical = self._index.lexical
        plain = lexical.of(text, rows)
        scores = plain.copy()
        groups = []
        for same in by_name(mentions):
            mention = same[0]
            own = self._pages.rows(mention.pages)
            at = np.searchsorted(rows, own)
            at[at == len(rows)] = 0
            here = rows[at] == own if len(rows) else np.zeros(0, np.bool_)
            own, at = own[here], at[here]
            if not len(own):
                continue
            rest = lexical.of(" ".join(remainder(text, same)), own)
            name = max(float((plain[at] - rest).max()), lexical.worth(mention.name))
            scores[at] = np.maximum(scores[at], rest + name)
            whole: dict[int, float] = {}
            pairs = zip(self._pages.of_passages(own).tolist(), plain[at].tolist(), strict=True)
            for page, value in pairs:
                whole[page] = max(whole.get(page, 0.0), value)
            groups.append(self._with_longer(mention, whole, likely, rows, plain))
        return scores, groups

    def _with_longer(
        self,
        mention: Mention,
        lexical: dict[int, float],
        likely: Sequence[int],
        rows: Ints,
        scores: Floats,
    ) -> Group:
        """The bearers, and of the likely pages those of people whose name is a longer form of theirs."""
        words = name_words(mention.name)
        if len(words) < 2 or "," in mention.name or not (mention.whole and mention.proper):
            return Group(mention, lexical)
        longer = {}
        for page in likely:
            if page not in lexical and self._is_like(page, words):
                own = np.isin(rows, self._pages.passages(page))
                longer[page] = float(scores[own].max(initial=0.0))
        return Group(mention, {**lexical, **longer}, frozenset(longer))

    def _is_like(self, page: int, words: Sequence[str]) -> bool:
        """Whether a page is about a person, as far as is known, with another form of a name."""
        title = self._pages.title(page)
        opening = functools.partial(self._pages.opening, page)
        if not has_other_form(title, opening, self._pages.language, words):
            return False
        kinds = self._pages.kinds(page)
        return not kinds or "person" in kinds

    def _closeness(self, vector: Vectors | None, rows: Ints) -> Floats:
        if self._dense is None or vector is None or not len(rows):
            return np.zeros(len(rows))
        close: Floats = (self._dense.vectors(rows) @ vector).astype(np.float64)
        return np.asarray(close - close.max(), np.float64)


def by_name(mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Mentions of the same pages together, those written as names first; the longest names only."""
    same: dict[tuple[int, ...], list[Mention]] = {}
    for mention in mentions:
        same.setdefault(mention.pages, []).append(mention)
    groups = [sorted(group, key=lambda m: (m.start,)) for group in same.values()]
    groups.sort(key=lambda g: max(map(_strength, g)), reverse=True)
    return groups[:MOST_NAMES]


def _strength(mention: Mention) -> tuple[bool, int]:
    return mention.whole and mention.proper, mention.end - mention.start


# What a name in a question means: the bearers, how likely each is, and the question back that would decide.


_PARENTHESES = re.compile(r"\(([^()]*)\)\s*$")
_IS = re.compile(
    r"\b(?:is|was|are|were|ist|war|est|était|es|fue)\s+(?:an?|the|one of the|ein[e]?|der|die|das|une?|le|la|el|un[a]?)\s+"
)
_CLAUSE = re.compile(r"[.;,(]|\b(?:who|which|that|and|known|best|der|die|qui|que)\b")
_SHOWN = 4
_LONGEST = 60


class Candidate(msgspec.Struct, frozen=True):
    """One bearer of the name."""

    id: str
    """The entity, or the page where passages name no entity."""
    title: str
    probability: float
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}


class Resolution(msgspec.Struct, frozen=True):
    """What is believed about a name in a question."""

    text: str
    name: str | None
    bearers: tuple[Candidate, ...] = ()
    resolvable: bool = True
    """Whether the question says enough to know who is meant."""
    confidence: float = 1.0
    """How likely it is that it does."""
    question: str | None = None
    """The shortest question back that would decide; none where nothing is to be asked."""

    @property
    def best(self) -> Candidate | None:
        return self.bearers[0] if self.bearers else None


def resolution(
    text: str, name: str | None, evidence: Sequence[Evidence], index: Index, fit: Fit
) -> Resolution:
    """From weighed bearers; `evidence` is empty where the text has no known name."""
    bearers = tuple(_candidate(bearer, index) for bearer in evidence)
    if len(bearers) < 2:
        return Resolution(text, name, bearers)
    features = resolvable_features([e.values for e in evidence], [e.score for e in evidence])
    enough = logistic(
        sum(fit.resolvable.get(n, 0.0) * v for n, v in features.items())
        + fit.resolvable.get("", 0.0)
    )
    asked = None if enough >= 0.5 else question_back(name or "", bearers)
    return Resolution(text, name, bearers, enough >= 0.5, round(enough, 4), asked)


def _candidate(evidence: Evidence, index: Index) -> Candidate:
    title = index.pages.title(evidence.page)
    known = index.attributes(evidence.page)
    return Candidate(
        evidence.key,
        title,
        round(evidence.probability, 4),
        tuple(evidence.speaks_for),
        tuple(evidence.speaks_against),
        {**known, **_described(title, index.pages.opening(evidence.page))},
    )


def _described(title: str, opening: str) -> dict[str, str]:
    """What a page's own title and opening say that it is, where nothing else is known."""
    described = {}
    inside = _PARENTHESES.search(title)
    if inside is not None and inside[1].strip():
        described["title"] = inside[1].strip()
    match = _IS.search(opening[:300])
    if match is not None:
        phrase = _CLAUSE.split(opening[match.end() : match.end() + 200])[0].strip()
        if 0 < len(phrase) <= _LONGEST:
            described["is"] = phrase
    return described


def question_back(name: str, bearers: Sequence[Candidate]) -> str:
    """Made from the attributes that split the likely bearers best, the shortest of these."""
    likely = list(bearers[:_SHOWN])
    order = splitting(likely)
    if not order:
        titles = dict.fromkeys(b.title or b.id for b in likely)
        if len(titles) < len(likely):
            return f"Which {name} do you mean? {len(bearers)} have this name."
        return f"Which {name}: {_or(list(titles))}?"
    first = order[0]
    values = [b.attributes.get(first, "") for b in likely]
    second = next((a for a in order[1:] if _worth(a, likely)[0] >= len(likely)), None)
    shown = []
    for bearer, value in zip(likely, values, strict=True):
        more = bearer.attributes.get(second, "") if second else ""
        shown.append(f"{value} ({more})" if value and more else value or more or bearer.title)
    rest = " or another" if len(bearers) > len(likely) else ""
    return f"Which {name}: {_or(list(dict.fromkeys(shown)))}{rest}?"


def splitting(bearers: Sequence[Candidate]) -> list[str]:
    """Attributes by how many bearers they tell apart, then by how short their values are."""
    names = dict.fromkeys(name for bearer in bearers for name in bearer.attributes)
    ranked = sorted(names, key=lambda name: (-_worth(name, bearers)[0], _worth(name, bearers)[1]))
    return [name for name in ranked if _worth(name, bearers)[0] > 1]


def _worth(name: str, bearers: Sequence[Candidate]) -> tuple[int, int]:
    values = [bearer.attributes[name] for bearer in bearers if name in bearer.attributes]
    return len({value.casefold() for value in values}), sum(map(len, values))


def _or(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
