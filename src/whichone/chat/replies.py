"""What an OpenAI-compatible endpoint sends back, whole or as a stream, as one reply."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import NOT_JSON
from whichone.files.output import cache_folder
from whichone.protocols import ChatReply, ToolCall

REFUSAL = "refusal"  # How a reply ends when the model, or the filter before it, would not answer


class BrokenReply(Exception):
    """The reply is cut off or is no JSON: asking again may help."""


class WrongShape(Exception):
    """The reply is whole, but is not a chat completion: asking again does not help."""


def parse_reply(content_type: str, body: bytes) -> ChatReply:
    if "text/event-stream" in content_type or body.lstrip().startswith(b"data:"):
        return _completion(_joined(body))
    try:
        document = _decoded(body)
    except ValueError as error:
        if body.lstrip()[:1] not in (b"{", b"["):
            raise WrongShape(f"it sends {_start(body)!r} instead of JSON") from error
        raise BrokenReply("the reply is broken JSON") from error
    if not isinstance(document, dict):
        raise WrongShape("it sends JSON that is no object")
    return _completion(document)


def _decoded(body: bytes) -> Any:
    """JSON, also with the NaN and the half surrogates that some servers send."""
    try:
        return msgspec.json.decode(body)
    except NOT_JSON:
        try:
            return json.loads(body, parse_int=lambda n: int(n) if len(n) < 20 else float(n))
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def error_text(body: bytes) -> str:
    """What an error response says, in one line."""
    try:
        document = msgspec.json.decode(body)
        error = document.get("error", document) if isinstance(document, dict) else document
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        text = error if isinstance(error, str) else msgspec.json.encode(error).decode()
    except NOT_JSON:
        text = body.decode("utf-8", "replace")
    return " ".join(text.split())[:300]


def _completion(document: dict[str, Any]) -> ChatReply:
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise WrongShape(f"the reply has no choices: {_start(repr(document).encode())}")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise WrongShape("the reply's first choice has no message")
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    finish = choice.get("finish_reason")
    if (refused := message.get("refusal")) or finish == "content_filter":
        finish = REFUSAL
    return ChatReply(
        text=_text(message.get("content")) or (_text(str(refused)) if refused else ""),
        mean_logprob=_mean_logprob(choice.get("logprobs")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        tokens=_count(usage.get("completion_tokens")),
        finish=finish if isinstance(finish, str) else None,
        tool_calls=tuple(_tool_calls(message.get("tool_calls"))),
    )


def _tool_calls(given: Any) -> Iterable[ToolCall]:
    """The functions that a model asks for; what has no name is left out."""
    for n, call in enumerate(given if isinstance(given, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(name := function.get("name"), str):
            arguments = function.get("arguments") or "{}"
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            identity = _text(str(call.get("id") or f"call{n}"))
            yield ToolCall(id=identity, name=_text(name), arguments=_text(text))


def _text(content: Any) -> str:
    """A message's text: a string, or a list of parts; half of a surrogate pair is a question mark."""
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


_MOST_TOKENS = 1 << 40


def _count(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if known else None


def _mean_logprob(logprobs: Any) -> float | None:
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        return None
    values = [t["logprob"] for t in tokens if isinstance(t, dict) and "logprob" in t]
    numbers = [float(v) for v in values if isinstance(v, int | float) and abs(v) < _MOST_TOKENS]
    return sum(numbers) / len(numbers) if numbers else None


def _joined(body: bytes) -> dict[str, Any]:
    """The events of a stream as one document; a stream without an end was cut."""
    text: list[str] = []
    tokens: list[Any] = []
    document: dict[str, Any] = {}
    finish, ended = None, False
    for event in (line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")):
        if event == b"[DONE]":
            ended = True
            break
        try:
            part = _decoded(event)
        except ValueError as error:
            raise BrokenReply("the stream contains broken JSON") from error
        try:
            document.update({k: v for k, v in part.items() if k == "usage" and v})
            for choice in (part.get("choices") or [])[:1]:
                delta = choice.get("delta") or choice.get("message") or {}
                text.append(_text(delta.get("content")))
                tokens += (choice.get("logprobs") or {}).get("content") or []
                finish = choice.get("finish_reason") or finish
        except (AttributeError, TypeError, LookupError) as error:
            raise WrongShape(f"an event of the stream is no part of a reply: {_start(event)}") from error
    if not ended and finish is None:
        raise BrokenReply("the stream was cut before its end")
    choice = {"message": {"content": "".join(text)}, "finish_reason": finish, "logprobs": {"content": tokens}}
    return {**document, "choices": [choice]}


def _start(body: bytes) -> str:
    return body[:80].decode("utf-8", "replace")


# Calls that were already made, by their full request: asked again, they cost nothing.


def request_key(url: str, body: Mapping[str, Any]) -> str:
    """One hash of everything that decides a reply: where it is asked, and the whole request."""
    text = msgspec.json.encode({"url": url, "body": body}, order="deterministic")
    return hashlib.sha256(text).hexdigest()


def default_cache_file(url: str, model: str) -> Path:
    """One file for each endpoint and model in the user's cache folder."""
    key = hashlib.sha256(f"{url}\0{model}".encode()).hexdigest()[:16]
    return cache_folder() / "calls" / f"{key}.sqlite"


class CallCache:
    """Requests and replies in one SQLite file; several threads and processes may share it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        with self._usable():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, request TEXT, reply TEXT)"
            )
            self._connection.commit()

    def get(self, key: str) -> ChatReply | None:
        """The reply; None where there is none, or none that can be used: it is asked for again."""
        with self._lock, self._usable():
            row = self._connection.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        try:
            reply = msgspec.json.decode(row[0], type=ChatReply) if row else None
        except (*NOT_JSON, TypeError):
            return None
        # a reply with only those counts that can be counts
        if reply is None or any(count != _count(count) for count in (reply.prompt_tokens, reply.tokens)):
            return None
        return msgspec.structs.replace(reply, cached=True)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise BadInput(
                f"cannot be used as a cache of calls: {error}",
                file=self.path,
                hint="name another file with --cache, or --cache none",
            ) from error

    def put(self, key: str, request: Mapping[str, Any], reply: ChatReply) -> None:
        row = (key, msgspec.json.encode(request).decode(), msgspec.json.encode(reply).decode())
        with self._lock, self._usable():
            self._connection.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", row)
            self._connection.commit()

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM calls").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._connection.close()
