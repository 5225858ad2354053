"""Whether the server works: for those who watch over it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whichone.web.site import site_of
from whichone.web.storage.database import StorageUnavailable

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
