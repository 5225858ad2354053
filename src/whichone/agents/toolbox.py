"""The tools of an agent over one question: each call is counted against a budget and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whichone.errors import BadInput, WhichoneError
from whichone.protocols import Retriever
from whichone.records import Call, Passage, Question, Trace

Lookup = Callable[[Sequence[str]], Sequence[Passage]]
User = Callable[[Question, str], str]
Act = Callable[[Question, str, Mapping[str, Any]], str]

NOBODY = "I cannot help you with that."
"""What the user says where nobody is there to ask."""


class OutOfBudget(WhichoneError):
    """The agent wants more calls than it may make; it may still answer."""


class Toolbox:
    """Fills the seam `Tools` for one question; `trace` is what was done with it."""

    def __init__(
        self,
        question: Question,
        retriever: Retriever,
        lookup: Lookup,
        *,
        budget: int = 10,
        user: User | None = None,
        act: Act | None = None,
    ) -> None:
        self.question = question
        self.budget = budget
        self._retriever = retriever
        self._lookup = lookup
        self._user = user
        self._act = act
        self._calls: list[Call] = []

    @property
    def trace(self) -> Trace:
        return Trace(question=self.question.id, calls=tuple(self._calls))

    @property
    def can_act(self) -> bool:
        return self._act is not None

    @property
    def left(self) -> int:
        """How many calls are left."""
        return self.budget - len(self._calls)

    def search(self, text: str, k: int = 5) -> list[Passage]:
        """Passages for any text, best first."""
        self._spend()
        if not isinstance(text, str) or not isinstance(k, int) or k < 1:
            raise BadInput(f"search takes a text and a number from 1, not {text!r:.60} and {k!r}")
        asked = Question(id=self.question.id, text=text, language=self.question.language)
        (ranking,) = self._retriever.search([asked], k)
        passages = list(self._lookup(ranking.passages[:k]))
        ids = tuple(p.id for p in passages)
        self._calls.append(Call(tool="search", input=text, passages=ids))
        return passages

    def ask_user(self, text: str) -> str:
        """The user's reply to a question back; the turn goes on."""
        self._spend()
        reply = self._user(self.question, text) if self._user else NOBODY
        self._calls.append(Call(tool="ask_user", input=text, text=reply))
        return reply

    def act(self, action: str, **arguments: Any) -> str:
        """Do something in the world of the task, and get the result in words."""
        if self._act is None:
            raise BadInput("there is nothing to act on here", ids=[self.question.id])
        self._spend()
        result = self._act(self.question, action, arguments)
        self._calls.append(Call(tool="act", input=action, text=result, arguments=arguments))
        return result

    def _spend(self) -> None:
        if self.left < 1:
            raise OutOfBudget(
                f"all {self.budget} calls are used up",
                where=self.question.id,
                hint="answer with what there is, or give the agent a larger budget",
            )
