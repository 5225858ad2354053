"""How a page is shown: its template, the visitor, and the way on after a form."""

import contextlib
import csv
import io
import json
import shutil
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import IO, Any, TypeVar, cast

from fastapi import Depends
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from whichone.report.page import not_a_formula, visible, without_id
from whichone.web.boards.board import hidden_benchmarks
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage import StorageUnavailable
from whichone.web.web_site import DAY, Role, Site, Visitor, clean, new_id, place_of_scope, site_of

# Who asks, and what they may do: by a bearer token, or by the cookie that a link left.

COOKIE = "whichone"


def visitor(request: Request) -> Visitor | None:
    """Who asks: by the token in the header where there is one, else by the cookie."""
    if not hasattr(request.state, "person"):
        site = site_of(request)
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if by_bearer := scheme.lower() == "bearer":
            person = site.links.person(sent.strip())
        else:
            person = site.person_of_cookie(request.cookies.get(COOKIE, ""))
        request.state.person, request.state.by_bearer = person, by_bearer and person is not None
    return cast("Visitor | None", request.state.person)


def identified_by_bearer(request: Request) -> bool:
    """Whether a token in the header says who asks: no other site can make a browser send one."""
    return visitor(request) is not None and bool(request.state.by_bearer)


def may_read(request: Request, role: Role = "reader", scope: str = "") -> Visitor | None:
    """Lets a reader in, or everybody where the server is public; raises for the others."""
    person = visitor(request)
    if person is None and site_of(request).settings.public and role == "reader":
        return None
    if person is None or not person.may(role, scope):
        raise _refused(person, role)
    return person


def must_be(request: Request, role: Role, scope: str = "") -> Visitor:
    """The same where the page is about the person who asks."""
    if (person := may_read(request, role, scope)) is None:
        raise _refused(person, role)
    return person


def _admin(request: Request) -> None:
    may_read(request, "admin")


FOR_ADMINS = [Depends(_admin)]


def _refused(person: Visitor | None, role: Role) -> HTTPException:
    if person is not None and person.scope:
        return HTTPException(403, "your link is for another page")
    return HTTPException(401 if person is None else 403, f"this needs a link for the role {role}")


def may_call(request: Request, role: Role | None, scope: str = "", *, bearer: bool = False) -> Visitor:
    """Lets a writer through by role and rate; the API wants a bearer token or the form's own."""
    site = site_of(request)
    person = visitor(request)
    key = person.id if person else f"host {request.client.host if request.client else ''}"
    if not site.writes.take(key):
        raise HTTPException(429, "too many requests; wait a moment", {"retry-after": "5"})
    if person is None or (role is not None and not person.may(role, scope)):
        raise _refused(person, role or "reader")
    if (
        bearer
        and not identified_by_bearer(request)
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
        COOKIE, token, max_age=int(30 * DAY), httponly=True, samesite="lax", path="/",
        secure=scheme_of(request) == "https",
    )  # fmt: skip


_ROOMS_OF_READERS = [("/", "Explorer"), ("/ask", "Ask"), ("/boards", "Leaderboard")]
_ROOMS_OF_ADMINS = [("/study", "User study"), ("/annotate", "Annotation"), ("/access", "Access")]
_ROOMS = ("explorer", "study", "annotation", "boards")
_TEMPLATES = ("whichone.report", "whichone.web", *(f"whichone.web.{room}" for room in _ROOMS))


@cache
def template_environment() -> Environment:
    """Escapes everything; a template cannot reach the internals of what it is given.

    One for all applications of a process, so that a template is compiled once.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([PackageLoader(package) for package in _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "when": when, "bdi": isolated, "sentence": sentence, "label": lambda text: without_id(text)[0],
        "direction": direction,
    }  # fmt: skip
    return environment


def isolated(name: object) -> Markup:
    """A name whose direction of writing ends with it."""
    return Markup("<bdi>{}</bdi>").format(visible(name))


def direction(text: object) -> str:
    """Which way most letters of a text run: it may begin with a name in another script."""
    kinds = [unicodedata.bidirectional(letter) for letter in str(text or "")]
    return "rtl" if kinds.count("R") + kinds.count("AL") > kinds.count("L") else "ltr"


def sentence(text: str) -> str:
    """A message with a capital, unless it begins with the name of something, and an end."""
    begun = text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
    return begun if begun.endswith((".", "?", "!")) else f"{begun}."


_ASSETS = {
    "web.css": "text/css; charset=utf-8",
    "web.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


async def asset_response(name: str) -> Response:
    if name not in _ASSETS:
        raise HTTPException(404, "no such file")
    content = (files("whichone.web") / "assets" / name).read_bytes()
    return Response(content, media_type=_ASSETS[name], headers={"cache-control": "public, max-age=300"})


def show(request: Request, page: str, status: int = 200, **values: Any) -> Response:
    site, person = site_of(request), None
    with contextlib.suppress(StorageUnavailable):  # a refusal must be shown all the same
        person = visitor(request)
    html = request.app.state.templates.get_template(page).render(
        person=person,
        form_token=site.tokens.form_token(person) if person else "",
        here=request.url.path,
        rooms=_rooms_of(site, person),
        contact=site.settings.contact,
        **values,
    )
    return HTMLResponse(html, status)


def _rooms_of(site: Site, person: Visitor | None) -> list[tuple[str, str]]:
    """The rooms that somebody may enter; whoever has a link for one page has that one."""
    if person is not None and person.scope:
        return [(place_of_scope(person.scope), "Your page")]
    if person is None and not site.settings.public:
        return []
    asked: list[ServedBenchmark] = []
    with contextlib.suppress(StorageUnavailable):
        asked = readable_benchmarks(site, person)
    rooms = [*_ROOMS_OF_READERS, *(_ROOMS_OF_ADMINS if person and person.may("admin") else [])]
    return [room for room in rooms if asked or room[0] != "/ask"]


def readable_benchmarks(site: Site, person: Visitor | None) -> list[ServedBenchmark]:
    """The benchmarks that somebody may see: those whose gold a board hides are there for admins alone."""
    hidden = frozenset[str]() if person and person.may("admin") else hidden_benchmarks(site)
    return [served for served in site.folder.benchmarks().values() if served.id not in hidden]


def go(place: str) -> Response:
    return RedirectResponse(place, 303)


def when(seconds: float) -> str:
    """A moment as people write it; distinguishes what has the same title."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


# Rows as CSV files that spreadsheets open without running anything in them.


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    listed = list(rows)
    names = list(columns) or list(dict.fromkeys(name for row in listed for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in listed:
        writer.writerow([_cell(row.get(name)) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False)
    return not_a_formula(value)


def csv_response(rows: Iterable[Mapping[str, Any]], name: str, columns: Sequence[str] = ()) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(csv_text(rows, columns), media_type="text/csv", headers=headers)


# Forms as every room receives them: who sent one, its fields cleaned and checked, what it makes.

T = TypeVar("T")
N = TypeVar("N", int, float)
_MOST_FIELDS = 200
_LONGEST_TITLE = 200


class Form:
    """What one person sent; every field is text that both databases can keep."""

    def __init__(self, person: Visitor, fields: FormData) -> None:
        self.person, self._fields = person, fields

    def text(self, name: str, default: str = "", longest: int = 20_000) -> str:
        value = self._fields.get(name, default)
        return default if isinstance(value, UploadFile) or value is None else clean(value, longest)

    def number(self, name: str, default: N, low: int, high: int) -> N:
        """A whole number where the default is one."""
        try:
            number = type(default)(self.text(name) or default)
        except ValueError:
            kind = "whole number" if isinstance(default, int) else "number"
            raise HTTPException(422, f"{name} must be a {kind}") from None
        if not low <= number <= high:
            raise HTTPException(422, f"{name} must be between {low:,} and {high:,}")
        return number

    def yes(self, name: str) -> bool:
        return self.text(name) == "yes"

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The fields whose names begin so, by the rest of their names."""
        return {
            clean(name.removeprefix(prefix), 500): self.text(name)
            for name in self._fields
            if name.startswith(prefix)
        }

    def choice(self, name: str, choices: Sequence[str], default: str = "") -> str:
        if (value := self.text(name, default)) not in choices:
            raise HTTPException(422, f"{name} must be one of {', '.join(choices)}")
        return value

    def address(self, name: str) -> str:
        value = self.text(name, longest=500).strip()
        if value and not value.startswith(("https://", "http://")):
            raise HTTPException(422, f"{name} must begin with https://")
        return value

    def file(self, name: str) -> IO[bytes]:
        """The file; several as one zip archive of them."""
        if not (files := [f for f in self._fields.getlist(name) if isinstance(f, UploadFile)]):
            raise HTTPException(422, "choose a file")
        if len(files) == 1:
            return files[0].file
        packed = tempfile.TemporaryFile()  # noqa: SIM115
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                with archive.open(file.filename or "file", "w") as target:
                    shutil.copyfileobj(file.file, target)
        packed.seek(0)
        return packed


async def received(request: Request, role: Role | None, scope: str = "", most_files: int = 1) -> Form:
    """Lets a form in: a role, a limit on how often, and proof that the form was ours."""
    person = may_call(request, role, scope)
    if not request.headers.get("content-type", "").startswith(
        ("application/x-www-form-urlencoded", "multipart/form-data")
    ):
        raise HTTPException(415, "a form is expected")
    form = Form(person, await request.form(max_files=most_files, max_fields=_MOST_FIELDS))
    if not identified_by_bearer(request) and not site_of(request).tokens.form_is_ours(
        person, form.text("form_token")
    ):
        await request.close()
        raise HTTPException(403, "this form was not made for you, or is too old; open it again")
    return form


@dataclass(frozen=True)
class Creation:
    """A study, campaign or leaderboard about to be made: its key and title, what it is over."""

    key: str
    title: str
    served: ServedBenchmark
    form: Form


async def creation(request: Request, *, shows_gold: bool) -> Creation:
    """An admin's form for something new over a benchmark; people see no gold that is hidden."""
    form = await received(request, "admin")
    site = site_of(request)
    if (served := site.folder.benchmark(form.text("benchmark"))) is None:
        raise HTTPException(422, "choose a benchmark")
    if shows_gold and served.id in await run_in_threadpool(hidden_benchmarks, site):
        raise HTTPException(422, "a leaderboard hides the gold of this benchmark: choose another")
    title = form.text("title", longest=_LONGEST_TITLE).strip() or served.name
    return Creation(new_id(), title, served, form)


def or_not_found(value: T | None, what: str) -> T:
    if value is None:
        raise HTTPException(404, f"there is no such {what}")
    return value
