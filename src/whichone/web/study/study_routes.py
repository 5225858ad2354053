"""The pages and the API of the user study: consent, three pages, one answer, breaks, results."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whichone.benchmarks.bearer_labels import three_choices
from whichone.errors import BadInput
from whichone.web import pages
from whichone.web.limits import REFUSALS
from whichone.web.served_folder import benchmark_named
from whichone.web.storage import STATES, Row, Transaction, set_state
from whichone.web.study import study as room
from whichone.web.study.study import scored_answers, study_results
from whichone.web.web_site import Here, Site, clean, committed, site_of

router = APIRouter()
_ENDS = (".", "!", "?", '"', "”", "»", ")", ":", "。")
_Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A study's key.")]


class GivenAnswer(BaseModel):
    """One item answered: the page picked, and the answer marked in it."""

    item: Annotated[int, Field(ge=0, le=10**6)]
    page: Annotated[str, Field(max_length=500)]
    span: Annotated[str, Field(max_length=2000)]


def _study(site: Site, key: str) -> tuple[Row, room.StudyPlan]:
    return pages.or_not_found(room.one_study(site.database, key), "study")


def page_text(site: Site, benchmark: str, page_ids: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Pages with all their text, from the benchmark that a study or campaign is over."""
    texts = site.tables.pages(benchmark_named(site.folder, benchmark).corpus, page_ids)
    return {page: (title, joined(passages)) for page, (title, passages) in texts.items()}


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
    return " ".join(span.split()) in " ".join(" ".join(text).split())


@router.get("/study", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def study_list(request: Request, site: Here) -> Response:
    return pages.show(
        request,
        "studies.html",
        studies=room.studies(site.database),
        benchmarks=list(site.folder.benchmarks().values()),
        consent=room.CONSENT,
    )


@router.post("/study", include_in_schema=False)
async def create(request: Request, site: Here) -> Response:
    new = await pages.creation(request, shows_gold=True)
    form = new.form
    seed = form.number("seed", 0, 0, 2**31)
    pilot = form.number("pilot", 2, 0, 50)
    wanted = form.number("items", 20, 1, 5000)
    chosen = await run_in_threadpool(three_choices, new.served.open(), seed=seed, most=wanted + pilot)
    page_ids = [page for item in chosen.items for page in item.pages]
    texts = await run_in_threadpool(page_text, site, new.served.id, page_ids)
    titles = {page: title for page, (title, _) in texts.items()}
    plan = room.StudyPlan(
        seed=seed, consent=form.text("consent") or room.CONSENT, pilot=pilot, wanted=wanted,
        break_after=form.number("break_after", 10, 0, 1000),
        items=room.with_checks(tuple(chosen.items), pilot, form.number("checks", 0, 0, 50), titles),
        guidelines=form.text("guidelines", longest=10_000).strip(),
        code=form.text("code", longest=100).strip(), return_url=form.address("return_url"),
    )  # fmt: skip
    await run_in_threadpool(room.make_study, site.database, new.key, new.served.id, new.title, plan)
    return pages.go(f"/access?scope=study:{new.key}")


@router.get("/study/{key}", include_in_schema=False)
def here(request: Request, key: _Key) -> Response:
    return _here(request, key, pages.must_be(request, "annotator", f"study:{key}").id, None, 200)


def _here(
    request: Request, key: str, person: str, error: str | None, status: int, sent: str = ""
) -> Response:
    site = site_of(request)
    row, plan = _study(site, key)
    if row["state"] != "open":
        return pages.show(request, "not_open.html", title=row["title"], state=row["state"])
    place = room.place_of(site.database, key, plan, person)
    if place.step == "consent":
        practice = f", after {plan.pilot} for practice" if plan.pilot else ""
        return pages.show(
            request, "consent.html", title=row["title"], consent=plan.consent,
            action=f"/study/{key}/consent", note=f"{place.total} questions{practice}.",
            guidelines=plan.guidelines, error=error,
        )  # fmt: skip
    values: dict[str, Any] = {"study": row, "plan": plan, "place": place}
    if place.step in ("pick", "mark") and place.item is not None:
        page_ids = room.pages_for(plan, person, place.item)
        texts = page_text(site, row["benchmark"], page_ids)
        values["pages"] = [(p, *texts.get(p, (p, []))) for p in page_ids]
        values["item"] = plan.items[place.item]
    return pages.show(request, "study.html", status, error=error, sent=sent, **values)


_STEPS = {
    "consent": room.consent, "rest": room.rest, "pause": room.pause, "resume": room.resume,
    "back": room.back,
}  # fmt: skip


@router.post("/study/{key}/state", include_in_schema=False)
async def change_state(request: Request, site: Here, key: _Key) -> Response:
    form = await pages.received(request, "admin")
    await run_in_threadpool(_study, site, key)
    await run_in_threadpool(set_state, site.database, "studies", "study", key, form.choice("state", STATES))
    return pages.go(f"/study/{key}/results")


@router.post("/study/{key}/{step}", include_in_schema=False)
async def step(request: Request, site: Here, key: _Key, step: str) -> Response:
    form = await pages.received(request, "annotator", f"study:{key}")
    person = form.person.id
    row, plan = await run_in_threadpool(_study, site, key)
    if row["state"] != "open":
        raise HTTPException(409, f"the study is {row['state']}: nothing was kept")
    if step in _STEPS:
        await committed(site, lambda t: _STEPS[step](t, key, plan, person))
    elif step in ("pick", "mark"):
        item = form.number("item", -1, 0, len(plan.items) - 1)
        value = form.text("page" if step == "pick" else "span", "-", longest=2000)
        if step == "pick" and form.yes("skip"):
            value = room.SKIPPED
        try:
            await run_in_threadpool(_check, site, key, row, plan, person, item, step, value)
            await committed(site, lambda t: _keep(t, key, plan, person, item, step, value))
        except BadInput as error:
            return await run_in_threadpool(_here, request, key, person, error.message, 422, value)
    else:
        raise HTTPException(404, "there is no such step")
    return pages.go(f"/study/{key}")


def _check(
    site: Site, key: str, row: Row, plan: room.StudyPlan, person: str, item: int, step: str, value: str
) -> None:
    """Refuses what cannot be kept; what was sent twice, or from an old tab, passes and changes nothing."""
    place = room.place_of(site.database, key, plan, person)
    if place.step == "consent":
        raise HTTPException(409, "the study has not been agreed to")
    if place.item != item or place.step != step:
        return
    if step == "pick" and value not in (*plan.items[item].pages, room.SKIPPED):
        raise BadInput("pick one of the three pages")
    if step == "mark" and place.page and value.strip():
        text = page_text(site, row["benchmark"], [place.page]).get(place.page, ("", []))[1]
        if not holds(text, value.strip()):
            raise BadInput("these words are not in the page; mark them in it, or copy them")


def _keep(
    t: Transaction, key: str, plan: room.StudyPlan, person: str, item: int, step: str, value: str
) -> None:
    place = room.place_of(t, key, plan, person)
    if place.item != item or place.step != step:
        return
    if step == "pick":
        room.pick(t, key, plan, person, item, value)
    else:
        room.mark(t, key, plan, person, item, value.strip())


@router.get("/study/{key}/results", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def results(request: Request, site: Here, key: _Key, everybody: bool = False) -> Response:
    row, plan = _study(site, key)
    shown = _results(site, key, row, plan, everybody)
    return pages.show(request, "study_results.html", study=row, plan=plan, results=shown, everybody=everybody)


def _results(site: Site, key: str, row: Row, plan: room.StudyPlan, everybody: bool = False) -> dict[str, Any]:
    return study_results(site, key, plan, site.folder.named(row["benchmark"]), everybody=everybody)


@router.get("/study/{key}/export/{what}", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def export(
    site: Here, key: _Key, what: Literal["answers.csv", "items.csv", "results.json"],
    everybody: bool = False,
) -> Response:  # fmt: skip
    row, plan = _study(site, key)
    if what == "answers.csv":
        external = {k.person: k.external for k in site.links.listed(f"study:{key}")}
        rows = [{**r, "external": external.get(r["person"], "")} for r in scored_answers(site, key, plan)]
        return pages.csv_response(rows, f"study-{key}-answers.csv")
    results = _results(site, key, row, plan, everybody)
    if what == "items.csv":
        return pages.csv_response(results["per_item"], f"study-{key}-items.csv")
    return JSONResponse(results)


@router.get("/api/studies", responses=REFUSALS, dependencies=pages.FOR_ADMINS)
def list_studies(site: Here) -> list[dict[str, Any]]:
    """Every study; for admins."""
    return room.studies(site.database)


@router.get("/api/studies/{key}/results", responses=REFUSALS, dependencies=pages.FOR_ADMINS)
def get_results(site: Here, key: _Key, everybody: bool = False) -> dict[str, Any]:
    """People's accuracy, exact match, time and agreement, beside systems; for admins."""
    row, plan = _study(site, key)
    return _results(site, key, row, plan, everybody)


@router.post("/api/studies/{key}/answers", responses=REFUSALS)
async def answer(request: Request, site: Here, key: _Key, given: GivenAnswer) -> dict[str, Any]:
    """Keeps the answer to the item that is next for this person; it is on disk when this returns."""
    person = pages.may_call(request, "annotator", f"study:{key}", bearer=True).id
    row, plan = await run_in_threadpool(_study, site, key)
    place = await run_in_threadpool(room.place_of, site.database, key, plan, person)
    if row["state"] != "open" or place.item != given.item or place.step not in ("pick", "mark"):
        raise HTTPException(409, f"the next step is {place.step}, item {place.item}")
    for step, value in (("pick", clean(given.page)), ("mark", clean(given.span))):
        await run_in_threadpool(_check, site, key, row, plan, person, given.item, step, value)
        work = partial(_keep, key=key, plan=plan, person=person, item=given.item, step=step, value=value)
        await committed(site, work)
    return {"kept": True, "item": given.item}
