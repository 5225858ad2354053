"""Ibis compiles a query once for all builds of a worker: a fifth of the time of a small build."""

from __future__ import annotations

import functools
from typing import Any

from ibis.backends.duckdb import Backend

_compile = Backend.compile
_UNCONNECTED = Backend()


@functools.cache
def keep_compiled() -> None:
    """A query's text follows from the names and columns of its tables, not from which database has them."""
    Backend.__eq__ = lambda self, other: isinstance(other, Backend)  # type: ignore[method-assign]
    Backend.__hash__ = lambda self: 0  # type: ignore[method-assign]
    Backend.compile = _compile_once  # type: ignore[method-assign]


def _compile_once(self: Backend, expression: Any, /, **options: Any) -> str:
    return _compile(self, expression, **options) if options else _compiled(expression.op())


@functools.lru_cache(2_000)
def _compiled(query: Any) -> str:
    return _compile(_UNCONNECTED, query.to_expr())


forget = _compiled.cache_clear
