"""The web application: all rooms behind one guard."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whichone.errors import WhichoneError
from whichone.versions import versions
from whichone.web import access
from whichone.web.annotation import annotation_routes as annotation
from whichone.web.boards import board_routes as boards
from whichone.web.boards.board_worker import Scorer
from whichone.web.explorer import explorer_routes as explorer
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.limits import Guard, TooLarge, TooSlow
from whichone.web.pages import asset, show, template_environment
from whichone.web.storage import StorageUnavailable
from whichone.web.study import study_routes as study
from whichone.web.web_site import LOOPBACK, Settings, Site, open_site, site_of

# Whether the server works: for those who watch over it.


router = APIRouter(include_in_schema=False)


@router.get("/health")
def health(request: Request) -> Response:
    """200 when the database answers and the scorer runs, else 503; it names no data."""
    site = site_of(request)
    try:
        site.database.read("select 1 as one")
        database = "ok"
    except StorageUnavailable:
        database = "does not answer"
    scorer = "ok" if request.app.state.scorer.running else "does not run"
    fine = database == scorer == "ok"
    return JSONResponse({"database": database, "scorer": scorer}, 200 if fine else 503)


# The web application: all rooms behind one guard.


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


_ASSETS = {
    "web.css": "text/css; charset=utf-8",
    "web.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def make_app(settings: Settings) -> FastAPI:
    """The application over one folder; opens its database and starts the scorer."""
    site = open_site(settings)
    scorer = Scorer(site)

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        scorer.start()
        yield
        scorer.stop()
        site.folder.indexes.close()
        site.database.close()

    app = FastAPI(
        title="whichone",
        version=versions().get("whichone", "0"),
        description="Benchmarks of namesakes: their sets, their runs, what people answered.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.site, app.state.scorer, app.state.templates = site, scorer, template_environment()
    for room in (
        annotation,
        study,
        explorer,
        boards,
        access,
        sys.modules[__name__],
    ):  # the busiest first
        # not include_router, which would build every route once more, at the first request
        app.router.routes.extend(room.router.routes)
    app.add_api_route("/assets/{name}", _asset, include_in_schema=False)
    app.add_exception_handler(HTTPException, _refusal)
    app.add_exception_handler(WhichoneError, _own_error)
    app.add_exception_handler(TooLarge, _too_large)
    app.add_exception_handler(TooSlow, _too_slow)
    app.add_exception_handler(NotReady, _not_ready)
    app.add_exception_handler(StorageUnavailable, _unavailable)
    app.add_exception_handler(OSError, _no_room)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_middleware(
        Guard,
        hosts=_hosts(site),
        upload_bytes=settings.upload_bytes,
        body_seconds=settings.body_seconds,
    )
    if settings.log:
        app.add_middleware(RequestLog)
    return app


def _hosts(site: Site) -> tuple[str, ...]:
    """On loopback only its own names, so that no other site's name can be pointed at it."""
    settings = site.settings
    if settings.loopback:
        return (*LOOPBACK, *settings.hosts)
    return (settings.host, *settings.hosts) if settings.hosts else ()


async def _asset(name: str) -> Response:
    if name not in _ASSETS:
        raise HTTPException(404, "no such file")
    response = Response(asset(name), media_type=_ASSETS[name])
    response.headers["cache-control"] = "public, max-age=300"
    return response


def _answer(request: Request, status: int, message: str, headers: Any = None) -> Response:
    if request.url.path.startswith("/api/"):
        contact = site_of(request).settings.contact
        description = {"detail": message, **({"contact": contact} if contact else {})}
        return JSONResponse(description, status, headers)
    response = show(request, "refusal.html", status, code=status, message=message)
    response.headers.update(headers or {})
    return response


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, str(error.detail), error.headers)


async def _own_error(request: Request, error: Exception) -> Response:
    """What whichone itself refuses, without the path it was refused at."""
    assert isinstance(error, WhichoneError)
    return _answer(request, 422, error.message + (f" ({error.hint})" if error.hint else ""))


async def _malformed(request: Request, error: Exception) -> Response:
    """A page with an address that cannot be is not there; the API says what is wrong with it."""
    assert isinstance(error, RequestValidationError)
    if request.url.path.startswith("/api/"):
        first = error.errors()[0]
        return _answer(request, 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return _answer(request, 404, "there is no such page")


async def _not_ready(request: Request, error: Exception) -> Response:
    """A page that loads itself again until its index is there."""
    return _answer(request, 503, str(error), {"retry-after": "3"})


async def _too_large(request: Request, error: Exception) -> Response:
    return _answer(request, 413, str(error))


async def _too_slow(request: Request, error: Exception) -> Response:
    return _answer(request, 408, str(error), {"connection": "close"})


async def _unavailable(request: Request, error: Exception) -> Response:
    """The database does not answer: says so, and that what was sent was not kept."""
    message = f"{error}. What you sent was not kept; try again in a minute"
    return _answer(request, 503, message, {"retry-after": "60"})


async def _no_room(request: Request, error: Exception) -> Response:
    """A full disk, mostly; anything else of the operating system is a fault of the server."""
    import errno

    assert isinstance(error, OSError)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        raise error
    return await _unavailable(request, StorageUnavailable("the server's disk is full"))


def serve(settings: Settings) -> None:
    """Run until stopped; prints the address, with the admin's link where one is needed."""
    from whichone.progress import talk
    from whichone.web.limits import run_server

    app: ASGIApp = make_app(settings)
    site: Site = app.state.site  # type: ignore[attr-defined]
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    place = f"http://{shown}:{settings.port}/"
    shown_folders = ", ".join(map(str, [settings.folder or "builtin/amber", *settings.more]))
    talk(f"serving {shown_folders} at {place}")
    if settings.login:
        talk(f"open it with the admin's link: {place}enter?token={site.links.at_start()}")
    else:
        talk("without login: whoever uses a browser of this machine is the admin")
    sys.setswitchinterval(0.001)  # threads hand over quickly: clicks wait for the writer's
    run_server(app, host=settings.host, port=settings.port, body_seconds=settings.body_seconds)
