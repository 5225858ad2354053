"""How a page is shown: its template, the visitor, and the way on after a form."""

from __future__ import annotations

import time
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from whichone.web.site import site_of
from whichone.web.visitors import visitor_or_nobody

_ROOMS = ("explorer", "study", "annotation", "boards")
_TEMPLATES = ("whichone.web", *(f"whichone.web.{room}" for room in _ROOMS))


@cache
def template_environment() -> Environment:
    """Escapes everything; a template cannot reach the internals of what it is given.

    One for all applications of a process, so that a template is compiled once.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([PackageLoader(package) for package in _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["when"] = when
    return environment


def asset(name: str) -> bytes:
    return (files("whichone.web") / "assets" / name).read_bytes()


def show(request: Request, page: str, status: int = 200, **values: Any) -> Response:
    """A page from its template, as it is for whoever asks."""
    site = site_of(request)
    person = visitor_or_nobody(request)
    html = request.app.state.templates.get_template(page).render(
        person=person,
        form_token=site.tokens.form_token(person) if person else "",
        here=request.url.path,
        contact=site.settings.contact,
        **values,
    )
    return HTMLResponse(html, status)


def go(place: str) -> Response:
    """On to another page after a form."""
    return RedirectResponse(place, 303)


def when(seconds: float) -> str:
    """A moment as people write it; distinguishes what has the same title."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
