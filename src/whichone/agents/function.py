"""A plain function as an agent: the question's text and the tools in; a text, Ask, Refuse or (text, ids) out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whichone.agents.toolbox import OutOfBudget
from whichone.errors import UsageError
from whichone.protocols import Tools
from whichone.reading.function import answer_of
from whichone.records import Answer, Question


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
