"""inspect_ai solvers as agents: each question is one sample, with whichone's tools."""

import tempfile
from collections.abc import Callable
from typing import Any

from whichone.agents.toolbox import OutOfBudget, Toolbox
from whichone.chat.prompt import passages_text
from whichone.errors import BadInput, needs
from whichone.records import Answer, Question


class InspectAgent:
    """`make(tools)` gives a solver, such as `lambda tools: react(tools=tools)`; `model` is inspect's."""

    def __init__(
        self, make: Callable[[list[Any]], Any], model: Any, *, k: int = 5, name: str | None = None
    ) -> None:
        self._make = self.own_code = make
        self._model, self._k = model, k
        self.name = name or getattr(make, "__qualname__", "inspect_ai")

    def describe(self) -> dict[str, Any]:
        return {"agent": "inspect_ai", "made by": self.name, "k": self._k, "model": str(self._model)}

    def work(self, question: Question, tools: Toolbox) -> Answer:
        with needs("inspect_ai"):
            import inspect_ai
            from inspect_ai.dataset import Sample
        task = inspect_ai.Task(
            dataset=[Sample(input=question.text, id=question.id)],
            solver=self._make(inspect_tools(tools, self._k)),
            name="whichone",
        )
        with tempfile.TemporaryDirectory() as logs:  # samples are read from the log when asked for
            (log,) = inspect_ai.eval(
                task, model=self._model, display="none", log_dir=logs, fail_on_error=False
            )
            said = self._said(question, log, tools)
        ids = dict.fromkeys(p for call in tools.trace.of("search") for p in call.passages)
        return Answer(question=question.id, text=said or None, passages=tuple(ids))

    def _said(self, question: Question, log: Any, tools: Toolbox) -> str:
        """What the solver said; nothing where it ran out of budget."""
        if log.status != "success" or not log.samples:
            reason = getattr(log.error, "message", None) or log.status
            raise BadInput(f"inspect_ai: {reason}", ids=[question.id])
        (sample,) = log.samples
        if sample.error is not None and tools.left > 0:
            raise BadInput(f"inspect_ai: {sample.error.message}", ids=[question.id])
        return "" if sample.error is not None else str(sample.output.completion).strip()


def inspect_tools(tools: Toolbox, k: int = 5) -> list[Any]:
    from inspect_ai.tool import tool

    @tool  # type: ignore[untyped-decorator]
    def search() -> Any:
        async def execute(text: str) -> str:
            """Find passages.

            Args:
                text: What to search for.
            """
            return passages_text(tools.search(text, k), ids=tools.can_act) or "Nothing is found."

        return execute

    @tool  # type: ignore[untyped-decorator]
    def ask_user() -> Any:
        async def execute(text: str) -> str:
            """Ask the user which one is meant.

            Args:
                text: The question.
            """
            return tools.ask_user(text)

        return execute

    @tool  # type: ignore[untyped-decorator]
    def act() -> Any:
        async def execute(action: str, id: str, arguments: dict[str, str] | None = None) -> str:
            """Do something to a record.

            Args:
                action: What to do.
                id: The id of the record.
                arguments: What else the action is told, by name.
            """
            return tools.act(action, **{**(arguments or {}), "id": id})

        return execute

    return [search(), ask_user(), *([act()] if tools.can_act else [])]


# LangChain and LangGraph agents: anything with `invoke({"messages": [...]})`, made with whichone's tools.


class LangChainAgent:
    """`make(tools)` gives the agent, such as `lambda tools: create_agent(model, tools)`.

    The tools are LangChain's: `search`, `ask_user`, and `act` where there is something to act on. A
    question's answer is the last message; the passages that were found are those it rests on.
    """

    def __init__(self, make: Callable[[list[Any]], Any], *, k: int = 5, name: str | None = None) -> None:
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
    with needs("langchain-core"):
        from langchain_core.tools import StructuredTool

    def search(text: str) -> str:
        """Find passages about a text."""
        return passages_text(tools.search(text, k), ids=tools.can_act) or "Nothing is found."

    def ask_user(text: str) -> str:
        """Ask the user which one is meant."""
        return tools.ask_user(text)

    def act(action: str, id: str, arguments: dict[str, str] | None = None) -> str:
        """Do something to the record with this id; `arguments` is what else the action is told."""
        return tools.act(action, **{**(arguments or {}), "id": id})

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
