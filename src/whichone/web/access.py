"""The door: signed links in, and where the admin makes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from whichone.web.annotation.queue import campaigns
from whichone.web.boards.board import boards
from whichone.web.forms import received
from whichone.web.site import COOKIE, may_read, scheme_of, set_cookie, show, site_of, when
from whichone.web.study.study import studies
from whichone.web.tokens import DAY, ROLES

router = APIRouter(include_in_schema=False)


@router.get("/enter")
async def enter(
    request: Request, token: Annotated[str, Query(max_length=1000)], to: str = "/"
) -> Response:
    """A signed link: keeps its token in a cookie and goes on to a page of this server."""
    site = site_of(request)
    if site.tokens.person(token) is None:  # many who have one may come from one address
        if not site.tries.take(request.client.host if request.client else ""):
            raise HTTPException(429, "too many tries; wait a moment", {"retry-after": "30"})
        raise HTTPException(401, "this link is not valid, or has expired; ask for a new one")
    inside = to.startswith("/") and not to.startswith("//") and "\\" not in to
    response = RedirectResponse(to if inside else "/", 303)
    set_cookie(request, response, token)
    return response


@router.post("/leave")
async def leave(request: Request) -> Response:
    await received(request, "reader")
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, path="/")
    return response


@router.get("/access")
def access(request: Request) -> Response:
    may_read(request, "admin")
    return _page(request, [])


def _page(request: Request, links: list[str]) -> Response:
    """The form, with the places that links may open at by their titles."""
    database = site_of(request).database
    places = [
        (f"{place}/{row[field]}", f"{what}: {row['title']}, made {when(row['made'])}")
        for what, place, field, rows in (
            ("study", "/study", "study", studies(database)),
            ("annotation", "/annotate", "campaign", campaigns(database)),
            ("leaderboard", "/boards", "board", boards(database)),
        )
        for row in rows
    ]
    return show(request, "access.html", roles=ROLES, links=links, places=places)


@router.post("/access")
async def make_links(request: Request) -> Response:
    """Links for one role, each for a new pseudonym."""
    form = await received(request, "admin")
    site = site_of(request)
    role = form.text("role", "annotator")
    if role not in ROLES:
        raise HTTPException(422, f"role must be one of {', '.join(ROLES)}")
    count = form.number("count", 1, 1, 500)
    days = form.number("days", 30, 1, 3650)
    to = form.text("to", "/", 200)
    base = str(request.base_url.replace(scheme=scheme_of(request))).rstrip("/")
    tokens = [site.tokens.link(role, seconds=days * DAY) for _ in range(count)]
    links = [f"{base}/enter?token={token}&to={to}" for token in tokens]
    return await run_in_threadpool(_page, request, links)
