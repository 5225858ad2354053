"""A chat model behind an OpenAI-compatible endpoint: bounded, retried, cached, accounted for."""

from __future__ import annotations

import functools
import math
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from whichone.chat import replies
from whichone.errors import BadInput, Missing, UsageError, WhichoneError, needs, remember_secret
from whichone.progress import talk
from whichone.protocols import ChatReply

if TYPE_CHECKING:
    import ssl


# Tokens, time and money spent at an endpoint.


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


class CallAccount:
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


# A chat model behind an OpenAI-compatible endpoint: bounded, retried, cached, accounted for.


KEYS = ("WHICHONE_API_KEY", "OPENAI_API_KEY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_LONGEST_WAIT = 60.0
_LARGEST_REPLY = 64 << 20
_EMPTY_AGAIN = 2  # Retries of an empty reply, which may be all that the model has to say


class ContextTooLong(BadInput):
    """The messages are longer than the model takes."""


def remote_host(address: str) -> str | None:
    """The host of an address, without user and password; None where it is this machine or there is none."""
    try:
        parts = urlsplit(address)
        host = parts.hostname if parts.netloc else None
    except ValueError as error:  # brackets that are none of IPv6
        raise UsageError(f"{address!r} is not an address: {error}") from None
    if host is None or host == "localhost":
        return None
    try:
        return None if ip_address(host).is_loopback else host
    except ValueError:
        return host


class EndpointOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the model is and how it is asked; nothing secret is in here."""

    url: str
    model: str
    concurrency: int = 16
    # Seconds that one call may take, from its first byte sent to its last byte received.
    timeout: float = 120.0
    retries: int = 5
    back_off: float = 0.5  # Seconds before the first retry; each further one waits twice as long
    seed: int | None = None
    prices: Prices = Prices()

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{self.url!r} is not an endpoint", hint="write it as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query:
            raise UsageError(
                "the endpoint's address contains a user, a password or a query",
                hint=f"give a key in the environment, as {KEYS[0]}",
            )
        if self.concurrency < 1 or self.retries < 0 or self.timeout <= 0:
            raise UsageError("concurrency, time-out and retries must be positive")

    @property
    def local(self) -> bool:
        return remote_host(self.url) is None

    @property
    def completions(self) -> str:
        return f"{self.url.rstrip('/')}/chat/completions"


class Endpoint:
    """Fills the seam `ChatModel`; safe to call from several threads."""

    def __init__(
        self,
        options: EndpointOptions,
        *,
        cache: replies.CallCache | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        with needs("httpx", "llm"):
            import httpx
        self.options, self.cache = options, cache
        self.account = CallAccount(options.prices)
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._http = httpx
        self._slots = threading.BoundedSemaphore(options.concurrency)
        self._jitter = random.Random(0)
        self._unsupported: set[str] = set()
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        remember_secret(key)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(options.timeout, connect=min(10.0, options.timeout)),
            limits=httpx.Limits(max_connections=options.concurrency),
            trust_env=not options.local,
            verify=_authorities(not options.local, *map(os.environ.get, _CERTIFICATES)),
        )

    def describe(self) -> dict[str, Any]:
        seed = {} if self.options.seed is None else {"sampling_seed": self.options.seed}
        served = {"served": self.served} if self.served else {}
        return {"endpoint": self.options.url, "model": self.options.model, **seed, **served}

    @functools.cached_property
    def served(self) -> dict[str, Any]:
        """What the endpoint's list of models says about this one; empty where it has no such list.

        A server may swap the weights behind a name. When it was started is no part of it.
        """
        url = self.options.url.rstrip("/").removesuffix("/chat/completions")
        try:
            reply = self._client.get(f"{url}/models", timeout=min(5.0, self.options.timeout))
            listed = reply.json()["data"] if reply.status_code == 200 else []
            entries = [e for e in listed if e.get("id") == self.options.model]
        except (self._http.HTTPError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        passing = ("created", "permission", "object", "id")
        return {k: v for k, v in sorted(entries[0].items()) if k not in passing and v} if entries else {}

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        logprobs: bool = False,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> ChatReply:
        """One reply; `schema` asks for JSON of that shape where the endpoint can do it.

        `tools` are functions that the model may ask for, as OpenAI describes them.
        """
        body = self._body(messages, max_tokens, temperature, logprobs, schema)
        return self._ask({**body, "tools": [dict(tool) for tool in tools]} if tools else body)

    def probe(self, schema: Mapping[str, Any] | None = None) -> None:
        """One small question before a run: is it there, may we use it, does it speak our language?"""
        messages = [{"role": "user", "content": "Reply with one word: yes."}]
        self._ask(self._body(messages, 16, 0.0, False, schema), probing=True)

    def close(self) -> None:
        """Nothing is asked after this; calls under way end with an error instead of being retried."""
        self._closed.set()
        self._client.close()
        if self.cache is not None:
            self.cache.close()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # one call

    def _body(
        self,
        messages: Sequence[Mapping[str, Any]],
        max_tokens: int,
        temperature: float,
        logprobs: bool,
        schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.options.model,
            "messages": [dict(m) for m in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        shape = {"name": "reply", "strict": True, "schema": dict(schema or {})}
        optional = {
            "seed": self.options.seed,
            "logprobs": logprobs or None,
            "response_format": None if schema is None else {"type": "json_schema", "json_schema": shape},
        }
        return {**body, **{name: value for name, value in optional.items() if value is not None}}

    def _ask(self, body: dict[str, Any], *, probing: bool = False) -> ChatReply:
        key = replies.request_key(self.options.completions, body)
        cached = self.cache is not None and not probing
        if cached and self.cache is not None and (known := self.cache.get(key)):
            self.account.add(known, 0.0)
            return known
        started = time.perf_counter()
        with self._slots:
            reply = self._with_retries(body, probing)
        self.account.add(reply, time.perf_counter() - started)
        if cached and self.cache is not None and not _is_empty(reply):
            self.cache.put(key, body, reply)
        return reply

    def _with_retries(self, body: dict[str, Any], probing: bool) -> ChatReply:
        """The reply; passing failures, garbage and empty replies are asked for again.

        A probe asks only once more, and not at all where the address is no endpoint.
        """
        retries = min(1, self.options.retries) if probing else self.options.retries
        attempt = 0
        while True:
            wait: float | None = None
            empty: ChatReply | None = None
            problem: WhichoneError
            try:
                response, content = self._post(self._adapted(body))
                if response.status_code == 200:
                    reply = replies.parse_reply(response.headers.get("content-type", ""), content)
                    if probing or not _is_empty(reply):
                        return reply
                    empty = reply
                elif self._adapt(body, response.status_code, content):
                    continue
                problem = self._refused(response.status_code, content)
                if empty is None and response.status_code not in _AGAIN:
                    raise problem
                wait = _retry_after(response.headers.get("retry-after"))
            except (self._http.TransportError, self._http.DecodingError, replies.BrokenReply) as error:
                problem = self._unreachable(error)
            except replies.WrongShape as error:
                problem = BadInput(
                    f"this is no OpenAI-compatible endpoint: {error}",
                    where=self.options.url,
                    hint="the address usually ends in /v1",
                )
                if probing:
                    raise problem from error
            most = min(retries, _EMPTY_AGAIN) if empty is not None else retries
            if attempt >= most or self._closed.is_set():
                if empty is not None:
                    return empty
                raise problem
            if (
                wait is None
            ):  # twice as long each time, with some chance in it so that not all come back at once
                longest = min(_LONGEST_WAIT, self.options.back_off * 2.0**attempt)
                wait = float(longest) * (0.75 + self._jitter.random() / 2)
            self._sleep(wait)
            self.account.retried()
            attempt += 1

    def _post(self, body: dict[str, Any]) -> tuple[Any, bytes]:
        """The response and its content; a server that sends a little now and then is timed out too."""
        deadline = time.monotonic() + self.options.timeout
        content = bytearray()
        with self._client.stream("POST", self.options.completions, json=body) as response:
            for piece in response.iter_bytes():
                content += piece
                if time.monotonic() > deadline:
                    raise self._http.ReadTimeout("the reply is not complete")
                if len(content) > _LARGEST_REPLY:
                    raise replies.WrongShape(f"it sends more than {_LARGEST_REPLY:,} bytes")
            return response, bytes(content)

    # what some endpoints do not take

    def _adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        sent = {k: v for k, v in body.items() if k not in self._unsupported}
        if "max_tokens" in self._unsupported:
            sent["max_completion_tokens"] = body["max_tokens"]
        return sent

    def _adapt(self, body: Mapping[str, Any], status: int, content: bytes) -> bool:
        """Leave out what a 400 complains about, once and for all; whether that is worth a new try."""
        if status not in (400, 422):
            return False
        said = replies.error_text(content).lower()
        if _about_length(said):
            return False
        signs = {
            "response_format": ("response_format", "json_schema", "structured output"),
            "logprobs": ("logprobs",),
            "max_tokens": ("max_completion_tokens",),
            "temperature": ("temperature",),
            "seed": ("'seed'", '"seed"', "parameter: seed"),
        }
        for name, words in signs.items():
            if name in body and name not in self._unsupported and any(w in said for w in words):
                self._unsupported.add(name)
                talk(f"{self.options.url} does not take {name}; going on without it")
                return True
        return False

    # what to say when it fails

    def _refused(self, status: int, content: bytes) -> WhichoneError:
        said = replies.error_text(content)
        if status in (401, 403):
            return Missing(
                f"the endpoint does not let us in (HTTP {status}): {said}",
                where=self.options.url,
                hint=f"put the key into the environment as {' or '.join(KEYS)}",
            )
        if status == 404:
            return Missing(
                f"the endpoint has no chat completions, or no model {self.options.model!r}: {said}",
                where=self.options.url,
                hint="the address usually ends in /v1; the model's name is the endpoint's own",
            )
        if status in (400, 413, 422) and _about_length(said.lower()):
            return ContextTooLong(f"the messages are too long: {said}", where=self.options.url)
        kind = Missing if status in _AGAIN else BadInput
        return kind(f"the endpoint answers HTTP {status}: {said}", where=self.options.url)

    def _unreachable(self, error: Exception) -> WhichoneError:
        if isinstance(error, replies.BrokenReply):
            return BadInput(str(error), where=self.options.url)
        if isinstance(error, self._http.TimeoutException):
            problem = f"no reply within {self.options.timeout:g} seconds"
        else:
            problem = f"the endpoint cannot be reached: {error or type(error).__name__}"
        return Missing(problem, where=self.options.url, hint="is the server up, and is this its port?")


@functools.cache
def _authorities(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    """Read once for all endpoints, and again where the environment names another file or folder."""
    import httpx

    return httpx.create_ssl_context(trust_env=trust_env)


def _is_empty(reply: ChatReply) -> bool:
    """Neither an answer nor a refusal nor a call of a tool."""
    return not (reply.text.strip() or reply.tool_calls) and reply.finish != replies.REFUSAL


def _about_length(said: str) -> bool:
    return any(
        words in said
        for words in ("context length", "context size", "context window", "too long", "too large")
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds, or a date, as the header has it; never longer than a minute."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _LONGEST_WAIT)


def open_endpoint(options: EndpointOptions, cache: str | Path | None = None) -> Endpoint:
    """An endpoint with its cache: a file, the user's own (None), or "none"."""
    if str(cache) == "none":
        return Endpoint(options)
    return Endpoint(
        options, cache=replies.CallCache(cache or replies.default_cache_file(options.url, options.model))
    )
