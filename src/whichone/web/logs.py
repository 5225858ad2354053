"""One JSON line a request on standard error: what was asked and answered, and how long it took."""

from __future__ import annotations

import json
import re
import sys
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOKEN = re.compile(r"(token=)[^&\s]+")


class RequestLog:
    """Neither tokens nor bodies nor addresses of visitors are logged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        finally:
            person = scope.get("state", {}).get("person")
            line = {
                "time": round(time.time(), 3),
                "method": scope["method"],
                "path": scope["path"],
                "query": _TOKEN.sub(r"\1...", scope.get("query_string", b"").decode("latin-1")),
                "status": status,
                "seconds": round(time.perf_counter() - started, 4),
                "person": getattr(person, "id", None),
            }
            print(json.dumps(line), file=sys.stderr, flush=True)
