"""A chat model behind an OpenAI-compatible endpoint as an agent: it asks for tools until it answers.

Models that were trained for it name tools in the reply's `tool_calls`. Others write a line: `SEARCH: words`,
`ASK: question`, `ACT: action {"key": "value"}` or `ANSWER: text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from whichone.agents.toolbox import OutOfBudget, Toolbox
from whichone.chat.endpoint import Endpoint
from whichone.chat.prompt import passages_text
from whichone.errors import BadInput
from whichone.protocols import ToolCall
from whichone.records import Answer, Passage, Question

SYSTEM = (
    "You answer questions about people and things that may share a name with others. Search before you "
    "answer. If it stays unclear which one is meant, ask the user. Answer in one short sentence."
)
LINES = (
    " Write one line a turn and nothing else: SEARCH: words to search for, or ASK: a question to the user, "
    "or ANSWER: your answer."
)
_LINE = re.compile(r"^\s*(SEARCH|ASK|ACT|ANSWER)\s*:\s*(.*)", re.I | re.M)


def _function(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {
        key: {"type": "string", "description": meaning} for key, meaning in parameters.items()
    }
    shape = {"type": "object", "properties": properties, "required": list(parameters)}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": shape},
    }


TOOLS = (
    _function("search", "Find passages.", text="What to search for."),
    _function("ask_user", "Ask the user which one is meant.", text="The question."),
)
ACT = _function(
    "act", "Do something to a record.", action="What to do.", id="The id of the record it is for."
)


class ToolCallingAgent:
    """Asks the model, uses the tools it names, and goes on until it answers or the budget is spent."""

    def __init__(
        self,
        model: Endpoint,
        *,
        style: Literal["tools", "lines"] = "tools",
        k: int = 3,
        max_tokens: int = 200,
        name: str | None = None,
    ) -> None:
        self._model = model
        self._style = style
        self._k = k
        self._max_tokens = max_tokens
        self.name = name or model.options.model.rstrip("/").rpartition("/")[2]

    def describe(self) -> dict[str, Any]:
        described = {"agent": "tool calling", "style": self._style, "k": self._k}
        return {**described, **self._model.describe(), "max_tokens": self._max_tokens}

    def work(self, question: Question, tools: Toolbox) -> Answer:
        system = SYSTEM if self._style == "tools" else SYSTEM + LINES
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": question.text},
        ]
        shown: dict[str, Passage] = {}
        for _ in range(2 * tools.budget + 1):  # calls that make no sense cost turns, not budget
            reply = self._model.complete(
                messages,
                max_tokens=self._max_tokens,
                tools=self._offered(tools) if self._style == "tools" else (),
            )
            calls = reply.tool_calls or _lines(reply.text)
            if not calls:
                return self._answer(question, _said(reply.text), shown)
            messages.append(_asked_for(reply.text, reply.tool_calls))
            try:
                for call in calls:
                    result = self._use(call, tools, shown)
                    messages.append(_result(call, result, bool(reply.tool_calls)))
            except OutOfBudget:
                return self._answer(question, _said(reply.text), shown)
        return self._answer(question, None, shown)

    def _offered(self, tools: Toolbox) -> Sequence[dict[str, Any]]:
        return (*TOOLS, ACT) if tools.can_act else TOOLS

    def _use(self, call: ToolCall, tools: Toolbox, shown: dict[str, Passage]) -> str:
        """What the tool gives, in words; a call that makes no sense costs the model a turn."""
        try:
            given = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
            if call.name == "search":
                passages = tools.search(str(given["text"]), self._k)
                shown |= {p.id: p for p in passages}
                return passages_text(passages) or "Nothing is found."
            if call.name == "ask_user":
                return tools.ask_user(str(given["text"]))
            if call.name == "act":
                return tools.act(str(given.pop("action")), **given)
        except (KeyError, msgspec.DecodeError, msgspec.ValidationError, BadInput) as error:
            return f"This call is not possible: {error}"
        return f"There is no tool {call.name}."

    def _answer(self, question: Question, text: str | None, shown: dict[str, Passage]) -> Answer:
        return Answer(question=question.id, text=text, passages=tuple(shown))


def _lines(text: str) -> tuple[ToolCall, ...]:
    """The tool that the first such line asks for; an answer asks for none."""
    match = _LINE.search(text)
    if match is None or match[1].upper() == "ANSWER":
        return ()
    word, rest = match[1].upper(), match[2].strip()
    if word == "ACT":
        action, brace, arguments = rest.partition("{")
        try:
            given = msgspec.json.decode(brace + arguments or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, msgspec.ValidationError):
            given = {}
        arguments = {"action": action.strip(), **given}
        return (ToolCall(id="line", name="act", arguments=msgspec.json.encode(arguments).decode()),)
    name = "search" if word == "SEARCH" else "ask_user"
    return (ToolCall(id="line", name=name, arguments=msgspec.json.encode({"text": rest}).decode()),)


def _said(text: str) -> str | None:
    """The answer in a reply: what follows ANSWER, else all of it; None where nothing is said."""
    match = next((m for m in _LINE.finditer(text) if m[1].upper() == "ANSWER"), None)
    said = (match[2] if match else "" if _LINE.search(text) else text).strip()
    return said or None


def _asked_for(text: str, calls: Iterable[ToolCall]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    wanted = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]
    return {**message, "tool_calls": wanted} if wanted else message


def _result(call: ToolCall, result: str, by_tool: bool) -> dict[str, Any]:
    if by_tool:
        return {"role": "tool", "tool_call_id": call.id, "content": result}
    return {"role": "user", "content": result}
