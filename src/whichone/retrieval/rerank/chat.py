"""Orders passages by asking a chat model for a permutation, in windows from the end to the start.

The way of Sun et al. (2023), "Is ChatGPT Good at Search?": the model sees numbered passages and names
the numbers in order of relevance; windows overlap so that a good passage can rise to the top.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from whichone.protocols import ChatModel
from whichone.records import Passage

WINDOW = 20
STEP = 10
CHARACTERS = 1_200
_NUMBER = re.compile(r"\d+")


class ChatOrder:
    """Re-orders with any chat model."""

    def __init__(
        self,
        model: ChatModel,
        *,
        window: int = WINDOW,
        step: int = STEP,
        characters: int = CHARACTERS,
    ) -> None:
        self._model = model
        self._window = window
        self._step = step
        self._characters = characters

    def describe(self) -> dict[str, Any]:
        describe = getattr(self._model, "describe", None)
        description = describe() if describe else {"model": type(self._model).__name__}
        return {"by": "chat model", **description, **self._shape()}

    def close(self) -> None:
        close = getattr(self._model, "close", None)
        if close is not None:
            close()

    def _shape(self) -> dict[str, int]:
        return {"window": self._window, "step": self._step, "characters": self._characters}

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        """Places of the passages best first; scores are one over the rank."""
        places = list(range(len(passages)))
        unread = 0
        start = max(0, len(places) - self._window)
        while places:
            window = places[start : start + self._window]
            reply = self._model.complete(
                messages(question, [passages[n] for n in window], self._characters),
                max_tokens=6 * len(window) + 20,
            )
            named = permutation(reply.text or "", len(window))
            unread += not named
            kept = [n for n in range(len(window)) if n not in set(named)]
            places[start : start + self._window] = [window[n] for n in named + kept]
            if start == 0:
                break
            start = max(0, start - self._step)
        scores = [1.0 / rank for rank in range(1, len(places) + 1)]
        return places, scores, {"unread_replies": unread} if unread else {}


def messages(
    question: str, passages: Sequence[Passage], characters: int = CHARACTERS
) -> list[dict[str, str]]:
    shown = "\n\n".join(
        f"[{n}] {passage.title}: {passage.text[:characters]}"
        for n, passage in enumerate(passages, 1)
    )
    return [
        {
            "role": "system",
            "content": "You order passages by how well they answer a question. Several may be about"
            " different things of the same name: only the one that is meant is relevant.",
        },
        {
            "role": "user",
            "content": f"Question: {question}\n\n{shown}\n\nName all passages from the most to the least"
            " relevant, as [2] > [1] > [3]. Reply with the numbers only.",
        },
    ]


def permutation(reply: str, size: int) -> list[int]:
    """The places that a reply names, from 0, each once, others than 1 to `size` passed over."""
    named = (int(number) - 1 for number in _NUMBER.findall(reply))
    return list(dict.fromkeys(n for n in named if 0 <= n < size))
