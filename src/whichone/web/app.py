"""The web application: all rooms behind one guard."""

import contextlib
import errno
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whichone.versions import versions
from whichone.web import access
from whichone.web.annotation import annotation_routes as annotation
from whichone.web.ask import Askers, Turns
from whichone.web.ask import router as ask_router
from whichone.web.boards import board_routes as boards
from whichone.web.boards.board_worker import ScoringThread
from whichone.web.explorer import explorer_routes as explorer
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.limits import REFUSED, RequestGuard, refused, run_server
from whichone.web.pages import asset_response, show, template_environment
from whichone.web.site_settings import SiteSettings
from whichone.web.storage import StorageUnavailable
from whichone.web.study import study_routes as study
from whichone.web.web_site import Here, Site, open_site, site_of

router = APIRouter(include_in_schema=False)


@router.get("/health")
def health(request: Request, site: Here) -> Response:
    """200 when the database answers and the scorer runs, else 503; it names no data."""
    try:
        site.database.read("select 1 as one")
        database = "ok"
    except StorageUnavailable:
        database = "does not answer"
    scorer = "ok" if request.app.state.scorer.running else "does not run"
    fine = database == scorer == "ok"
    return JSONResponse({"database": database, "scorer": scorer}, 200 if fine else 503)


class RequestLog:
    """Which page was asked for, by its place in the application: nothing of what a visitor wrote.

    An address may hold a token wherever somebody put it, so neither it nor its query is logged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, method = time.perf_counter(), 500, scope["method"]

        async def noting_send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        finally:
            person = scope.get("state", {}).get("person")
            line = {
                "time": round(time.time(), 3), "method": method,
                "path": getattr(scope.get("route"), "path", "no such page"), "status": status,
                "seconds": round(time.perf_counter() - started, 4), "person": getattr(person, "id", None),
            }  # fmt: skip
            print(json.dumps(line), file=sys.stderr, flush=True)


def make_app(settings: SiteSettings) -> FastAPI:
    site = open_site(settings)
    scorer, askers = ScoringThread(site), Askers(site.folder.indexes.cache)

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        scorer.start()
        yield
        scorer.stop()
        askers.close()
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
    app.state.site, app.state.scorer, app.state.askers, app.state.turns = site, scorer, askers, Turns()
    app.state.templates = template_environment()
    rooms = (annotation.router, study.router, explorer.router, boards.router, ask_router,
             access.router, router)  # fmt: skip
    for room in rooms:  # the busiest first
        # not include_router, which would build every route once more, at the first request
        app.router.routes.extend(room.routes)
    app.add_api_route("/assets/{name}", asset_response, include_in_schema=False)
    for kind in (*REFUSED, NotReady, StorageUnavailable, OSError):
        app.add_exception_handler(kind, _refusal)
    app.add_middleware(
        RequestGuard, hosts=settings.names, upload_bytes=settings.upload_bytes, body_seconds=settings.body_seconds,
        refusal=_refusal,
    )  # fmt: skip
    if settings.log:
        app.add_middleware(RequestLog)
    return app


async def _refusal(request: Request, error: Exception) -> Response:
    of_api = request.url.path.startswith("/api/")
    headers: Mapping[str, str] | None = None
    if isinstance(error, NotReady):  # the page loads itself again until its index is there
        status, message, headers = 503, str(error), {"retry-after": "3"}
    elif isinstance(error, StorageUnavailable | OSError):
        if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise error  # a fault of the server
        what = "the server's disk is full" if isinstance(error, OSError) else str(error)
        status, headers = 503, {"retry-after": "60"}
        message = f"{what}. What you sent was not kept; try again in a minute"
    elif isinstance(error, RequestValidationError) and not of_api and error.errors()[0]["loc"][0] == "path":
        status, message = 404, "there is no such page"  # its address cannot be
    else:
        status, message, headers = refused(error)
    contact = site_of(request).settings.contact
    if of_api:
        described = {"detail": message, **({"contact": contact} if contact else {})}
        return JSONResponse(described, status, headers)
    response = show(request, "refusal.html", status, code=status, message=message)
    response.headers.update(headers or {})
    return response


def serve(settings: SiteSettings) -> None:
    app: ASGIApp = make_app(settings)
    site: Site = app.state.site  # type: ignore[attr-defined]
    place, folders = settings.address, [*map(str, [settings.folder or "builtin/amber", *settings.more])]
    how = (
        "without login: this address opens a single time"
        if settings.no_login
        else "open it with the admin's link"
    )
    link = f"{place}enter?token={site.once if settings.no_login else site.links.at_start()}"
    sys.setswitchinterval(0.001)  # threads hand over quickly: clicks wait for the writer's
    places = {"address": place, "link": link, "folders": folders}
    run_server(app, settings, places, [f"serving {', '.join(folders)} at {place}", f"{how}: {link}"])
