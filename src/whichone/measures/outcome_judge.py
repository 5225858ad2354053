"""Judges of outcomes beside the package's rules: a chat model, a function, a word list of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.pools import in_order
from whichone.measures.measure import Answered
from whichone.measures.outcomes import (
    CLAIMS,
    OUTCOMES,
    Outcome,
    accepted_values,
    load_words,
    outcome,
    own_word,
)
from whichone.protocols import ChatReply

INSTRUCTION = (
    "You judge one answer to a question about somebody or something that shares a name with others. Choose "
    "one word. right: it gives an accepted value and no namesake's. several: it gives the accepted value and "
    "a namesake's, and says whose each is. asked: it asks which one is meant. refused: it says that it cannot "
    "answer. namesake: it is about a namesake. wrong: anything else."
)
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"outcome": {"type": "string", "enum": list(OUTCOMES)}},
    "required": ["outcome"],
    "additionalProperties": False,
}


AT_ONCE = 16
"""Calls of a model at the same time."""


@runtime_checkable
class Judge(Protocol):
    """A chat model that can be held to a shape, such as `chat.endpoint.Endpoint`."""

    def complete(
        self, messages: Sequence[Any], *, max_tokens: int, schema: Any = None
    ) -> ChatReply: ...


def judged_outcome(
    model: Judge, question: str, text: str, accepted: Sequence[str], others: Sequence[str] = ()
) -> Outcome:
    """One of the six outcomes; a reply that names none of them is an error."""
    shown = (
        f"Question: {question}\nAccepted: {'; '.join(accepted)}\n"
        f"Right for namesakes: {'; '.join(others) or 'not known'}\nAnswer: {text}"
    )
    messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": shown}]
    reply = model.complete(messages, max_tokens=20, schema=SHAPE)
    try:
        word = str(msgspec.json.decode(reply.text)["outcome"])
    except (msgspec.DecodeError, KeyError, TypeError):
        word = reply.text.strip().strip(".\"'").lower()
    return _known(word, reply.text)


def _known(word: str, said: str) -> Outcome:
    for known in OUTCOMES:
        if word == known:
            return known
    raise BadInput(f"the judge says {said[:60]!r}, not one of {', '.join(OUTCOMES)}")


Judging = Callable[[Sequence[Answered]], list[str | None]]
"""The outcome of each of many answers; None where the rules decide."""


def judging(judge: Any = None, words: str | Path | None = None) -> Judging | None:
    """What decides instead of the rules: a chat model or a function, or rules by one's own word list.

    A function is given the question, the answer, what is accepted and what is right for namesakes, and
    returns one of the six words.
    """
    if judge is not None and words is not None:
        raise UsageError("a judge needs no word list", hint="give the one or the other")
    if words is not None:
        listed = load_words(words)
        return lambda answers: [outcome(a, listed) for a in answers]
    if judge is None:
        return None
    if not isinstance(judge, Judge) and not callable(judge):
        raise UsageError(
            f"a judge is a chat model or a function, not {judge!r:.60}",
            hint="for example Endpoint(EndpointOptions(url=..., model=...)) of whichone.chat.endpoint",
        )
    return lambda answers: list(in_order(lambda a: _judged(judge, a), answers, AT_ONCE))


def _judged(judge: Any, answered: Answered) -> str | None:
    accepted = accepted_values(answered.query)
    if not accepted or own_word(answered) is not None or not (answered.text or "").strip():
        return None
    others = () if answered.query.task == CLAIMS else tuple(answered.other_values)
    shown = (answered.query.input, answered.text or "", accepted, others)
    if isinstance(judge, Judge):
        return judged_outcome(judge, *shown)
    said = judge(*shown)
    return _known(str(said), str(said))


def agreement(labels: Sequence[str], values: Sequence[str]) -> tuple[float, float]:
    """The share on which two agree, and Cohen's kappa."""
    if len(labels) != len(values) or not labels:
        raise BadInput(f"{len(labels)} labels and {len(values)} outcomes do not compare")
    n = len(labels)
    same = sum(a == b for a, b in zip(labels, values, strict=True)) / n
    chance = sum(labels.count(o) * values.count(o) for o in set(labels)) / n**2
    return same, 1.0 if chance == 1 else (same - chance) / (1 - chance)
