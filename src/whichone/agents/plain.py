"""A function of the user's as an agent, and plain agents to measure others against: guess, ask, doubt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from whichone.agents.toolbox import OutOfBudget
from whichone.errors import UsageError
from whichone.protocols import Tools
from whichone.reading.llm import answer_of
from whichone.records import Answer, Passage, Question


class FunctionAgent:
    """Calls `work(text, tools)`; running out of budget without an answer is a refusal."""

    def __init__(self, work: Callable[..., Any], *, name: str | None = None) -> None:
        if not callable(work):
            raise UsageError(f"an agent is a function or has a work method, not {work!r}")
        self._work = self.own_code = work
        self.name = name or getattr(work, "__qualname__", type(work).__name__)

    def describe(self) -> dict[str, Any]:
        module = getattr(self._work, "__module__", "")
        return {"agent": "function", "function": f"{module}:{self.name}"}

    def work(self, question: Question, tools: Tools) -> Answer:
        try:
            given = self._work(question.text, tools)
        except OutOfBudget:
            return Answer(question=question.id, notes={"reason": "out of budget"})
        return answer_of(question.id, given)


Policy = Literal["guess", "ask", "doubt"]


class PlainAgent:
    """Searches, and takes the first passage for the right one: answers with its text, or acts on its page.

    `guess` never asks, `ask` always does and searches again with the reply, `doubt` asks when the first two
    passages have the same title: two bearers of one name.
    """

    def __init__(self, policy: Policy = "guess", *, action: str | None = None) -> None:
        self.policy = policy
        self.action = action
        self.name = f"always {policy}" if policy != "doubt" else "ask in doubt"

    def describe(self) -> dict[str, Any]:
        return {"agent": "plain", "policy": self.policy, "action": self.action}

    def work(self, question: Question, tools: Tools) -> Answer:
        passages = tools.search(question.text, 5)
        if self.policy == "ask" or (self.policy == "doubt" and _in_doubt(passages)):
            reply = tools.ask_user("Which one do you mean?")
            passages = tools.search(f"{question.text} {reply}", 5)
        if not passages:
            return Answer(question=question.id)
        first = passages[0]
        if question.task == "act":
            said = tools.act(self.action or "do", id=first.page)
            return Answer(question=question.id, text=said, passages=(first.id,))
        return Answer(question=question.id, text=first.text, passages=(first.id,))


def _in_doubt(value: Any) -> bool:
    titles = [p.title for p in value[:2] if isinstance(p, Passage)]
    return len(titles) == 2 and titles[0] == titles[1]
