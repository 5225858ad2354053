"""An endpoint that does what a script says: also all that real ones do on bad days."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One HTTP response; `cut` announces the whole body and sends half of it.

    With `trickle`, so many seconds pass between the bytes of the body.
    """

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: bool = False
    trickle: float = 0.0


def completion(text: str | None, **message: Any) -> Reply:
    finish = message.pop("finish_reason", "stop")
    document = {
        "choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4},
    }
    return Reply(json.dumps(document).encode())


def error(status: int, message: str, **headers: str) -> Reply:
    return Reply(json.dumps({"error": {"message": message}}).encode(), status, headers)


Script = Callable[[dict[str, Any], int], Reply]
"""The request and its number, from 0, give the reply."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a busy machine accepts late, and more than five may be waiting


class FakeServer:
    """Serves on loopback until closed, and remembers every request."""

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.now = self.most_at_once = 0
        self.models: list[dict[str, Any]] | None = None
        """What GET /models lists; None: there is no such list."""
        lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(server.requests)
                    server.requests.append(body)
                    server.headers.append(dict(self.headers))
                    server.now += 1
                    server.most_at_once = max(server.most_at_once, server.now)
                reply = script(body, number)
                with lock:  # before it is sent: the client may be back at once
                    server.now -= 1
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self._send(reply)

            def do_GET(self) -> None:
                if server.models is None:
                    self.send_error(404)
                else:
                    self._send(Reply(body=json.dumps({"data": server.models}).encode()))

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                for name, value in reply.headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                for n in range(len(reply.body) if reply.trickle else 0):
                    self.wfile.write(reply.body[n : n + 1])
                    self.wfile.flush()
                    time.sleep(reply.trickle)
                if not reply.trickle:
                    half = len(reply.body) // 2
                    self.wfile.write(reply.body[:half] if reply.cut else reply.body)
                self.close_connection = reply.cut

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
