"""The room of the user study: consent, three pages, one answer, breaks, and what came of it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.benchmarks.three_choice import three_choices
from whichone.errors import BadInput
from whichone.web.explorer.routes import REFUSALS
from whichone.web.forms import making, or_not_found, received
from whichone.web.site import Site, clean, go, may_call, may_read, show, site_of
from whichone.web.storage.database import Row
from whichone.web.study import study as room
from whichone.web.study.results import study_results
from whichone.web.tokens import Person

router = APIRouter()
_ENDS = (".", "!", "?", '"', "”", "»", ")", ":", "。")
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A study's key.")]


class GivenAnswer(BaseModel):
    """One item answered: the page picked, and the answer marked in it."""

    item: Annotated[int, Field(ge=0, le=10**6)]
    page: Annotated[str, Field(max_length=500)]
    span: Annotated[str, Field(max_length=2000)]


def _study(site: Site, key: str) -> tuple[Row, room.Plan]:
    return or_not_found(room.one_study(site.database, key), "study")


def page_text(site: Site, benchmark: str, pages: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Pages with all their text, from the benchmark that a study or campaign is over."""
    served = next((s for s in site.folder.benchmarks().values() if s.id == benchmark), None)
    if served is None:
        raise HTTPException(404, "the benchmark of this study is not here any more")
    found = site.tables.pages(served.corpus, pages)
    return {page: (title, joined(texts)) for page, (title, texts) in found.items()}


def joined(passages: list[str]) -> list[str]:
    """Passages that were cut in the middle of a sentence as the one paragraph they were."""
    whole: list[str] = []
    for text in passages:
        if whole and not whole[-1].rstrip().endswith(_ENDS):
            whole[-1] = f"{whole[-1].rstrip()} {text.lstrip()}"
        else:
            whole.append(text)
    return whole


def holds(text: list[str], span: str) -> bool:
    """Whether a page has the marked words, however its blanks are set."""
    return " ".join(span.split()) in " ".join(" ".join(text).split())


@router.get("/study", include_in_schema=False)
def study_list(request: Request) -> Response:
    may_read(request)
    site = site_of(request)
    return show(
        request,
        "studies.html",
        studies=room.studies(site.database),
        benchmarks=list(site.folder.benchmarks().values()),
        consent=room.CONSENT,
    )


@router.post("/study", include_in_schema=False)
async def make(request: Request) -> Response:
    new = await making(request, shows_gold=True)
    form = new.form
    seed = form.number("seed", 0, 0, 2**31)
    pilot = form.number("pilot", 2, 0, 50)
    wanted = form.number("items", 20, 1, 5000)
    chosen = await run_in_threadpool(
        three_choices, new.served.open(), seed=seed, most=wanted + pilot
    )
    plan = room.Plan(
        seed=seed,
        consent=form.text("consent") or room.CONSENT,
        pilot=pilot,
        break_after=form.number("break_after", 10, 0, 1000),
        items=chosen.items,
        wanted=wanted,
    )
    database = site_of(request).database
    await run_in_threadpool(room.make_study, database, new.key, new.served.id, new.title, plan)
    return go(request, f"/study/{new.key}/results")


@router.get("/study/{key}", include_in_schema=False)
def here(request: Request, key: Key) -> Response:
    """The one page of a study: whatever comes next for this person."""
    return _here(request, key, _annotator(request), None, 200)


def _here(
    request: Request, key: str, person: Person, error: str | None, status: int, sent: str = ""
) -> Response:
    site = site_of(request)
    row, plan = _study(site, key)
    place = room.place_of(site.database, key, plan, person.id)
    if place.step == "consent":
        practice = f", after {plan.pilot} for practice" if plan.pilot else ""
        return show(
            request, "consent.html", title=row["title"], consent=plan.consent,
            action=f"/study/{key}/consent", note=f"{place.total} questions{practice}.",
        )  # fmt: skip
    values: dict[str, Any] = {"study": row, "plan": plan, "place": place}
    if place.step in ("pick", "mark") and place.item is not None:
        room.item_shown(site.database, key, person.id, place.item)
        pages = room.pages_for(plan, person.id, place.item)
        texts = page_text(site, row["benchmark"], pages)
        values["pages"] = [(p, *texts.get(p, (p, []))) for p in pages]
        values["item"] = plan.items[place.item]
    return show(request, "study.html", status, error=error, sent=sent, **values)


def _annotator(request: Request) -> Person:
    person = may_read(request, "annotator")
    assert person is not None
    return person


@router.post("/study/{key}/{step}", include_in_schema=False)
async def step(request: Request, key: Key, step: str) -> Response:
    form = await received(request, "annotator")
    site, person = site_of(request), form.person
    row, plan = await run_in_threadpool(_study, site, key)
    if step == "consent":
        await run_in_threadpool(room.consent, site.database, key, person.id)
    elif step == "rest":
        place = await run_in_threadpool(room.place_of, site.database, key, plan, person.id)
        await run_in_threadpool(room.rest, site.database, key, person.id, place.done)
    elif step in ("pick", "mark"):
        item = form.number("item", -1, 0, len(plan.items) - 1)
        value = form.text("page" if step == "pick" else "span", longest=2000)
        try:
            await run_in_threadpool(_answer, site, key, row, plan, person.id, item, step, value)
        except BadInput as error:
            return await run_in_threadpool(_here, request, key, person, error.message, 422, value)
    else:
        raise HTTPException(404, "there is no such step")
    return go(request, f"/study/{key}")


def _answer(
    site: Site, key: str, row: Row, plan: room.Plan, person: str, item: int, step: str, value: str
) -> None:
    """Checks and keeps one pick or mark; one that was kept before is left as it was."""
    place = room.place_of(site.database, key, plan, person)
    if place.step == "consent":
        raise HTTPException(409, "the study has not been agreed to")
    if place.item != item or place.step != step:
        return  # sent twice, or from an old tab: what is kept stays
    if step == "pick":
        if value not in plan.items[item].pages:
            raise BadInput("pick one of the three pages")
        room.pick(site.database, key, person, item, value)
        return
    assert place.page is not None
    span = value.strip()
    text = page_text(site, row["benchmark"], [place.page]).get(place.page, ("", []))[1]
    if span and not holds(text, span):
        raise BadInput("these words are not in the page; mark them in it, or copy them")
    room.mark(site.database, key, person, item, span)


@router.get("/study/{key}/results", include_in_schema=False)
def results(request: Request, key: Key) -> Response:
    may_read(request, "admin")
    site = site_of(request)
    row, plan = _study(site, key)
    found = _results(site, key, row, plan)
    return show(request, "study_results.html", study=row, plan=plan, results=found)


def _results(site: Site, key: str, row: Row, plan: room.Plan) -> dict[str, Any]:
    benchmarks = site.folder.benchmarks().values()
    served = next((s for s in benchmarks if s.id == row["benchmark"]), None)
    return study_results(site, key, plan, served)


@router.get("/api/studies", responses=REFUSALS)
def list_studies(request: Request) -> list[dict[str, Any]]:
    """Every study."""
    may_read(request)
    return room.studies(site_of(request).database)


@router.get("/api/studies/{key}/results", responses=REFUSALS)
def get_results(request: Request, key: Key) -> dict[str, Any]:
    """People's accuracy, exact match, time and agreement, beside systems; for admins."""
    may_read(request, "admin")
    site = site_of(request)
    row, plan = _study(site, key)
    return _results(site, key, row, plan)


@router.post("/api/studies/{key}/answers", responses=REFUSALS)
def answer(request: Request, key: Key, given: GivenAnswer) -> dict[str, Any]:
    """Keeps the answer to the item that is next for this person; it is on disk when this returns."""
    person = may_call(request, "annotator", bearer=True)
    site = site_of(request)
    row, plan = _study(site, key)
    place = room.place_of(site.database, key, plan, person.id)
    if place.item != given.item or place.step not in ("pick", "mark"):
        raise HTTPException(409, f"the next step is {place.step}, item {place.item}")
    if place.step == "pick":
        room.item_shown(site.database, key, person.id, given.item)
        _answer(site, key, row, plan, person.id, given.item, "pick", clean(given.page))
    _answer(site, key, row, plan, person.id, given.item, "mark", clean(given.span))
    return {"kept": True, "item": given.item}
