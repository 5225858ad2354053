"""The room of annotation: a question with passages, what people say of them, what comes of it."""

from __future__ import annotations

import random
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.errors import BadInput
from whichone.web import campaign as room
from whichone.web.campaign_merge import campaign_results, done_tasks, low_overlap, new_version
from whichone.web.campaign_tasks import make_tasks
from whichone.web.house import (
    House,
    clean,
    committed,
    go,
    house_of,
    may_call,
    may_read,
    may_write,
    new_id,
    number_field,
    show,
    text_field,
)  # fmt: skip
from whichone.web.passage_cache import shelf_named
from whichone.web.rooms.explorer import REFUSALS
from whichone.web.storage.database import Readable, Row, Transaction

router = APIRouter()
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A campaign's key.")]
Number = Annotated[int, Path(ge=0, le=2**53)]


class JudgedPassage(BaseModel):
    """Whether a passage has enough evidence, and the words that hold it."""

    enough: bool
    span: Annotated[str, Field(max_length=5000)] = ""


class GivenAnnotation(BaseModel):
    """What a person says of the task they have in hand."""

    passages: Annotated[dict[str, JudgedPassage], Field(max_length=20)]
    other: Annotated[str, Field(max_length=10_000)] = ""
    reason: Annotated[str, Field(max_length=2000)] = ""


def _campaign(database: Readable, key: str) -> tuple[Row, room.Plan]:
    found = room.one_campaign(database, key)
    if found is None:
        raise HTTPException(404, "there is no such campaign")
    return found


@router.get("/annotate", include_in_schema=False)
def campaign_list(request: Request) -> Response:
    may_read(request)
    house = house_of(request)
    return show(
        request,
        "campaigns.html",
        campaigns=room.campaigns(house.database),
        shelves=[s for s in house.library.shelves().values() if s.runs],
    )


@router.post("/annotate", include_in_schema=False)
async def make(request: Request) -> Response:
    _, form = await may_write(request, "admin")
    house = house_of(request)
    shelf = house.library.shelf(text_field(form, "benchmark"))
    if shelf is None:
        raise HTTPException(422, "choose a benchmark")
    seed = number_field(form, "seed", 0, 0, 2**31)
    most = number_field(form, "questions", 100, 1, 100_000)
    try:
        limit = float(text_field(form, "low_overlap", "0.15"))
    except ValueError:
        raise HTTPException(422, "low_overlap must be a number") from None
    runs = list(shelf.runs.values())
    made = await run_in_threadpool(make_tasks, shelf, runs, house.shelves, seed=seed, most=most)
    names = tuple(run.name for run in runs)
    plan = room.Plan(seed=seed, runs=names, low_overlap=limit, counts=made.counts)
    key, title = new_id(), text_field(form, "title", shelf.name, 200)
    await run_in_threadpool(
        room.make_campaign, house.database, key, shelf.id, title, plan, made.tasks
    )
    return go(request, f"/annotate/{key}/results")


@router.get("/annotate/{key}", include_in_schema=False)
async def here(request: Request, key: Key, kept: bool = False) -> Response:
    """The task this person has in hand."""
    person = may_read(request, "annotator")
    assert person is not None
    return await run_in_threadpool(_here, request, key, person.id, kept, None, 200)


def _here(
    request: Request, key: str, person: str, kept: bool, error: str | None, status: int
) -> Response:
    house = house_of(request)
    row, plan = _campaign(house.database, key)
    given = room.next_task(house.database, key, person)
    passages: list[tuple[str, str, str]] = []
    if given is not None:
        ids = [p.id for p in given.task.passages]
        texts = house.passages.texts(row["benchmark"], ids)
        random.Random(f"{plan.seed}:{person}:{given.number}").shuffle(ids)
        passages = [(i, *texts.get(i, (i, ""))) for i in ids]
    return show(
        request,
        "annotate.html",
        status,
        campaign=row,
        given=given,
        passages=passages,
        kept=kept,
        error=error,
        progress=room.progress_of(house.database, key, person),
    )


def _keep(
    t: Transaction, house: House, key: str, number: int, person: str, said: room.Annotation
) -> bool:
    """Checks and keeps one annotation, and moves its task on; False when it was kept before."""
    row, plan = _campaign(t, key)
    held = room.in_hand(t, key, person)
    if held is None or held["task"] != number:
        return False
    task = room.given_task(held).task
    texts = house.passages.texts(row["benchmark"], [p.id for p in task.passages])
    room.check_annotation(task, said, {i: text for i, (_, text) in texts.items()})
    kept = room.keep(t, key, number, person, said)
    if kept and room.is_full(t, key, number):
        settle(t, house, key, row, plan, number)
    return kept


def settle(
    t: Transaction, house: House, key: str, row: Row, plan: room.Plan, number: int | None = None
) -> None:
    """Moves finished tasks of the first queue on: to the second where overlap is low, else away."""
    for done in done_tasks(room.everything(t, key, number)):
        if done.queue != room.FIRST or len(done.first) < room.PEOPLE:
            continue
        found = house.passages.texts(row["benchmark"], [p.id for p in done.task.passages])
        texts = {i: text for i, (_, text) in found.items()}
        again = low_overlap(done, texts, plan.low_overlap)
        room.move(t, key, done.number, room.SECOND if again else room.SETTLED)


def _from_form(form: FormData) -> room.Annotation:
    judged: dict[str, room.Judged] = {}
    for name in form:
        if name.startswith("enough:"):
            identity = clean(name.removeprefix("enough:"), 500)
            span = text_field(form, f"span:{identity}", longest=5000)
            judged[identity] = room.Judged(text_field(form, name) == "yes", span.strip())
    other, reason = text_field(form, "other", longest=10_000), text_field(form, "reason")
    return room.Annotation(judged, other, reason[:2000])


@router.post("/annotate/{key}/task/{number}", include_in_schema=False)
async def answer_form(request: Request, key: Key, number: Number) -> Response:
    person, form = await may_write(request, "annotator")
    house = house_of(request)
    try:
        await committed(house, lambda t: _keep(t, house, key, number, person.id, _from_form(form)))
    except BadInput as error:
        return await run_in_threadpool(_here, request, key, person.id, False, error.message, 422)
    return go(request, f"/annotate/{key}?kept=true")


@router.get("/annotate/{key}/results", include_in_schema=False)
def results(request: Request, key: Key) -> Response:
    may_read(request, "admin")
    house = house_of(request)
    row, plan = _campaign(house.database, key)
    found = _results(house, key, row, plan)
    return show(request, "campaign_results.html", campaign=row, plan=plan, results=found)


def _results(
    house: House, key: str, row: Row, plan: room.Plan, without_flagged: bool = False
) -> dict[str, Any]:
    house.database.write(lambda t: settle(t, house, key, row, plan))
    shelf = shelf_named(house.library, row["benchmark"])
    gold = {q.id: q.gold_pages() for q in shelf.benchmark().queries}
    tasks = done_tasks(room.everything(house.database, key))
    return campaign_results(tasks, gold.__getitem__, without_flagged=without_flagged)


@router.post("/annotate/{key}/version", include_in_schema=False)
async def make_version(request: Request, key: Key) -> Response:
    """A new version of the benchmark, beside the others in the served folder."""
    _, form = await may_write(request, "admin")
    house = house_of(request)
    strict = text_field(form, "without_flagged") == "yes"
    await run_in_threadpool(_make_version, house, key, strict)
    house.library.look_again()
    return go(request, "/")


def _make_version(house: House, key: str, without_flagged: bool) -> None:
    if house.library.root is None:
        raise HTTPException(422, "a new version needs a folder: start the server with one")
    row, plan = _campaign(house.database, key)
    found = _results(house, key, row, plan, without_flagged)
    shelf = shelf_named(house.library, row["benchmark"])
    new_version(
        shelf.benchmark(),
        done_tasks(room.everything(house.database, key)),
        house.library.root / f"annotated-{key}",
        campaign=key,
        plan=plan,
        results=found,
        without=frozenset(found["flagged"] if without_flagged else ()),
    )


@router.get("/api/campaigns", responses=REFUSALS)
def list_campaigns(request: Request) -> list[dict[str, Any]]:
    """Every campaign."""
    may_read(request)
    return room.campaigns(house_of(request).database)


@router.get("/api/campaigns/{key}/task", responses=REFUSALS)
async def task_in_hand(request: Request, key: Key) -> dict[str, Any]:
    """The task this person has in hand, without which passage is the control; null when none."""
    person = may_call(request, "annotator", bearer=True)
    house = house_of(request)

    def work(t: Transaction) -> tuple[room.Given | None, dict[str, tuple[str, str]]]:
        row, _ = _campaign(t, key)
        given = room.hand_out(t, key, person.id)
        ids = [p.id for p in given.task.passages] if given else []
        return given, house.passages.texts(row["benchmark"], ids)

    given, texts = await committed(house, work)
    if given is None:
        return {"task": None}
    return {
        "task": given.number, "queue": given.queue, "question": given.task.question,
        "passages": [{"id": i, "title": t, "text": x} for i, (t, x) in sorted(texts.items())],
    }  # fmt: skip


@router.post("/api/campaigns/{key}/tasks/{number}/annotation", responses=REFUSALS)
async def annotate(
    request: Request, key: Key, number: Number, given: GivenAnnotation
) -> dict[str, Any]:
    """Keeps what this person says of the task in hand; it is on disk when this returns."""
    person = may_call(request, "annotator", bearer=True)
    house = house_of(request)
    judged = {
        clean(i, 500): room.Judged(p.enough, clean(p.span)) for i, p in given.passages.items()
    }
    said = room.Annotation(judged, clean(given.other), clean(given.reason))
    if not await committed(house, lambda t: _keep(t, house, key, number, person.id, said)):
        raise HTTPException(409, "this person does not have this task in hand")
    return {"kept": True, "task": number}


@router.get("/api/campaigns/{key}/results", responses=REFUSALS)
def get_results(request: Request, key: Key) -> dict[str, Any]:
    """Counts, agreement, controls, pages per question before and after; for admins."""
    may_read(request, "admin")
    house = house_of(request)
    row, plan = _campaign(house.database, key)
    return {"plan": msgspec.to_builtins(plan), **_results(house, key, row, plan)}
