"""Training facts that share no token with the test set of their relation.

The paper says tokens of triples, the notes of the release tokens of subjects; neither gives a
tokeniser or a stop-word list, so all three are parameters and are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from whichone.papers.entityquestions.fact import EntityFact
from whichone.papers.entityquestions.sampling import shuffled
from whichone.text.normalisers import decomposed, tokens

MOST = 8000
Scope = Literal["triples", "subjects"]
Tokenise = Callable[[str], Iterable[str]]


def drqa_tokens(text: str) -> list[str]:
    """DrQA's tokens of the decomposed text."""
    return tokens(decomposed(text))


def blank_tokens(text: str) -> list[str]:
    """What is between blanks, lower-cased."""
    return text.lower().split()


TOKENISERS: dict[str, Tokenise] = {"drqa": drqa_tokens, "blanks": blank_tokens}


class DisjointTrain(msgspec.Struct, frozen=True):
    """The facts, and how many candidates shared a token with the test set."""

    facts: list[EntityFact]
    candidates: int
    sharing: int


def fact_tokens(
    fact: EntityFact, scope: Scope, tokenise: Tokenise, stop_words: frozenset[str]
) -> set[str]:
    """Tokens of the subject's name and, for triples, of the objects' labels; no stop words."""
    texts = [fact.name]
    if scope == "triples":
        texts += [o.label for o in fact.objects]
    return {token for text in texts for token in tokenise(text)} - stop_words


def disjoint_train(
    candidates: Sequence[EntityFact],
    test: Sequence[EntityFact],
    *,
    scope: Scope = "triples",
    tokenise: Tokenise = drqa_tokens,
    stop_words: frozenset[str] = frozenset(),
    most: int = MOST,
    seed: int = 0,
) -> DisjointTrain:
    """At most `most` candidates, drawn at random from those without a token of the test set."""
    taken: set[str] = set()
    for fact in test:
        taken |= fact_tokens(fact, scope, tokenise, stop_words)
    free = [
        fact
        for fact in candidates
        if taken.isdisjoint(fact_tokens(fact, scope, tokenise, stop_words))
    ]
    drawn = shuffled(free, lambda fact: fact.key, seed, "train")[:most]
    return DisjointTrain(drawn, len(candidates), len(candidates) - len(free))
