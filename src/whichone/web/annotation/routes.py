"""The room of annotation: a task, what people say of it, what comes of it; whatever the kind."""

from __future__ import annotations

from pathlib import Path as Place
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone.errors import BadInput
from whichone.web.annotation import queue
from whichone.web.annotation.done import Done, annotation_lines, done_tasks
from whichone.web.annotation.kind import GivenAnnotation, Kind
from whichone.web.annotation.kinds import KINDS, kind_named
from whichone.web.explorer.routes import REFUSALS
from whichone.web.forms import Form, making, or_not_found, received
from whichone.web.passage_cache import benchmark_named
from whichone.web.site import Site, committed, go, may_call, may_read, show, site_of
from whichone.web.storage.database import Readable, Row, Transaction

router = APIRouter()
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A campaign's key.")]
Number = Annotated[int, Path(ge=0, le=2**53)]
_Version = Annotated[str, StringConstraints(pattern="^annotated-[a-z0-9-]{1,100}$")]
Made = Annotated[tuple[_Version, ...], Query(max_length=200)]
_LOST = (
    "what you sent was not kept: you do not have that task in hand any more, as one that is not "
    "answered for two hours goes to someone else"
)


def _campaign(site: Site, t: Readable, key: str) -> tuple[Row, queue.Plan]:
    """A campaign, which never changes once it is made, is read once."""
    known = site.campaigns.get(key)
    if known is None:
        known = or_not_found(queue.one_campaign(t, key), "campaign")
        site.campaigns[key] = known
    return known


def _agreed(t: Readable, key: str, plan: queue.Plan, person: str) -> None:
    if not queue.has_agreed(t, key, plan, person):
        raise HTTPException(409, "the campaign has not been agreed to")


@router.get("/annotate", include_in_schema=False)
def campaign_list(request: Request) -> Response:
    may_read(request)
    site = site_of(request)
    benchmarks = site.folder.benchmarks().values()
    return show(
        request,
        "campaigns.html",
        campaigns=queue.campaigns(site.database),
        kinds={
            name: (kind, [s for s in benchmarks if kind.fits(s)]) for name, kind in KINDS.items()
        },
    )


@router.post("/annotate", include_in_schema=False)
async def make(request: Request) -> Response:
    new = await making(request, shows_gold=True)
    kind = kind_named(new.form.text("kind", "evidence"))
    site = site_of(request)
    made = await run_in_threadpool(kind.make, site, new.served, new.form)
    await run_in_threadpool(
        queue.make_campaign, site.database, new.key, new.served.id, new.title, made.plan, made.tasks
    )
    return go(request, f"/annotate/{new.key}/results")


@router.get("/annotate/{key}", include_in_schema=False)
async def here(request: Request, key: Key, kept: bool = False) -> Response:
    """The task this person has in hand."""
    person = may_read(request, "annotator")
    assert person is not None
    return await run_in_threadpool(_here, request, key, person.id, kept, None, 200)


def _here(
    request: Request, key: str, person: str, kept: bool, error: str | None, status: int,
    sent: tuple[int, Form] | None = None,
) -> Response:  # fmt: skip
    """The task in hand; where a form for it was refused, with all that was filled in."""
    site = site_of(request)
    row, plan = _campaign(site, site.database, key)
    if not queue.has_agreed(site.database, key, plan, person):
        return show(
            request, "consent.html", title=row["title"], consent=plan.consent, note="",
            action=f"/annotate/{key}/consent",
        )  # fmt: skip
    kind = kind_named(plan.kind)
    given = queue.next_task(site.database, key, person)
    values = kind.shown(site, row["benchmark"], plan, given, person) if given else {}
    refused = sent is not None and given is not None and given.number == sent[0]
    return show(
        request,
        kind.asks,
        status,
        campaign=row,
        given=given,
        kept=kept,
        error=error,
        said=kind.from_form(sent[1]) if sent is not None and refused else None,
        mine=queue.kept_by(site.database, key, person),
        **values,
    )


@router.post("/annotate/{key}/consent", include_in_schema=False)
async def consent_form(request: Request, key: Key) -> Response:
    form, site = await received(request, "annotator"), site_of(request)
    await run_in_threadpool(_campaign, site, site.database, key)
    await committed(site, lambda t: queue.agree(t, key, form.person.id))
    return go(request, f"/annotate/{key}")


def _keep(
    t: Transaction, site: Site, key: str, number: int, person: str, sent: Form | GivenAnnotation
) -> bool:
    """Checks and keeps one annotation, and moves its task on; False when it was kept before."""
    row, plan = _campaign(site, t, key)
    kind = kind_named(plan.kind)
    said = kind.from_form(sent) if isinstance(sent, Form) else kind.from_api(sent)
    kept = queue.keep(t, key, number, person, said)
    if kept is None:
        _agreed(t, key, plan, person)  # who has not was never handed anything
        return False
    given, full = kept
    kind.check(site, row["benchmark"], given, said)  # an error undoes the keeping
    if full:
        settle(t, site, key, row, plan, number)
    return True


def settle(
    t: Transaction, site: Site, key: str, row: Row, plan: queue.Plan, number: int | None = None
) -> None:
    """Moves finished tasks of the first queue on: to the second where their kind says so, or away."""
    kind = kind_named(plan.kind)
    for done in _done(t, key, kind, number):
        if done.queue == queue.FIRST and done.full:
            again = kind.again(site, row["benchmark"], plan, done)
            queue.move(t, key, done.number, queue.SECOND if again else queue.SETTLED)


def _done(
    database: Readable, key: str, kind: Kind, number: int | None = None
) -> list[Done[Any, Any]]:
    return done_tasks(queue.everything(database, key, number), kind.task, kind.annotation)


@router.post("/annotate/{key}/task/{number}", include_in_schema=False)
async def answer_form(request: Request, key: Key, number: Number) -> Response:
    form, site = await received(request, "annotator"), site_of(request)
    person = form.person.id
    try:
        kept = await committed(
            site,
            lambda t: (
                _keep(t, site, key, number, person, form) or queue.has_kept(t, key, number, person)
            ),
        )
    except BadInput as error:
        return await run_in_threadpool(
            _here, request, key, person, False, error.message, 422, (number, form)
        )
    if not kept:
        return await run_in_threadpool(_here, request, key, person, False, _LOST, 409)
    return go(request, f"/annotate/{key}?kept=true")


@router.get("/annotate/{key}/results", include_in_schema=False)
def results(request: Request, key: Key, made: Made = ()) -> Response:
    may_read(request, "admin")
    site = site_of(request)
    row, plan = _campaign(site, site.database, key)
    found = _results(site, key, row, plan)
    page = kind_named(plan.kind).tells
    return show(request, page, campaign=row, plan=plan, results=found, made=made)


def _results(
    site: Site, key: str, row: Row, plan: queue.Plan, without_flagged: bool = False
) -> dict[str, Any]:
    site.database.write(lambda t: settle(t, site, key, row, plan))
    served = benchmark_named(site.folder, row["benchmark"])
    kind = kind_named(plan.kind)
    return kind.results(site, served, plan, _done(site.database, key, kind), without_flagged)


@router.get("/annotate/{key}/export/{format}", include_in_schema=False)
def export(request: Request, key: Key, format: Literal["json", "csv", "jsonl"]) -> Response:
    """The results, a table of what was decided, or every annotation; for admins."""
    may_read(request, "admin")
    site = site_of(request)
    row, plan = _campaign(site, site.database, key)
    if format == "json":
        return JSONResponse(_document(site, key, row, plan))
    kind = kind_named(plan.kind)
    tasks = _done(site.database, key, kind)
    if format == "csv":
        return PlainTextResponse(kind.labels(tasks), media_type="text/csv")
    return Response(annotation_lines(tasks), media_type="application/x-ndjson")


@router.post("/annotate/{key}/version", include_in_schema=False)
async def make_version(request: Request, key: Key) -> Response:
    """A new version of what was annotated, beside the others in the served folder."""
    form, site = await received(request, "admin"), site_of(request)
    made = await run_in_threadpool(_make_version, site, key, form.yes("without_flagged"))
    site.folder.look_again()
    names = "&".join(f"made={path.name}" for path in made)
    return go(request, f"/annotate/{key}/results?{names}")


def _make_version(site: Site, key: str, without_flagged: bool) -> list[Place]:
    if site.folder.root is None:
        raise HTTPException(422, "a new version needs a folder: start the server with one")
    row, plan = _campaign(site, site.database, key)
    found = _results(site, key, row, plan, without_flagged)
    kind = kind_named(plan.kind)
    return kind.new_version(
        site, benchmark_named(site.folder, row["benchmark"]), plan, _done(site.database, key, kind),
        site.folder.root, key, found, frozenset(found["flagged"] if without_flagged else ()),
    )  # fmt: skip


@router.get("/api/campaigns", responses=REFUSALS)
def list_campaigns(request: Request) -> list[dict[str, Any]]:
    """Every campaign."""
    may_read(request)
    return queue.campaigns(site_of(request).database)


@router.post("/api/campaigns/{key}/consent", responses=REFUSALS)
async def agree(request: Request, key: Key) -> dict[str, Any]:
    """This person agrees to the campaign's consent text."""
    person = may_call(request, "annotator", bearer=True)
    site = site_of(request)

    def work(t: Transaction) -> str:
        _, plan = _campaign(site, t, key)
        queue.agree(t, key, person.id)
        return plan.consent

    return {"agreed": True, "consent": await committed(site, work)}


@router.get("/api/campaigns/{key}/task", responses=REFUSALS)
async def task_in_hand(request: Request, key: Key) -> dict[str, Any]:
    """The task this person has in hand, without what tells a control; null when none."""
    person = may_call(request, "annotator", bearer=True)
    site = site_of(request)

    def work(t: Transaction) -> dict[str, Any]:
        row, plan = _campaign(site, t, key)
        _agreed(t, key, plan, person.id)
        given = queue.hand_out(t, key, person.id)
        if given is None:
            return {"task": None}
        asked = kind_named(plan.kind).asked(site, row["benchmark"], given)
        return {"task": given.number, "queue": given.queue, **asked}

    return await committed(site, work)


@router.post("/api/campaigns/{key}/tasks/{number}/annotation", responses=REFUSALS)
async def annotate(
    request: Request, key: Key, number: Number, given: GivenAnnotation
) -> dict[str, Any]:
    """Keeps what this person says of the task in hand; it is on disk when this returns."""
    person = may_call(request, "annotator", bearer=True)
    site = site_of(request)
    if not await committed(site, lambda t: _keep(t, site, key, number, person.id, given)):
        raise HTTPException(409, "this person does not have this task in hand")
    return {"kept": True, "task": number}


@router.get("/api/campaigns/{key}/results", responses=REFUSALS)
def get_results(request: Request, key: Key) -> dict[str, Any]:
    """Counts, agreement, controls, and what people decided; for admins."""
    may_read(request, "admin")
    site = site_of(request)
    row, plan = _campaign(site, site.database, key)
    return _document(site, key, row, plan)


def _document(site: Site, key: str, row: Row, plan: queue.Plan) -> dict[str, Any]:
    return {"plan": msgspec.to_builtins(plan), **_results(site, key, row, plan)}
