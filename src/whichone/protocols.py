"""The seams: what a retriever, a reader, an agent and a chat model must be able to do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from whichone.records import Answer, Passage, Question, Ranking, ReadingTask


@runtime_checkable
class Retriever(Protocol):
    """Questions in, rankings out, in the order of the questions, at most `k` passages each."""

    def search(self, questions: Sequence[Question], k: int) -> Iterable[Ranking]: ...


@runtime_checkable
class Reader(Protocol):
    """Questions with the passages shown in, answers out, in the order of the tasks.

    A reader that can do some tasks only has them in an attribute `tasks`, such as ("qa", "sf"), and is
    asked no others.
    """

    def read(self, tasks: Sequence[ReadingTask]) -> Iterable[Answer]: ...


class Tools(Protocol):
    """What an agent may use, as often as it likes within a budget of calls."""

    def search(self, text: str, k: int = 5) -> Sequence[Passage]:
        """Passages for any text, best first."""
        ...

    def ask_user(self, text: str) -> str:
        """The user's reply to a question back; the turn goes on."""
        ...

    def act(self, action: str, **arguments: Any) -> str:
        """Do something, such as send a message, and get the result in words."""
        ...


@runtime_checkable
class Agent(Protocol):
    """A question and tools in, an answer out: it may search several times, ask back, act, refuse."""

    def work(self, question: Question, tools: Tools) -> Answer: ...


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a chat model wants to be used, with arguments as JSON text."""

    id: str
    name: str
    arguments: str = "{}"


class ReadingSetting(Protocol):
    """What a reader may know beforehand of how it will be asked."""

    @property
    def passages(self) -> str:
        """Which passages are shown: "gold", "retrieved", "none" and so on."""
        ...

    @property
    def depth(self) -> int:
        """How many at most."""
        ...


# The note in which a reader reports what an answer took: seconds, prompt_tokens, tokens, cost, cached.
USAGE = "usage"


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat model said; what its endpoint does not tell is None."""

    text: str
    mean_logprob: float | None = None
    prompt_tokens: int | None = None
    tokens: int | None = None
    finish: str | None = None
    cached: bool = False
    tool_calls: tuple[ToolCall, ...] = ()


@runtime_checkable
class ChatModel(Protocol):
    """Messages in, one reply out; raises a `WhichoneError` when no reply can be had.

    A message has a `role` (system, user, assistant) and a `content`.
    """

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        logprobs: bool = False,
    ) -> ChatReply: ...
