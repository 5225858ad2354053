"""What all rooms share: settings, the served folder, the database, the tokens, and how a page is shown."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from whichone.web.annotation.queue import Plan
from whichone.web.limits import Buckets
from whichone.web.passage_cache import PassageCache
from whichone.web.served_folder import ServedFolder
from whichone.web.storage.database import Database, Row, Transaction, open_database
from whichone.web.table_reader import TableReader
from whichone.web.tokens import DAY, Person, Role, Tokens, secret_of

T = TypeVar("T")

COOKIE = "whichone"
_NOT_LOCAL = ("authorization", "forwarded", "via", "x-forwarded-for", "x-real-ip")
"""Headers of a request that does not come from this machine's own browser: a token's, a proxy's."""
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_ROOMS = ("explorer", "study", "annotation", "boards")
_TEMPLATES = ("whichone.web", *(f"whichone.web.{room}" for room in _ROOMS))


@dataclass(frozen=True)
class Settings:
    """How the server was asked to run."""

    folder: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    database: str | None = None
    public: bool = False
    """Whether anybody may read; writing needs a token all the same."""
    cache: Path | None = None
    upload_bytes: int = 64 * 2**20
    unpacked_bytes: int = 512 * 2**20
    submissions_a_day: int = 20
    writes_a_second: float = 10.0
    write_burst: int = 60
    hosts: tuple[str, ...] = ()
    """Names that the server goes by, beside its own address."""

    @property
    def loopback(self) -> bool:
        return self.host in LOOPBACK

    def database_url(self) -> str:
        return self.database or str((self.folder or Path()) / "whichone-web.sqlite")


@dataclass
class Site:
    settings: Settings
    folder: ServedFolder
    tables: TableReader
    database: Database
    tokens: Tokens
    pages: Environment
    writes: Buckets
    passages: PassageCache
    tries: Buckets = field(default_factory=lambda: Buckets(0.5, 20))
    campaigns: dict[str, tuple[Row, Plan]] = field(default_factory=dict)
    local: Person | None = None
    """Whoever sits at the machine of a server on loopback."""


def open_site(settings: Settings) -> Site:
    database = open_database(settings.database_url())
    tokens = Tokens(secret_of(database))
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["when"] = when
    folder, tables = ServedFolder(settings.folder, cache=settings.cache), TableReader()
    return Site(
        settings=settings,
        folder=folder,
        tables=tables,
        passages=PassageCache(folder, tables),
        database=database,
        tokens=tokens,
        pages=pages,
        writes=Buckets(settings.writes_a_second, settings.write_burst),
        local=tokens.person(tokens.link("admin", "local")) if settings.loopback else None,
    )


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


def asset(name: str) -> bytes:
    return (files("whichone.web") / "assets" / name).read_bytes()


def person_of(request: Request) -> Person | None:
    """Who asks, by a bearer token, or by the cookie that a signed link left."""
    site = site_of(request)
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return site.tokens.person(bearer.strip())
    return site.tokens.person(request.cookies.get(COOKIE, ""))


def visitor(request: Request) -> Person | None:
    """Who asks; on loopback whoever has no token is the admin of this machine's own server."""
    person = person_of(request)
    if person is None and not any(name in request.headers for name in _NOT_LOCAL):
        person = site_of(request).local
        request.state.new = person is not None
    return person


def may_read(request: Request, role: Role = "reader") -> Person | None:
    """Lets a reader in, or everybody where the server is public; raises for the others."""
    site, person = site_of(request), visitor(request)
    if person is not None and person.may(role):
        return person
    if person is None and site.settings.public and role == "reader":
        return None
    raise HTTPException(403 if person else 401, f"this needs a link for the role {role}")


def may_call(request: Request, role: Role, *, bearer: bool = False) -> Person:
    """Lets a writer through by role and rate; the API wants a bearer token or the form's own."""
    site = site_of(request)
    person = visitor(request)
    key = person.id if person else f"host {request.client.host if request.client else ''}"
    if not site.writes.take(key):
        raise HTTPException(429, "too many requests; wait a moment", {"retry-after": "5"})
    if person is None or not person.may(role):
        raise HTTPException(403 if person else 401, f"this needs a link for the role {role}")
    by_cookie = "authorization" not in request.headers
    if (
        bearer
        and by_cookie
        and not site.tokens.form_is_ours(person, request.headers.get("x-form-token", ""))
    ):
        raise HTTPException(403, "send a token as Authorization: Bearer, or the X-Form-Token")
    return person


async def committed(site: Site, work: Callable[[Transaction], T]) -> T:
    """Work on the database, awaited until it is on disk; no thread is held meanwhile."""
    return await asyncio.wrap_future(site.database.submit(work))


def clean(text: str, longest: int = 20_000) -> str:
    """Text as both databases can keep it: no NUL, no lone surrogates, not longer than it may be."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:longest]


def show(request: Request, page: str, status: int = 200, **values: Any) -> Response:
    """A page from its template; the visitor's cookie is set where they are new on loopback."""
    site = site_of(request)
    person = visitor(request)
    shown = site.pages.get_template(page).render(
        person=person,
        form_token=site.tokens.form_token(person) if person else "",
        here=request.url.path,
        **values,
    )
    response = HTMLResponse(shown, status)
    keep_visitor(request, response)
    return response


def go(request: Request, place: str) -> Response:
    """On to another page after a form."""
    response = RedirectResponse(place, 303)
    keep_visitor(request, response)
    return response


def keep_visitor(request: Request, response: Response) -> None:
    local = site_of(request).local
    if local is not None and getattr(request.state, "new", False):
        set_cookie(request, response, local.token)


def scheme_of(request: Request) -> str:
    """What the visitor's browser speaks, as a proxy in front tells it."""
    scheme = request.headers.get("x-forwarded-proto", "").strip().lower()
    return scheme if scheme in ("http", "https") else request.url.scheme


def set_cookie(request: Request, response: Response, token: str) -> None:
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(30 * DAY),
        httponly=True,
        samesite="lax",
        secure=scheme_of(request) == "https",
        path="/",
    )


def when(seconds: float) -> str:
    """A moment as people write it; tells apart what has the same title."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def new_id() -> str:
    return secrets.token_hex(8)
