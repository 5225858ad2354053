"""A plain function as a retriever: one text or a list in, ids or (id, score) pairs out."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from whichone.errors import BadInput, Missing, UsageError, WhichoneError
from whichone.records import Question, Ranking

Search = Callable[..., Any]
MEND_IT = (
    "fix it and start again: finished blocks are kept; or --on-error skip keeps it as a failure"
)


class FunctionRetriever:
    """Calls `search(text, k)`, or `search(texts, k)` when the function takes many at once.

    It takes many when `batched` says so or when its first parameter is annotated as a list or
    sequence; `k` is passed when the function has a second parameter, or one that is called k.
    """

    def __init__(
        self, search: Search, *, batched: bool | None = None, name: str | None = None
    ) -> None:
        if not callable(search):
            raise UsageError(f"a retriever is a function or has a search method, not {search!r}")
        if inspect.iscoroutinefunction(search):
            raise UsageError(
                f"{search.__qualname__} is async, and its result would never be waited for",
                hint="wrap it: def search(text, k): return asyncio.run(my_search(text, k))",
            )
        self._search = self.own_code = search
        self._batched = _takes_many(search) if batched is None else batched
        self._k = _how_k_is_passed(search)
        inner = search.func if isinstance(search, functools.partial) else search
        self.name = name or getattr(inner, "__qualname__", type(inner).__name__)
        self._options = search.keywords if isinstance(search, functools.partial) else {}
        self._module = getattr(inner, "__module__", "")

    def describe(self) -> dict[str, Any]:
        description = {"retriever": "function", "function": f"{self._module}:{self.name}"}
        return {**description, "options": dict(self._options)} if self._options else description

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if not self._batched:
            for question in questions:
                yield self._one(question, k)
            return
        results = list(self._call([q.text for q in questions], k))
        if len(results) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(results)} results came out")
        for question, result in zip(questions, results, strict=True):
            yield ranking(question.id, result, k)

    def _one(self, question: Question, k: int) -> Ranking:
        """One question's ranking; an error, or an attempt to leave, names the question."""
        try:
            return ranking(question.id, self._call(question.text, k), k)
        except WhichoneError:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"{self.name} failed: {type(error).__name__}: {error}",
                ids=[question.id],
                hint=MEND_IT,
            ) from error

    def _call(self, text: str | list[str], k: int) -> Any:
        if self._k == "name":
            return self._search(text, k=k)
        return self._search(text, k) if self._k == "place" else self._search(text)


def ranking(question: str, result: Any, k: int) -> Ranking:
    """Ids, or (id, score) pairs, or a mapping of id to score, as a ranking."""
    if isinstance(result, str | bytes):
        raise BadInput(
            f"a text came back ({result[:40]!r}), where a list of ids is expected", ids=[question]
        )
    if isinstance(result, set | frozenset):
        raise BadInput(
            "a set came back, which has no order", ids=[question], hint="give a list, best first"
        )
    if isinstance(result, dict):
        result = sorted(result.items(), key=lambda pair: -pair[1])
    items = list(result if result is not None else ())[:k]
    if items and isinstance(items[0], dict):
        raise BadInput(
            f"records came back ({items[0]!r:.60}), where ids are expected",
            ids=[question],
            hint="give the id of each, or (id, score)",
        )
    if not items or not isinstance(items[0], tuple | list):
        return Ranking(question=question, passages=tuple(map(str, items)))
    try:
        return Ranking(
            question=question,
            passages=tuple(str(identity) for identity, _ in items),
            scores=tuple(float(score) for _, score in items),
        )
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"(id, score) pairs are expected, not {items[0]!r:.60}: {error}",
            ids=[question],
            hint="a function that takes many questions at once says so: search(texts: list[str], k)",
        ) from error


def _how_k_is_passed(search: Search) -> Literal["place", "name", "not"]:
    """In second place, by name where it can only be named, or not at all."""
    try:
        parameters = inspect.signature(search).parameters
    except (TypeError, ValueError):
        return "place"
    kinds = [p.kind for p in parameters.values()]
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return "place"
    if not any(kind in places for kind in kinds):
        raise UsageError(f"{search!r} takes no question", hint="write it as search(text, k)")
    by_name = parameters.get("k")
    if by_name is not None and by_name.kind is inspect.Parameter.KEYWORD_ONLY:
        return "name"
    return "place" if sum(kind in places for kind in kinds) > 1 else "not"


def _takes_many(search: Search) -> bool:
    try:
        hints = typing.get_type_hints(search)
        first = next(iter(inspect.signature(search).parameters))
    except (TypeError, ValueError, NameError, StopIteration):
        return False
    hint = hints.get(first)
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and origin is not str and issubclass(origin, Sequence)


def load_function(place: str) -> Any:
    """What `module:attribute` means, looked up in the current folder first."""
    module, _, attribute = place.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        loaded: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Missing(
            f"there is no module {error.name!r}", hint="is it in this folder, or installed?"
        ) from error
    except Exception as error:
        raise BadInput(
            f"{module} fails when it is imported: {type(error).__name__}: {error}",
            where=_raised_at(error),
        ) from error
    for part in attribute.split("."):
        if not hasattr(loaded, part):
            raise UsageError(f"{module} has no {attribute!r}")
        loaded = getattr(loaded, part)
    return loaded


def _raised_at(error: Exception) -> str | None:
    """File and line of the user's code where an error comes from."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
