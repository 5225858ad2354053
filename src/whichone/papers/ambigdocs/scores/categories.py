"""The five kinds of answer, recognised by which bearers are answered and which of them are named."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Category(StrEnum):
    COMPLETE = "complete"
    PARTIAL = "partial"
    AMBIGUOUS = "ambiguous"
    MERGED = "merged"
    NO_ANSWER = "no answer"


class Mention(StrEnum):
    """How one bearer's answer appears in the text."""

    PAIRED = "paired"
    UNPAIRED = "unpaired"
    ABSENT = "absent"


class Threshold(msgspec.Struct, frozen=True):
    """How much of a target must be found for it to count as mentioned.

    The paper's moving threshold asks for one token of the target, whatever its length: `tokens=1`.
    `fraction` replaces it by a fixed share; both exist to see how far the categories depend on it.
    """

    tokens: int = 1
    fraction: float | None = None

    def of(self, length: int) -> float:
        if self.fraction is not None:
            return self.fraction
        return min(1.0, self.tokens / length) if length else 1.0


MOVING = Threshold()


def mention(
    answer_recall: float,
    entity_recall: float,
    answer_length: int,
    entity_length: int,
    threshold: Threshold = MOVING,
) -> Mention:
    """Whether an answer is given beside its bearer, given alone, or not given.

    Lengths are numbers of target tokens. Beside a named bearer one token of the answer is enough;
    alone, an answer of at most two tokens needs half of them, a longer one more than the threshold.
    """
    needed = threshold.of(answer_length)
    if entity_recall >= threshold.of(entity_length):
        return Mention.PAIRED if answer_recall >= needed else Mention.ABSENT
    if answer_length <= 2 and answer_recall >= 0.5:
        return Mention.UNPAIRED
    return Mention.UNPAIRED if answer_recall > needed else Mention.ABSENT


def category(mentions: Sequence[Mention]) -> Category:
    """The category of an answer from how it mentions each scored bearer.

    Two answers without their bearers are "merged", as released, although neither is paired.
    """
    paired = mentions.count(Mention.PAIRED)
    unpaired = mentions.count(Mention.UNPAIRED)
    if paired == unpaired == 0:
        return Category.NO_ANSWER
    if paired >= len(mentions):
        return Category.COMPLETE
    if paired == 0 and unpaired == 1:
        return Category.AMBIGUOUS
    if unpaired == 0:
        return Category.PARTIAL
    return Category.MERGED
