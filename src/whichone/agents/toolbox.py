"""The tools of an agent over one question: each call is counted against a budget and kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec

from whichone.chat.endpoint import Endpoint
from whichone.chat.prompt import passages_text
from whichone.errors import BadInput, UsageError, WhichoneError
from whichone.protocols import Agent, Retriever, ToolCall, Tools
from whichone.reading.llm import answer_of
from whichone.records import Answer, Call, Passage, Question, Trace

if TYPE_CHECKING:
    from whichone.retrieval.namesake.asking import PossibleBearer, Resolution

Lookup = Callable[[Sequence[str]], Sequence[Passage]]
User = Callable[[Question, str], str]
Act = Callable[[Question, str, Mapping[str, Any]], str]


class Action(msgspec.Struct, frozen=True):
    """What may be done: how tasks ask for it, with slots, and what may fill each slot but $who."""

    texts: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = {}


NO_RECORD = "There is no record"
NOBODY = "I cannot help you with that."  # What the user says where nobody is there to ask


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
        self.question, self.budget, self._retriever = question, budget, retriever
        self._lookup, self._user, self._act = lookup, user, act
        self._calls: list[Call] = []

    @property
    def trace(self) -> Trace:
        return Trace(question=self.question.id, calls=tuple(self._calls))

    @property
    def can_act(self) -> bool:
        return self._act is not None

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions that are known here, by name; none where the world does not say."""
        return getattr(self._act, "actions", {})

    @property
    def left(self) -> int:
        return self.budget - len(self._calls)

    def search(self, text: str, k: int = 5) -> list[Passage]:
        self._spend()
        if not isinstance(text, str) or not isinstance(k, int) or k < 1:
            raise BadInput(f"search takes a text and a number from 1, not {text!r:.60} and {k!r}")
        asked = Question(id=self.question.id, text=text, language=self.question.language)
        (ranking,) = self._retriever.search([asked], k)
        passages = list(self._lookup(ranking.passages[:k]))
        self._calls.append(Call(tool="search", input=text, passages=tuple(p.id for p in passages)))
        return passages

    def ask_user(self, text: str) -> str:
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


# A function of the user's as an agent, and plain agents to measure others against: guess, ask, doubt.


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
    passages have the same title: two bearers of one name. It does the action whose wording the task resembles
    most, with the arguments that the task says.
    """

    def __init__(self, policy: Policy = "guess", *, action: str | None = None) -> None:
        self.policy, self.action = policy, action
        self.name = f"always {policy}" if policy != "doubt" else "ask in doubt"

    def describe(self) -> dict[str, Any]:
        return {"agent": "plain", "policy": self.policy, "action": self.action}

    def work(self, question: Question, tools: Tools) -> Answer:
        passages = tools.search(question.text, 5)
        same_title = len(passages) > 1 and passages[0].title == passages[1].title
        if self.policy == "ask" or (self.policy == "doubt" and same_title):
            reply = tools.ask_user("Which one do you mean?")
            passages = tools.search(f"{question.text} {reply}", 5)
        if not passages:
            return Answer(question=question.id)
        first = passages[0]
        if question.task == "act":
            action, arguments = _wanted(question.text, getattr(tools, "actions", {}), self.action)
            said = tools.act(action, id=first.page, **arguments)
            return Answer(question=question.id, text=said, passages=(first.id,))
        return Answer(question=question.id, text=first.text, passages=(first.id,))


class Guard(Protocol):
    """What resolves names: a `whichone.Namesake`, or one around a search."""

    def resolve(self, text: str, *, answer: str = "") -> Resolution: ...


class Guarded:
    """An agent that works only once it is known who is meant, and acts on nobody else.

    Where the question says too little the user is asked; where nobody here is meant, nothing is done.
    """

    def __init__(self, agent: Agent, guard: Guard) -> None:
        self._agent, self._guard = agent, guard
        self.name = f"{getattr(agent, 'name', type(agent).__name__)} behind a guard"

    def describe(self) -> dict[str, Any]:
        inner = self._agent.describe() if hasattr(self._agent, "describe") else {}
        return {**inner, "guard": type(self._guard).__name__}

    def work(self, question: Question, tools: Toolbox) -> Answer:
        believed, reply = self._guard.resolve(question.text), ""
        if believed.outcome == "ask":
            reply = tools.ask_user(believed.question or "Which one do you mean?")
            believed = self._guard.resolve(question.text, answer=reply)
        if believed.outcome != "this one" or believed.best is None:
            return Answer(question=question.id, notes={"reason": believed.question or believed.outcome})
        known = msgspec.structs.replace(question, text=f"{question.text} {reply}".strip())
        return self._agent.work(known, cast("Tools", _MeantOnly(tools, believed.best)))


class _MeantOnly:
    """The tools where it is known who is meant: others are neither shown nor acted on."""

    def __init__(self, tools: Toolbox, meant: PossibleBearer) -> None:
        self._tools, self._meant = tools, meant
        self._records = {meant.id}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tools, name)

    def search(self, text: str, k: int = 5) -> list[Passage]:
        said = " ".join([text, self._meant.title, *self._meant.attributes.values()])
        found = self._tools.search(said, max(k, 20))
        meant = [p for p in found if self._meant.id in (p.entity, p.page, p.id, p.source_id)][:k]
        self._records.update(record for p in meant for record in (p.id, p.page))
        return meant

    def act(self, action: str, **arguments: Any) -> str:
        if (record := str(arguments.get("id", ""))) not in self._records:
            return f"Not done: {self._meant.title} ({self._meant.id}) is meant, not {record or 'nobody'}."
        return self._tools.act(action, **arguments)


def _wanted(text: str, actions: Mapping[str, Action], named: str | None) -> tuple[str, dict[str, str]]:
    """The action whose wording has most of its words in a task, and its arguments that the task says."""
    words = set(_WORD.findall(text.casefold()))

    def share(name: str) -> float:
        wordings = (set(_WORD.findall(_SLOT.sub("", t.casefold()))) for t in actions[name].texts)
        return max((len(own & words) / len(own) for own in wordings if own), default=0.0)

    action = named or max(sorted(actions), key=share, default="do")
    options = actions[action].arguments if action in actions else {}
    said = {
        slot: max((v for v in values if v.casefold() in text.casefold()), key=len, default="")
        for slot, values in options.items()
    }
    return action, {slot: value for slot, value in said.items() if value}


# A chat model behind an OpenAI-compatible endpoint as an agent: it asks for tools until it answers.
# Models that were trained for it name tools in the reply's `tool_calls`, small ones write the same JSON into its text.
# Others write a line: `SEARCH: words`, `ASK: question`, `ACT: action {"key": "value"}` or `ANSWER: text`.


SYSTEM = (
    "You answer questions about people and things that may share a name with others. Search before you "
    "answer. If it stays unclear which one is meant, ask the user. Answer in one short sentence."
)
LINES = (
    " Write one line a turn and nothing else: SEARCH: words to search for, or ASK: a question to the user, "
    "or ANSWER: your answer."
)
ACTS = (
    "You do tasks on records of people and things that may share a name with others. Search first. If it stays "
    "unclear which one is meant, ask the user. Then act once, on the record whose id is in brackets, and say so."
)
ACT_LINES = (
    "You carry out a task on one record. Several records may have the same name. You see what was found, each record "
    "with its number in square brackets. The actions are {}. Write one line and nothing else: ACT: the action that the "
    "task asks for, on the record that is meant, or ASK: a question to the user, if several records fit and you cannot "
    "tell which one is meant, or SEARCH: words, if the record is not among those you see, or ANSWER: why it cannot be done."
)
_WORD = re.compile(r"[^\W_]+")
_SLOT = re.compile(r"\$\{?\w+\}?")
_LINE = re.compile(r"^\W*(?:ANSWER\s*:\s*(?=ACT))?(SEARCH|ASK|ACT|ANSWER)\b\W{0,2}:\s*(.*)", re.I | re.M)


def _function(name: str, description: str, required: Sequence[str] = (), **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": meaning} for key, meaning in parameters.items()}
    shape = {"type": "object", "properties": properties, "required": list(required or parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": shape}}


TOOLS = (
    _function("search", "Find passages.", text="What to search for."),
    _function("ask_user", "Ask the user which one is meant.", text="The question."),
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
        self._model, self._style, self._k = model, style, k
        self._max_tokens = max_tokens
        self.name = name or model.options.model.rstrip("/").rpartition("/")[2]

    def describe(self) -> dict[str, Any]:
        described = {"agent": "tool calling", "style": self._style, "k": self._k}
        return {**described, **self._model.describe(), "max_tokens": self._max_tokens}

    def work(self, question: Question, tools: Toolbox) -> Answer:
        shown: dict[str, Passage] = {}
        system, text, after = ACTS if tools.can_act else SYSTEM, question.text, ""
        if self._style == "lines":  # what the question itself finds is there from the start: a round less
            system = ACT_LINES.format(_action_lines(tools.actions)) if tools.can_act else system + LINES
            found = self._use(_line_call("search", {"text": text}), tools, shown)
            after = f"\nThe task: {text}\nYour next line:"
            text = f"{text}\nFound:\n{found}{after}"
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": text},
        ]
        for _ in range(2 * tools.budget + 1):  # calls that make no sense cost turns, not budget
            reply = self._model.complete(
                messages,
                max_tokens=self._max_tokens,
                tools=self._offered(tools) if self._style == "tools" else (),
            )
            line, written = written_calls(reply.text, ("search", "ask_user", "act", *tools.actions))
            calls = reply.tool_calls or written
            asked = _asked_for(reply.text if reply.tool_calls else line, reply.tool_calls)
            if not calls or asked in messages:  # the same once more gives the same once more
                return self._answer(question, _said(reply.text), shown)
            messages.append(asked)
            try:
                for call in calls:
                    result = self._use(call, tools, shown)
                    if after and any(not str(c.text).startswith(NO_RECORD) for c in tools.trace.of("act")):
                        return self._answer(question, result, shown)
                    messages.append(_result(call, result + after, bool(reply.tool_calls)))
            except OutOfBudget:
                return self._answer(question, _said(reply.text), shown)
        return self._answer(question, None, shown)

    def _offered(self, tools: Toolbox) -> Sequence[dict[str, Any]]:
        if not tools.can_act:
            return TOOLS
        named = f" One of: {', '.join(sorted(tools.actions))}." if tools.actions else ""
        options = {
            slot: f"Where the action needs it. One of: {', '.join(values)}."
            for action in tools.actions.values()
            for slot, values in action.arguments.items()
        }
        act = _function(
            "act",
            "Do something to a record.",
            required=("action", "id"),
            action=f"What to do.{named}",
            id="The id of the record it is for.",
            **options,
        )
        return (*TOOLS, act)

    def _use(self, call: ToolCall, tools: Toolbox, shown: dict[str, Passage]) -> str:
        """What the tool gives, in words; a call that makes no sense costs the model a turn."""
        try:
            given = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
            if call.name == "search":
                passages = tools.search(str(given["text"]), self._k)
                shown |= {p.id: p for p in passages}
                if self._style == "lines":  # numbers are copied without mistakes
                    passages = [
                        msgspec.structs.replace(p, id=str([*shown].index(p.id) + 1)) for p in passages
                    ]
                return passages_text(passages, ids=tools.can_act) or "Nothing is found."
            if call.name == "ask_user":
                return tools.ask_user(str(given["text"]))
            if call.name == "act" or call.name in tools.actions:
                action = given.pop("action", None) if call.name == "act" else call.name
                record = str(given.get("id", "")).strip("[] ")
                if self._style == "lines" and record.isdecimal() and 0 < int(record) <= len(shown):
                    record = [*shown][int(record) - 1]
                return tools.act(str(action), **{**given, "id": record})
        except (KeyError, msgspec.DecodeError, msgspec.ValidationError, BadInput) as error:
            return f"This call is not possible: {error}"
        return f"There is no tool {call.name}."

    def _answer(self, question: Question, text: str | None, shown: dict[str, Passage]) -> Answer:
        return Answer(question=question.id, text=text, passages=tuple(shown))


def _action_lines(actions: Mapping[str, Action]) -> str:
    """How a line says what is to be done, for each known action."""
    said = {
        name: {"id": "NUMBER", **{s: v[0] for s, v in a.arguments.items() if v}}
        for name, a in actions.items()
    }
    shown = sorted(said.items()) or [("action", {"id": "NUMBER"})]
    return " or ".join(f"ACT: {name} {msgspec.json.encode(own).decode()}" for name, own in shown)


def written_calls(text: str, known: Collection[str]) -> tuple[str, tuple[ToolCall, ...]]:
    """The first tool that a reply asks for in its text, by a line or as JSON, and the words that do; an answer asks for none."""
    if (match := _LINE.search(text)) is None:
        return text, tuple(call for call in _json_calls(text) if call.name in known)[:1]
    word, rest = match[1].upper(), match[2].strip().strip("`*")
    action, brace, arguments = rest.partition("{")
    given = _object(brace + arguments) if brace else {"id": action.partition(" ")[2]}
    calls = {
        "SEARCH": _line_call("search", {"text": rest}),
        "ASK": _line_call("ask_user", {"text": rest}),
        "ACT": _line_call("act", {**given, "action": action.partition(" ")[0].strip(",:")}),
    }
    return match[0].strip(), (calls[word],) if word in calls else ()


def _json_calls(text: str) -> Iterator[ToolCall]:
    """Calls as models write them that were not asked to: a name, and arguments beside it or under a key."""
    for start in (m.start() for m in re.finditer("{", text)):
        given = _object(text[start:])
        given = inner if isinstance(inner := given.get("function"), dict) else given
        name = next((given.pop(k) for k in ("name", "tool", "function") if k in given), None)
        under = next((given[k] for k in ("arguments", "parameters", "input") if k in given), given)
        own = _object(under) if isinstance(under, str) else under
        if isinstance(name, str) and isinstance(own, dict):
            yield _line_call(name, own)


def _object(text: str) -> dict[str, Any]:
    """The JSON object that a text begins with; an empty one where it begins with none."""
    with suppress(ValueError):
        found = json.JSONDecoder().raw_decode(text)[0]
        return found if isinstance(found, dict) else {}
    return {}


def _line_call(name: str, given: Mapping[str, Any]) -> ToolCall:
    return ToolCall(id="line", name=name, arguments=msgspec.json.encode(given).decode())


def _said(text: str) -> str | None:
    """The answer in a reply: what follows ANSWER, else all of it; None where nothing is said."""
    match = next((m for m in _LINE.finditer(text) if m[1].upper() == "ANSWER"), None)
    said = (match[2] if match else "" if _LINE.search(text) else text).strip()
    return said or None


def _asked_for(text: str, calls: Iterable[ToolCall]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    wanted = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return {**message, "tool_calls": wanted} if wanted else message


def _result(call: ToolCall, result: str, by_tool: bool) -> dict[str, Any]:
    if by_tool:
        return {"role": "tool", "tool_call_id": call.id, "content": result}
    return {"role": "user", "content": result}
