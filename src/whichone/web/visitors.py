"""Who asks, and what they may do: by a bearer token, or by the cookie that a link left."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.web.site import site_of
from whichone.web.storage.database import StorageUnavailable
from whichone.web.tokens import DAY, Person, Role

COOKIE = "whichone"
_NOT_LOCAL = ("authorization", "forwarded", "via", "x-forwarded-for", "x-real-ip")
"""Headers of a request that does not come from this machine's own browser: a token's, a proxy's."""


def visitor(request: Request) -> Person | None:
    """Who asks; on a server without login whoever has no token is the admin of this machine."""
    known: Person | None
    if hasattr(request.state, "person"):
        known = request.state.person
        return known
    site = site_of(request)
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    person = site.links.person(token)
    if person is None and site.local is not None and _is_local(request):
        person = site.local
    request.state.person = person
    return person


def visitor_or_nobody(request: Request) -> Person | None:
    """The same for pages that must be shown when the database does not answer."""
    try:
        return visitor(request)
    except StorageUnavailable:
        return None


def _is_local(request: Request) -> bool:
    """Proxies speak HTTP/1.0 to what is behind them unless configured otherwise; browsers do not."""
    by_proxy = any(name in request.headers for name in _NOT_LOCAL)
    return not by_proxy and request.scope.get("http_version") != "1.0"


def may_read(request: Request, role: Role = "reader", scope: str = "") -> Person | None:
    """Lets a reader in, or everybody where the server is public; raises for the others."""
    person = visitor(request)
    if person is not None and person.may(role, scope):
        return person
    if person is None and site_of(request).settings.public and role == "reader":
        return None
    raise _refused(person, role)


def must_be(request: Request, role: Role, scope: str = "") -> Person:
    """The same where the page is about the person who asks."""
    person = may_read(request, role, scope)
    if person is None:
        raise _refused(person, role)
    return person


def _refused(person: Person | None, role: Role) -> HTTPException:
    if person is None:
        return HTTPException(401, f"this needs a link for the role {role}")
    if person.scope:
        return HTTPException(403, "your link is for another page")
    return HTTPException(403, f"this needs a link for the role {role}")


def may_call(
    request: Request, role: Role | None, scope: str = "", *, bearer: bool = False
) -> Person:
    """Lets a writer through by role and rate; the API wants a bearer token or the form's own."""
    site = site_of(request)
    person = visitor(request)
    key = person.id if person else f"host {request.client.host if request.client else ''}"
    if not site.writes.take(key):
        raise HTTPException(429, "too many requests; wait a moment", {"retry-after": "5"})
    if person is None or (role is not None and not person.may(role, scope)):
        raise _refused(person, role or "reader")
    by_cookie = "authorization" not in request.headers
    if (
        bearer
        and by_cookie
        and not site.tokens.form_is_ours(person, request.headers.get("x-form-token", ""))
    ):
        raise HTTPException(403, "send a token as Authorization: Bearer, or the X-Form-Token")
    return person


def scheme_of(request: Request) -> str:
    """What the visitor's browser speaks, as a proxy in front reports it."""
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
