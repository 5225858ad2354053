"""The door: links in, where the admin makes, lists and revokes them, and people who come by an invite."""

import re
import secrets
from functools import partial
from typing import Annotated, Literal, cast
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from whichone.names import fold
from whichone.web import pages
from whichone.web.annotation.task_queue import campaigns
from whichone.web.boards.board import boards
from whichone.web.boards.submissions import forget_submitter
from whichone.web.storage import Row, Transaction
from whichone.web.study.study import studies
from whichone.web.web_site import DAY, Here, Link, Role, Site, clean, place_of_scope, same_secret


def delete_person(site: Site, link: str) -> bool:
    """Answers, annotations, consent, submissions and links of the person whom a link is for.

    Of a submission a line remains that names nobody, so that a leaderboard's history has no gaps.
    """

    def work(t: Transaction) -> bool:
        if not (rows := t.read("select person from links where link = ?", (link,))):
            return False
        person = str(rows[0]["person"])
        for task in t.read("select campaign, task from annotations where person = ?", (person,)):
            # a task that this person did is asked of somebody else again
            t.execute(
                "update tasks set claimed = claimed - 1 "
                "where campaign = ? and task = ? and claimed > 0 and queue = 1",
                (task["campaign"], task["task"]),
            )
        for table in ("annotations", "campaign_people", "skipped_tasks", "study_answers",
                      "study_people"):  # fmt: skip
            t.execute(f"delete from {table} where person = ?", (person,))
        forget_submitter(t, person)
        t.execute("delete from links where person = ?", (person,))
        return True

    deleted = site.database.write(work)
    site.links.forget()
    return deleted


router = APIRouter(include_in_schema=False)
LinkKey = Annotated[str, Path(pattern="^[0-9a-zA-Z-]{1,100}$")]
_Scope = Annotated[str, Query(max_length=100)]
# How platforms name the id of the participant that they send.
EXTERNAL = ("PROLIFIC_PID", "workerId", "participant")
_PAGE = 25  # Links that are shown at a time
_EXTERNAL_ID = re.compile(r"[\w.@-]{1,100}")


@router.get("/enter")
async def enter(
    request: Request, site: Here, token: Annotated[str, Query(max_length=1000)], to: str = ""
) -> Response:
    """A link: keeps its token in a cookie and goes on to the page that it is for."""
    token = token.rpartition("token=")[2]  # a whole link may be pasted
    if site.local is not None and site.take_once(token):
        return _entered(request, site.local.token, to or "/")
    person = await run_in_threadpool(site.links.person, token)
    if person is None:  # many who have one may come from one address
        if not site.tries.take(request.client.host if request.client else ""):
            raise HTTPException(429, "too many tries; wait a moment", {"retry-after": "30"})
        raise HTTPException(401, "this link is not valid, or has expired; ask for a new one")
    if person.role == "invite":
        external = next((v for name in EXTERNAL if (v := request.query_params.get(name))), "")
        opened = secrets.token_hex(16)
        page = pages.show(
            request, "join.html", token=token, external=clean(external, 100),
            join_token=_join_token(site, opened),
        )  # fmt: skip
        page.set_cookie(
            _JOINING, opened, max_age=3600, httponly=True, samesite="strict", path="/join",
            secure=pages.scheme_of(request) == "https",
        )  # fmt: skip
        return page
    present = await run_in_threadpool(pages.visitor, request)
    if present is not None and present.token != token:
        return pages.show(request, "enter.html", token=token, to=to, new=person)
    return _entered(request, token, to if _is_inside(to) else place_of_scope(person.scope))


def _is_inside(to: str) -> bool:
    return to.startswith("/") and not to.startswith("//") and "\\" not in to


def _entered(request: Request, token: str, to: str) -> Response:
    response = RedirectResponse(to if _is_inside(to) else "/", 303)
    pages.set_cookie(request, response, token)
    return response


@router.post("/enter")
async def replace_session(request: Request, site: Here) -> Response:
    form = await pages.received(request, None)
    token, to = form.text("token", longest=1000), form.text("to", longest=1000)
    person = await run_in_threadpool(site.links.person, token)
    if person is None or person.role == "invite":
        raise HTTPException(401, "this link is not valid, or has expired; ask for a new one")
    return _entered(request, token, to or place_of_scope(person.scope))


# The cookie of a browser that was shown an invite; only it may send the invite's form.
_JOINING = "whichone-join"


def _join_token(site: Site, opened: str) -> str:
    return site.tokens.keyed("join", opened).hex()


@router.post("/join")
async def join(request: Request, site: Here) -> Response:
    """Whoever comes by an invite becomes a participant; the same id again, the same participant."""
    if not site.writes.take(f"join {request.client.host if request.client else ''}"):
        raise HTTPException(429, "too many requests; wait a moment", {"retry-after": "5"})
    fields = await request.form(max_files=0, max_fields=5)
    opened = request.cookies.get(_JOINING, "")
    sent = str(fields.get("form_token", ""))
    if not opened or not same_secret(_join_token(site, opened), sent):
        raise HTTPException(403, "open the invite again and send its form from there")
    token, external = str(fields.get("token", "")), str(fields.get("external", "")).strip()
    invite = await run_in_threadpool(site.links.person, token)
    if invite is None or invite.role != "invite":
        raise HTTPException(401, "this invite is not valid, or has expired; ask for a new one")
    if not _EXTERNAL_ID.fullmatch(external):
        raise HTTPException(422, "enter your participant id: letters, digits and .@-_")
    link = await run_in_threadpool(site.links.participant, invite.scope, external)
    if link.state() != "valid":
        raise HTTPException(403, "this participant may not take part any more")
    response = RedirectResponse(place_of_scope(link.scope), 303)
    pages.set_cookie(request, response, site.links.token(link))
    return response


@router.post("/leave")
async def leave(request: Request) -> Response:
    await pages.received(request, None)
    response = RedirectResponse("/", 303)
    response.delete_cookie(pages.COOKIE, path="/")
    return response


@router.get("/access", dependencies=pages.FOR_ADMINS)
def access(
    request: Request, site: Here, scope: _Scope = "", q: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[int, Query(ge=0, le=2**40)] = 0,
) -> Response:  # fmt: skip
    """Every link, or those of one study, campaign or board, the newest first: the screen to invite people from."""
    places = _places(site)
    chosen = next((place for place in places if place[0] == scope), None)
    titles = {place[0]: place[1] for place in places}

    def said(link: Link) -> str:
        shown = titles.get(link.scope, "everything" if link.role == "admin" else "reading")
        return fold(" ".join((link.label, shown, link.role, link.person, link.external, link.state())))

    every = site.links.listed(scope if chosen else None)
    found = [link for link in every if all(word in said(link) for word in fold(q).split())]
    found.sort(key=lambda link: -link.made)
    links = [
        (link, f"{_base(request)}/enter?token={site.links.token(link)}")
        for link in found[after : after + _PAGE]
    ]
    return pages.show(
        request, "access.html", links=links, places=places, scope=scope, chosen=chosen, titles=titles,
        q=q, found=len(found), every=len(every), before=max(0, after - _PAGE) if after else None,
        following=after + _PAGE if after + _PAGE < len(found) else None,
    )  # fmt: skip


def _places(site: Site) -> list[tuple[str, str, Role]]:
    """What a link can be for: its scope, a title that distinguishes it, and the role."""
    places: list[tuple[str, str, Role, list[Row]]] = [
        ("study", "study", "annotator", studies(site.database)),
        ("campaign", "annotation", "annotator", campaigns(site.database)),
        ("board", "leaderboard", "submitter", boards(site)),
    ]
    return [
        (f"{what}:{row[what]}", f"{called}: {row['title']}, made {pages.when(row['made'])}", role)
        for what, called, role, rows in places
        for row in rows
    ]


def _base(request: Request) -> str:
    return str(request.base_url.replace(scheme=pages.scheme_of(request))).rstrip("/")


@router.get("/access/links.csv", dependencies=pages.FOR_ADMINS)
def links_csv(request: Request, site: Here, scope: _Scope = "") -> Response:
    base = _base(request)
    rows = [
        {"label": link.label, "role": link.role, "for": link.scope or "everything", "person": link.person,
         "external": link.external, "made": pages.when(link.made), "expires": pages.when(link.expires),
         "state": link.state(), "link": f"{base}/enter?token={site.links.token(link)}"}
        for link in site.links.listed(scope or None)
    ]  # fmt: skip
    return pages.csv_response(rows, "links.csv")


@router.post("/access")
async def make_links(request: Request, site: Here) -> Response:
    form = await pages.received(request, "admin")
    role, scope = await run_in_threadpool(_purpose, site, form)
    labels = [line.strip()[:100] for line in form.text("labels").splitlines() if line.strip()]
    if not labels:
        count = form.number("count", 1, 1, 500)
        labels = ["" if count == 1 else f"{n}" for n in range(1, count + 1)]
    if len(labels) > 500:
        raise HTTPException(422, "at most 500 links at a time")
    days = form.number("days", 30, 1, 3650)
    await run_in_threadpool(site.links.create_all, role, labels, scope, days * DAY)
    return pages.go(f"/access?scope={quote(scope)}" if scope else "/access")


def _purpose(site: Site, form: pages.Form) -> tuple[Role, str]:
    if (purpose := form.text("for", "reader")) in ("reader", "admin"):
        return cast("Role", purpose), ""
    roles = {scope: role for scope, _, role in _places(site)}
    if purpose not in roles:
        raise HTTPException(422, "choose what the links are for")
    if form.yes("invite") and roles[purpose] == "annotator":
        return "invite", purpose
    return roles[purpose], purpose


@router.post("/access/{link}/{action}")
async def change_link(
    request: Request, site: Here, link: LinkKey, action: Literal["revoke", "renew", "forget"]
) -> Response:
    form = await pages.received(request, "admin")
    seconds = form.number("days", 30, 1, 3650) * DAY
    change = {
        "revoke": partial(site.links.revoke, link),
        "renew": partial(site.links.renew, link, seconds),
        "forget": partial(delete_person, site, link),
    }[action]
    if not await run_in_threadpool(change):
        raise HTTPException(404, "there is no such link")
    scope = form.text("scope", longest=100)
    return pages.go(f"/access?scope={quote(scope)}" if scope else "/access")
