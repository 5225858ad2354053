"""A plain function as a retriever: one text or a list in, ids or (id, score) pairs out."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whichone.errors import BadInput, UsageError
from whichone.records import Question, Ranking

Search = Callable[..., Any]


class FunctionRetriever:
    """Calls `search(text, k)`, or `search(texts, k)` when the function takes many at once.

    It takes many when `batched` says so or when its first parameter is annotated as a list or
    sequence; `k` is passed when the function has a second parameter.
    """

    def __init__(
        self, search: Search, *, batched: bool | None = None, name: str | None = None
    ) -> None:
        if not callable(search):
            raise UsageError(f"a retriever is a function or has a search method, not {search!r}")
        self._search = search
        self._batched = _takes_many(search) if batched is None else batched
        self._takes_k = _parameters(search) != 1
        self.name = name or getattr(search, "__qualname__", type(search).__name__)

    def describe(self) -> dict[str, Any]:
        module = getattr(self._search, "__module__", "")
        return {"retriever": "function", "function": f"{module}:{self.name}"}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if not self._batched:
            for question in questions:
                yield ranking(question.id, self._call(question.text, k), k)
            return
        results = list(self._call([q.text for q in questions], k))
        if len(results) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(results)} results came out")
        for question, result in zip(questions, results, strict=True):
            yield ranking(question.id, result, k)

    def _call(self, text: str | list[str], k: int) -> Any:
        return self._search(text, k) if self._takes_k else self._search(text)


def ranking(question: str, result: Any, k: int) -> Ranking:
    """Ids, or (id, score) pairs, or a mapping of id to score, as a ranking."""
    if isinstance(result, dict):
        result = sorted(result.items(), key=lambda pair: -pair[1])
    items = list(result or ())[:k]
    if items and isinstance(items[0], tuple | list):
        return Ranking(
            question=question,
            passages=tuple(str(identity) for identity, _ in items),
            scores=tuple(float(score) for _, score in items),
        )
    return Ranking(question=question, passages=tuple(map(str, items)))


def _parameters(search: Search) -> int:
    try:
        parameters = inspect.signature(search).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in parameters)


def _takes_many(search: Search) -> bool:
    try:
        hints = typing.get_type_hints(search)
        first = next(iter(inspect.signature(search).parameters))
    except (TypeError, ValueError, NameError, StopIteration):
        return False
    hint = hints.get(first)
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and origin is not str and issubclass(origin, Sequence)
