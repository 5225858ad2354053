"""Forms as every room receives them: who sent one, its fields cleaned and checked, what it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from whichone.web.boards.hidden import hidden_benchmarks
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import clean, new_id, site_of
from whichone.web.tokens import Person, Role
from whichone.web.visitors import may_call

T = TypeVar("T")
_MOST_FIELDS = 200
_LONGEST_TITLE = 200


class Form:
    """What one person sent; every field is text that both databases can keep."""

    def __init__(self, person: Person, fields: FormData) -> None:
        self.person, self._fields = person, fields

    def text(self, name: str, default: str = "", longest: int = 20_000) -> str:
        value = self._fields.get(name, default)
        return default if isinstance(value, UploadFile) or value is None else clean(value, longest)

    def number(self, name: str, default: int, low: int, high: int) -> int:
        try:
            number = int(self.text(name, str(default)) or default)
        except ValueError:
            raise HTTPException(422, f"{name} must be a whole number") from None
        if not low <= number <= high:
            raise HTTPException(422, f"{name} must lie between {low:,} and {high:,}")
        return number

    def fraction(self, name: str, default: float) -> float:
        try:
            number = float(self.text(name) or default)
        except ValueError:
            raise HTTPException(422, f"{name} must be a number") from None
        if not 0 <= number <= 1:
            raise HTTPException(422, f"{name} must lie between 0 and 1")
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
        value = self.text(name, default)
        if value not in choices:
            raise HTTPException(422, f"{name} must be one of {', '.join(choices)}")
        return value

    def address(self, name: str) -> str:
        """A web address, or nothing."""
        value = self.text(name, longest=500).strip()
        if value and not value.startswith(("https://", "http://")):
            raise HTTPException(422, f"{name} must begin with https://")
        return value

    def file(self, name: str) -> UploadFile:
        file = self._fields.get(name)
        if not isinstance(file, UploadFile):
            raise HTTPException(422, "choose a file")
        return file


async def received(request: Request, role: Role | None, scope: str = "") -> Form:
    """Lets a form in: a role, a limit on how often, and proof that the form was ours."""
    person = may_call(request, role, scope)
    if not request.headers.get("content-type", "").startswith(
        ("application/x-www-form-urlencoded", "multipart/form-data")
    ):
        raise HTTPException(415, "a form is expected")
    form = Form(person, await request.form(max_files=1, max_fields=_MOST_FIELDS))
    if "authorization" not in request.headers and not site_of(request).tokens.form_is_ours(
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
    served = site.folder.benchmark(form.text("benchmark"))
    if served is None:
        raise HTTPException(422, "choose a benchmark")
    if shows_gold and served.id in await run_in_threadpool(hidden_benchmarks, site):
        raise HTTPException(422, "a leaderboard hides the gold of this benchmark: choose another")
    title = form.text("title", longest=_LONGEST_TITLE).strip() or served.name
    return Creation(new_id(), title, served, form)


def or_not_found(value: T | None, what: str) -> T:
    """What a key in an address means."""
    if value is None:
        raise HTTPException(404, f"there is no such {what}")
    return value
