"""A plain function as a reader: question and passages in; a text, nothing, or (text, ids) out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whichone.errors import BadInput, UsageError
from whichone.records import Answer, Ask, ReadingTask, Refuse


class FunctionReader:
    """Calls `answer(question_text, passages)`, or `answer(question_text)` if it takes no passages.

    Passages are whichone's records with id, page, title and text. None and `Refuse()` are a refusal, `Ask(text)` a question back; a
    tuple (text, ids) also says on which passages the answer rests. A function that can do some tasks
    only has them in its attribute `tasks`.
    """

    def __init__(self, answer: Callable[..., Any], *, name: str | None = None) -> None:
        if not callable(answer):
            raise UsageError(f"a reader is a function or has a read method, not {answer!r}")
        self._answer = self.own_code = answer
        self._alone = _parameters(answer) == 1
        inner = answer.func if isinstance(answer, functools.partial) else answer
        self._options = answer.keywords if isinstance(answer, functools.partial) else {}
        self.tasks = getattr(inner, "tasks", None)
        self.name = name or getattr(inner, "__qualname__", type(inner).__name__)
        self._module = getattr(inner, "__module__", "")

    def describe(self) -> dict[str, Any]:
        description = {"reader": "function", "function": f"{self._module}:{self.name}"}
        return {**description, "options": dict(self._options)} if self._options else description

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            text = task.question.text
            given = self._answer(text) if self._alone else self._answer(text, list(task.passages))
            yield answer_of(task.question.id, given)


def answer_of(question: str, given: Any) -> Answer:
    """What a function gave, as an answer."""
    text, ids = given, ()
    if isinstance(given, tuple) and len(given) == 2:
        text, ids = given
    if isinstance(text, Ask | Refuse):
        return _own_word(question, text, ids)
    if not isinstance(text, str | None) or isinstance(ids, str):
        raise BadInput(
            f"an answer is a text, None, Ask, Refuse, or (text, ids), not {given!r:.80}",
            ids=[question],
        )
    return Answer(question=question, text=text, passages=tuple(map(str, ids or ())))


def _own_word(question: str, said: Ask | Refuse, ids: Any) -> Answer:
    """A question back or a refusal in the system's own word."""
    passages = tuple(map(str, ids or ()))
    if isinstance(said, Ask):
        return Answer(question=question, asks=said.text, passages=passages)
    notes = {"reason": said.reason} if said.reason else {}
    return Answer(question=question, passages=passages, notes=notes)


def _parameters(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in parameters)
