"""Seed pairs: two passages about two bearers of a name that say similar things in other words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from whichone.papers.ambigdocs.records import Document


class SeedRules(msgspec.Struct, frozen=True):
    """The paper's numbers (section 3.2 and the released program)."""

    least_bearers: int = 2
    most_bearers: int = 10
    most_passages: int = 20
    most_jaccard: float = 0.4
    least_ngram: int = 4
    most_ngram: int = 9
    drop_last_passage: bool = True


SEED_RULES = SeedRules()


class SeedPair(NamedTuple):
    """Two passages of two bearers; `places` are their numbers among their titles' passages."""

    name: str
    first: Document
    second: Document
    places: tuple[int, int]
    shared_words: int


def words(text: str) -> list[str]:
    return text.lower().split()


def word_jaccard(first: Sequence[str], second: Sequence[str]) -> float:
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 0.0


def similar_words(first: Sequence[str], second: Sequence[str], most_jaccard: float) -> bool:
    """Alike, but not too much: some word in common, and no more than the allowed share."""
    return 0.0 < word_jaccard(first, second) <= most_jaccard


def longest_shared_ngram(first: Sequence[str], second: Sequence[str]) -> int:
    """Length in words of the longest run of words that both hold."""
    best = 0
    previous: dict[int, int] = {}
    places: dict[str, list[int]] = {}
    for j, word in enumerate(second):
        places.setdefault(word, []).append(j)
    for word in first:
        current = {j: previous.get(j - 1, 0) + 1 for j in places.get(word, ())}
        best = max(best, max(current.values(), default=0))
        previous = current
    return best


def passages_by_title(
    passages: Iterable[Document], titles: frozenset[str], rules: SeedRules = SEED_RULES
) -> dict[str, list[Document]]:
    """The usable passages of each wanted title, in their order.

    The released program forgets the last passage of every title, so that titles of one passage
    have none; `drop_last_passage` keeps that.
    """
    documents: dict[str, list[Document]] = {}
    for passage in passages:
        if passage.title in titles:
            documents.setdefault(passage.title, []).append(passage)
    end = -1 if rules.drop_last_passage else None
    return {t: texts[:end] for t, texts in documents.items() if len(texts) <= rules.most_passages}


class _Text(NamedTuple):
    """A passage's words, and its runs of the least length: no common run, no common n-gram."""

    words: list[str]
    runs: frozenset[tuple[str, ...]]


def _text(passage: Document, least: int) -> _Text:
    tokens = words(passage.text)
    runs = (tuple(tokens[i : i + least]) for i in range(len(tokens) - least + 1))
    return _Text(tokens, frozenset(runs))


def seed_pair(
    name: str,
    titles: Sequence[str],
    passages: Mapping[str, Sequence[Document]],
    rules: SeedRules = SEED_RULES,
) -> SeedPair | None:
    """The pair with the longest shared run of words within the limits; the first found wins ties."""
    best: SeedPair | None = None
    texts = [[_text(p, rules.least_ngram) for p in passages.get(t, ())] for t in titles]
    for firsts, other in itertools.combinations(range(len(titles)), 2):
        for (i, a), (j, b) in itertools.product(enumerate(texts[firsts]), enumerate(texts[other])):
            if a.runs.isdisjoint(b.runs):
                continue
            shared = shared_words(a.words, b.words, rules)
            if shared > (best.shared_words if best else 0):
                first, second = passages[titles[firsts]][i], passages[titles[other]][j]
                best = SeedPair(name, first, second, (i, j), shared)
    return best


def shared_words(first: Sequence[str], second: Sequence[str], rules: SeedRules) -> int:
    """The words shared by two acceptable passages; 0 where they are too alike or too different."""
    if not similar_words(first, second, rules.most_jaccard):
        return 0
    shared = longest_shared_ngram(first, second)
    return shared if rules.least_ngram <= shared <= rules.most_ngram else 0


def seed_pairs(
    disambiguation: Mapping[str, Sequence[str]],
    passages: Mapping[str, Sequence[Document]],
    rules: SeedRules = SEED_RULES,
) -> list[SeedPair]:
    """One pair for every name that has one."""
    pairs = []
    for name, titles in disambiguation.items():
        if rules.least_bearers <= len(titles) <= rules.most_bearers:
            pair = seed_pair(name, titles, passages, rules)
            if pair is not None:
                pairs.append(pair)
    return pairs
