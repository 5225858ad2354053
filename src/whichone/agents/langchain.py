"""LangChain and LangGraph agents: anything with `invoke({"messages": [...]})`, made with whichone's tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whichone.agents.toolbox import OutOfBudget, Toolbox
from whichone.chat.prompt import passages_text
from whichone.errors import BadInput, Missing
from whichone.records import Answer, Question


class LangChainAgent:
    """`make(tools)` gives the agent, such as `lambda tools: create_agent(model, tools)`.

    The tools are LangChain's: `search`, `ask_user`, and `act` where there is something to act on. A
    question's answer is the last message; the passages that were found are those it rests on.
    """

    def __init__(
        self, make: Callable[[list[Any]], Any], *, k: int = 5, name: str | None = None
    ) -> None:
        self._make = self.own_code = make
        self._k = k
        self.name = name or getattr(make, "__qualname__", "langchain")

    def describe(self) -> dict[str, Any]:
        return {"agent": "langchain", "made by": self.name, "k": self._k}

    def work(self, question: Question, tools: Toolbox) -> Answer:
        runnable = self._make(langchain_tools(tools, self._k))
        try:
            state = runnable.invoke({"messages": [("user", question.text)]})
        except OutOfBudget:
            return Answer(question=question.id, notes={"reason": "out of budget"})
        ids = dict.fromkeys(p for call in tools.trace.of("search") for p in call.passages)
        return Answer(question=question.id, text=_last_text(state), passages=tuple(ids))


def langchain_tools(tools: Toolbox, k: int = 5) -> list[Any]:
    """whichone's tools as LangChain's."""
    try:
        from langchain_core.tools import StructuredTool
    except ImportError as error:
        raise Missing(
            "the package langchain-core is not installed", hint="pip install langchain-core"
        ) from error

    def search(text: str) -> str:
        """Find passages about a text."""
        return passages_text(tools.search(text, k)) or "Nothing is found."

    def ask_user(text: str) -> str:
        """Ask the user which one is meant."""
        return tools.ask_user(text)

    def act(action: str, id: str) -> str:
        """Do something to the record with this id."""
        return tools.act(action, id=id)

    functions: list[Callable[..., str]] = [search, ask_user, *([act] if tools.can_act else [])]
    return [StructuredTool.from_function(function) for function in functions]


def _last_text(state: Any) -> str | None:
    """The text of the last message of a state, or of a message or a text itself."""
    if isinstance(state, dict) and "messages" in state:
        state = state["messages"][-1] if state["messages"] else None
    elif isinstance(state, dict) and "output" in state:
        state = state["output"]
    content = getattr(state, "content", state)
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    if not isinstance(content, str | None):
        raise BadInput(f"the agent gave {type(state).__name__}, where messages are expected")
    return content.strip() or None if content else None
