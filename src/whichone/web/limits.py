"""Limits on requests: their number, their size, and the host they are meant for."""

import asyncio
import contextlib
import json
import os
import re
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whichone.errors import BadInput, WhichoneError
from whichone.progress import talk
from whichone.web.site_settings import SiteSettings

FORM_BYTES = 256 * 1024
# How many times as long as one pause the whole body of a form, and of an upload, may take.
FORM_PAUSES, UPLOAD_PAUSES = 2, 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_MOST_KNOWN = 20_000
_READ_ON = 4  # How many times as much as a page takes is read, and dropped, of what is too large
Refusing = Callable[[Request, Exception], Awaitable[Response]]


class TokenBuckets:
    """For each key `burst` requests at once and `rate` a second after that."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> bool:
        now = time.monotonic()
        with self._lock:
            left, then = self._held.pop(key, (float(self.burst), now))
            left = min(float(self.burst), left + (now - then) * self.rate)
            passes = left >= 1
            self._held[key] = (left - 1 if passes else left, now)
            while len(self._held) > _MOST_KNOWN:
                self._held.popitem(last=False)
        return passes


class TooLarge(Exception):
    """The body of a request is longer than its page takes."""


class TooSlow(Exception):
    """The body of a request stopped coming."""


class RequestGuard:
    """Refuses foreign hosts and long bodies before any room sees them, and sets safe headers."""

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str], upload_bytes: int, refusal: Refusing,
        body_seconds: float = 30.0,
    ) -> None:  # fmt: skip
        self._app, self._refusal, self._body_seconds = app, refusal, body_seconds
        self._hosts = frozenset(hosts)
        self._upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        method = scope["method"]
        if method == "HEAD":  # answered like a GET, without the body
            scope["method"] = "GET"

        async def safe_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope["method"] = method  # the server counts the bytes of any other
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent[name] = value
                if not str(scope["path"]).startswith("/assets/"):
                    sent["cache-control"] = "no-store"
            if message["type"] == "http.response.body" and method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        if self._hosts and re.sub(r":\d*$", "", headers.get("host", "")).lower() not in self._hosts:
            refusal = PlainTextResponse("this server does not go by that name", 421)
            await refusal(scope, receive, safe_send)
            return
        upload = scope["method"] == "POST" and scope["path"].endswith(("/submissions", "/passages"))
        most = self._upload_bytes if upload else FORM_BYTES
        end = time.monotonic() + self._body_seconds * (UPLOAD_PAUSES if upload else FORM_PAUSES)
        counted, whole = 0, False

        async def counting_receive() -> Message:
            nonlocal counted, whole
            if whole:  # what comes now is the end of the connection, whenever that is
                return await receive()
            patience = min(self._body_seconds, end - time.monotonic())
            try:
                message = await asyncio.wait_for(receive(), patience)
            except TimeoutError:
                raise TooSlow("what was sent came too slowly, or stopped") from None
            counted += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if counted > most:
                raise TooLarge(f"more than the {most:,} bytes that this page takes")
            return message

        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) <= most:
            await self._app(scope, counting_receive, safe_send)
            return
        most, refused = _READ_ON * most, most
        with contextlib.suppress(TooLarge, TooSlow):  # a browser shows an answer once it has sent all
            while not whole and length.isdigit() and int(length) <= most:
                await counting_receive()
        error = TooLarge(f"more than the {refused:,} bytes that this page takes")
        response = await self._refusal(Request(scope), error)
        await response(scope, receive, safe_send)


# Errors that are about what was sent.
REFUSED = (HTTPException, RequestValidationError, WhichoneError, TooLarge, TooSlow)


def refused(error: Exception) -> tuple[int, str, Mapping[str, str] | None]:
    """Status, message and headers for one of them; what whichone refuses comes without its path."""
    if isinstance(error, HTTPException):
        detail = "there is no such page" if error.detail == "Not Found" else str(error.detail)
        return error.status_code, detail, error.headers
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", None
    if isinstance(error, WhichoneError):
        return 422, error.message + (f" ({error.hint})" if error.hint else ""), None
    if isinstance(error, TooSlow):
        return 408, str(error), {"connection": "close"}
    return 413, str(error), None


# Connections that send nothing are closed, so that half-open ones cannot use up the server.

# Seconds in which a connection must have sent the headers of its first, or its next, request.
PATIENCE = 20.0


def impatient_protocol(patience: float = PATIENCE) -> type[Any]:
    """uvicorn's own protocol, with a clock that runs until a request has begun."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol  # type: ignore[assignment]

    class ImpatientProtocol(Protocol):
        _clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._start_clock()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if (cycle := self.cycle) is not None and not cycle.response_complete:
                self._stop_clock()
            elif self._clock is None:
                self._start_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def _start_clock(self) -> None:
            self._clock = asyncio.get_running_loop().call_later(patience, self._give_up)

        def _stop_clock(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _give_up(self) -> None:
            self._clock = None
            if (cycle := self.cycle) is None or cycle.response_complete:
                self.transport.close()

    return ImpatientProtocol


def run_server(app: Any, settings: SiteSettings, places: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Listen until stopped; says where and with which links once it listens: `lines`, or `places` as JSON."""
    import uvicorn

    try:  # uvicorn itself would end the process, with a code of its own
        listening = socket.create_server(
            (settings.host, settings.port), family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        )
    except OSError as error:
        reason = "no such host" if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise BadInput(
            f"{settings.host}:{settings.port}: {reason}", hint="choose another --port or --host"
        ) from None
    if settings.as_json:
        print(json.dumps(places, indent=2, ensure_ascii=False), flush=True)
    else:
        talk("\n".join(lines))
    config = uvicorn.Config(
        app, http=impatient_protocol(settings.body_seconds), log_level="warning", server_header=False,
        timeout_keep_alive=75, timeout_graceful_shutdown=10, proxy_headers=False,
    )  # fmt: skip
    with listening, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


# The refusals that every part of the API may answer with.


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str
    contact: str | None = None  # Whom to ask, where the server has said so


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "not a request", 401: "no link", 403: "not with this link", 404: "not here", 408: "too slow",
        409: "not now", 413: "too large", 422: "invalid input", 429: "too often",
        503: "being indexed, or the database does not answer",
    }.items()
}  # fmt: skip
