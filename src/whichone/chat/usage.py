"""Tokens, time and money spent at an endpoint."""

from __future__ import annotations

import threading
from typing import Any

import msgspec

from whichone.protocols import ChatReply


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens cost, in whatever currency; None: not said."""

    prompt: float | None = None
    completion: float | None = None

    def cost(self, prompt_tokens: int | None, tokens: int | None) -> float | None:
        """None where a price or a count is not known."""
        if self.prompt is None or self.completion is None:
            return None
        if prompt_tokens is None or tokens is None:
            return None
        return (prompt_tokens * self.prompt + tokens * self.completion) / 1_000_000


class Account:
    """A running sum over all calls, from any thread; cached calls cost nothing."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        self._lock = threading.Lock()
        self._retries = 0
        self._calls = self._cached = self._without_usage = 0
        self._prompt_tokens = self._tokens = 0
        self._seconds = 0.0

    def add(self, reply: ChatReply, seconds: float) -> None:
        with self._lock:
            if reply.cached:
                self._cached += 1
                return
            self._calls += 1
            self._seconds += seconds
            if reply.prompt_tokens is None or reply.tokens is None:
                self._without_usage += 1
                return
            self._prompt_tokens += reply.prompt_tokens
            self._tokens += reply.tokens

    def retried(self) -> None:
        with self._lock:
            self._retries += 1

    def summary(self) -> dict[str, Any]:
        """For the `made` part of a manifest."""
        with self._lock:
            summary: dict[str, Any] = {
                "calls": self._calls,
                "cached_calls": self._cached,
                "retries": self._retries,
                "prompt_tokens": self._prompt_tokens,
                "tokens": self._tokens,
                "seconds_in_calls": round(self._seconds, 3),
            }
            if self._without_usage:
                summary["calls_without_usage"] = self._without_usage
            cost = self.prices.cost(self._prompt_tokens, self._tokens)
        return summary if cost is None else {**summary, "cost": round(cost, 6)}
