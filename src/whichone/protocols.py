"""The seams: what a retriever, a reader and a chat model must be able to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from whichone.records import Answer, Question, Ranking, ReadingTask


@runtime_checkable
class Retriever(Protocol):
    """Questions in, rankings out, in the order of the questions, at most `k` passages each."""

    def search(self, questions: Sequence[Question], k: int) -> Iterable[Ranking]: ...


@runtime_checkable
class Reader(Protocol):
    """Questions with the passages shown in, answers out, in the order of the tasks."""

    def read(self, tasks: Sequence[ReadingTask]) -> Iterable[Answer]: ...


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat model said; what its endpoint does not tell is None."""

    text: str
    mean_logprob: float | None = None
    prompt_tokens: int | None = None
    tokens: int | None = None
    finish: str | None = None
    cached: bool = False


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
