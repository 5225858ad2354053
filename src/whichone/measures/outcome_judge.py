"""The outcome of an answer by a chat model's judgement, where rules are not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from whichone.errors import BadInput
from whichone.measures.outcomes import OUTCOMES, Outcome
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
    for known in OUTCOMES:
        if word == known:
            return known
    raise BadInput(f"the judge says {reply.text[:60]!r}, not one of {', '.join(OUTCOMES)}")


def agreement(labels: Sequence[str], found: Sequence[str]) -> tuple[float, float]:
    """The share on which two agree, and Cohen's kappa."""
    if len(labels) != len(found) or not labels:
        raise BadInput(f"{len(labels)} labels and {len(found)} outcomes do not compare")
    n = len(labels)
    same = sum(a == b for a, b in zip(labels, found, strict=True)) / n
    chance = sum(labels.count(o) * found.count(o) for o in set(labels)) / n**2
    return same, 1.0 if chance == 1 else (same - chance) / (1 - chance)
