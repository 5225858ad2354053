"""Plain agents to measure others against: one guesses, one always asks, one asks when it is in doubt."""

from __future__ import annotations

from typing import Any, Literal

from whichone.protocols import Tools
from whichone.records import Answer, Passage, Question

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
        found = tools.search(question.text, 5)
        if self.policy == "ask" or (self.policy == "doubt" and _in_doubt(found)):
            reply = tools.ask_user("Which one do you mean?")
            found = tools.search(f"{question.text} {reply}", 5)
        if not found:
            return Answer(question=question.id)
        first = found[0]
        if question.task == "act":
            said = tools.act(self.action or "do", id=first.page)
            return Answer(question=question.id, text=said, passages=(first.id,))
        return Answer(question=question.id, text=first.text, passages=(first.id,))


def _in_doubt(found: Any) -> bool:
    titles = [p.title for p in found[:2] if isinstance(p, Passage)]
    return len(titles) == 2 and titles[0] == titles[1]
