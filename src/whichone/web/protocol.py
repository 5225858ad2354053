"""Connections that send nothing are closed, so that half-open ones cannot use up the server."""

from __future__ import annotations

import asyncio
from typing import Any

PATIENCE = 20.0
"""Seconds in which a connection must have sent the headers of its first, or its next, request."""


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
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                self._stop_clock()
            elif self._clock is None:
                self._start_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def _start_clock(self) -> None:
            loop = asyncio.get_running_loop()
            self._clock = loop.call_later(patience, self._give_up)

        def _stop_clock(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _give_up(self) -> None:
            self._clock = None
            cycle = self.cycle
            if cycle is None or cycle.response_complete:
                self.transport.close()

    return ImpatientProtocol


def run_server(app: Any, *, host: str, port: int, body_seconds: float) -> None:
    """Serve an application until it is ended."""
    import uvicorn

    uvicorn.run(
        app,
        host=host,
        port=port,
        http=impatient_protocol(body_seconds),
        log_level="warning",
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        proxy_headers=False,
    )
