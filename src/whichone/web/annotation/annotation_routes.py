"""The pages and the API of annotation: a task, what people say of it, its results; whatever the kind."""

from pathlib import Path as Place
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone import registry
from whichone.errors import BadInput
from whichone.web import pages
from whichone.web.annotation import task_queue
from whichone.web.annotation.campaign_kind import (
    Done,
    GivenAnnotation,
    Kind,
    annotation_lines,
    annotation_rows,
    done_tasks,
)
from whichone.web.annotation.evidence_kind import EvidenceKind
from whichone.web.limits import REFUSALS
from whichone.web.served_folder import benchmark_named
from whichone.web.storage import STATES, Readable, Row, Transaction, set_state
from whichone.web.web_site import Here, Site, committed, site_of

# The kinds of campaigns there are, by name.

KINDS: dict[str, Kind] = {EvidenceKind.name: EvidenceKind()}
KINDS |= {name: kind() for name, kind in registry.every("campaigns").items()}


def kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise HTTPException(422, f"kind must be one of {', '.join(KINDS)}")
    return KINDS[name]


router = APIRouter()
_Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A campaign's key.")]
_Number = Annotated[int, Path(ge=0, le=2**53)]
_Version = Annotated[str, StringConstraints(pattern="^annotated-[a-z0-9-]{1,100}$")]
Made = Annotated[tuple[_Version, ...], Query(max_length=200)]
_LOST = (
    "what you sent was not kept: you do not have that task in hand any more, as one that is not "
    "answered for two hours goes to someone else"
)


def _scope(key: str) -> str:
    return f"campaign:{key}"


def _campaign(site: Site, t: Readable, key: str) -> tuple[Row, task_queue.QueuePlan]:
    """A campaign; but for its state it never changes, and is read once."""
    if (known := site.campaigns.get(key)) is None:
        known = pages.or_not_found(task_queue.one_campaign(t, key), "campaign")
        site.campaigns[key] = known
    return known


def _agreed(t: Readable, key: str, plan: task_queue.QueuePlan, person: str) -> None:
    if plan.consent and not task_queue.has_agreed(t, key, person):
        raise HTTPException(409, "the campaign has not been agreed to")


def _open(t: Readable, key: str) -> None:
    if (state := task_queue.state_of(t, key)) != "open":
        raise HTTPException(409, f"the campaign is {state}: nothing was kept")


@router.get("/annotate", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def campaign_list(request: Request, site: Here) -> Response:
    benchmarks = site.folder.benchmarks().values()
    kinds = {name: (kind, [s for s in benchmarks if kind.fits(s)]) for name, kind in KINDS.items()}
    return pages.show(request, "campaigns.html", campaigns=task_queue.campaigns(site.database), kinds=kinds)


@router.post("/annotate", include_in_schema=False)
async def create(request: Request, site: Here) -> Response:
    new = await pages.creation(request, shows_gold=True)
    kind = kind_named(new.form.text("kind", "evidence"))
    campaign = await run_in_threadpool(kind.make, site, new.served, new.form)
    plan = msgspec.structs.replace(
        campaign.plan, guidelines=new.form.text("guidelines", longest=10_000).strip(),
        per_person=new.form.number("per_person", 0, 0, 100_000),
        code=new.form.text("code", longest=100).strip(), return_url=new.form.address("return_url"),
    )  # fmt: skip
    await run_in_threadpool(
        task_queue.make_campaign, site.database, new.key, new.served.id, new.title, plan, campaign.tasks
    )
    return pages.go(f"/access?scope=campaign:{new.key}")


@router.get("/annotate/{key}", include_in_schema=False)
def here(request: Request, key: _Key, kept: bool = False) -> Response:
    return _here(request, key, pages.must_be(request, "annotator", _scope(key)).id, kept, None, 200)


def _here(
    request: Request, key: str, person: str, kept: bool, error: str | None, status: int,
    sent: tuple[int, pages.Form] | None = None,
) -> Response:  # fmt: skip
    """The task in hand; where a form for it was refused, with all that was filled in."""
    site = site_of(request)
    row, plan = _campaign(site, site.database, key)
    if (state := task_queue.state_of(site.database, key)) != "open":
        return pages.show(request, "not_open.html", title=row["title"], state=state)
    given = task_queue.in_hand(site.database, key, person)
    mine = task_queue.kept_by(site.database, key, person)
    if given is None and not mine:
        return pages.show(
            request, "consent.html", status, title=row["title"], consent=plan.consent, note="",
            action=f"/annotate/{key}/consent", guidelines=plan.guidelines, error=error,
        )  # fmt: skip
    kind = kind_named(plan.kind)
    values = kind.shown(site, row["benchmark"], plan, given, person) if given else {}
    refused = sent is not None and given is not None and given.number == sent[0]
    said = kind.from_form(sent[1]) if sent is not None and refused else None
    if given is not None and said is None:
        before = task_queue.said_before(site.database, key, given.number, person)
        said = msgspec.json.decode(before, type=kind.annotation) if before else None
    return pages.show(
        request, kind.asks, status, campaign=row, plan=plan, given=given, kept=kept, error=error, said=said,
        mine=mine, total=plan.per_person or task_queue.count_of(site.database, key), **values,
    )  # fmt: skip


def _next(t: Transaction, site: Site, key: str, person: str) -> task_queue.TaskInHand | None:
    """A task for this person, looking once more after finished tasks have moved on."""
    row, plan = _campaign(site, t, key)
    given = task_queue.hand_out(t, key, person, plan.per_person)
    if given is None and not plan.per_person:
        settle(t, site, key, row, plan)
        given = task_queue.hand_out(t, key, person)
    return given


@router.post("/annotate/{key}/consent", include_in_schema=False)
async def consent_form(request: Request, site: Here, key: _Key) -> Response:
    """Agrees to the consent text, and hands out the first task; again, whenever none is in hand."""
    form = await pages.received(request, "annotator", _scope(key))
    await run_in_threadpool(_campaign, site, site.database, key)

    def work(t: Transaction) -> bool:
        _open(t, key)
        task_queue.agree(t, key, form.person.id)
        return _next(t, site, key, form.person.id) is not None

    if not await committed(site, work):
        return pages.show(request, "nothing_left.html", title="Nothing to do now")
    return pages.go(f"/annotate/{key}")


@router.post("/annotate/{key}/skip/{number}", include_in_schema=False)
async def skip_form(request: Request, site: Here, key: _Key, number: _Number) -> Response:
    form = await pages.received(request, "annotator", _scope(key))

    def work(t: Transaction) -> None:
        _open(t, key)
        task_queue.skip(t, key, number, form.person.id)
        _next(t, site, key, form.person.id)

    await committed(site, work)
    return pages.go(f"/annotate/{key}")


@router.post("/annotate/{key}/back", include_in_schema=False)
async def back_form(request: Request, site: Here, key: _Key) -> Response:
    """Opens again what this person kept last, while nobody has built on it."""
    form = await pages.received(request, "annotator", _scope(key))

    def work(t: Transaction) -> bool:
        _open(t, key)
        return task_queue.reopen_last(t, key, form.person.id)

    if not await committed(site, work):
        return await run_in_threadpool(
            _here, request, key, form.person.id, False,
            "the task before cannot be changed any more: others have finished it", 409,
        )  # fmt: skip
    return pages.go(f"/annotate/{key}")


def _keep(
    t: Transaction, site: Site, key: str, number: int, person: str, sent: pages.Form | GivenAnnotation
) -> bool:
    """Checks and keeps one annotation, and moves its task on; False when it was kept before."""
    row, plan = _campaign(site, t, key)
    kind = kind_named(plan.kind)
    said = kind.from_form(sent) if isinstance(sent, pages.Form) else kind.from_api(sent)
    if (kept := task_queue.keep(t, key, number, person, said)) is None:
        _agreed(t, key, plan, person)  # people who have not agreed have no task
        return False
    _open(t, key)  # an error undoes the keeping
    given, full = kept
    kind.check(site, row["benchmark"], given, said)
    if full:
        settle(t, site, key, row, plan, number)
    return True


def settle(
    t: Transaction, site: Site, key: str, row: Row, plan: task_queue.QueuePlan, number: int | None = None
) -> None:
    for done in _done(t, key, kind_named(plan.kind), number):
        if (queue := _moved(site, row, plan, done).queue) != done.queue:
            task_queue.move(t, key, done.number, queue)


def _done(database: Readable, key: str, kind: Kind, number: int | None = None) -> list[Done[Any, Any]]:
    return done_tasks(task_queue.everything(database, key, number), kind.task, kind.annotation)


def _moved(site: Site, row: Row, plan: task_queue.QueuePlan, done: Done[Any, Any]) -> Done[Any, Any]:
    """A finished task of the first queue in the second where its kind says so, or away."""
    if done.queue != task_queue.FIRST or not done.full:
        return done
    again = kind_named(plan.kind).again(site, row["benchmark"], plan, done)
    return msgspec.structs.replace(done, queue=task_queue.SECOND if again else task_queue.SETTLED)


@router.post("/annotate/{key}/task/{number}", include_in_schema=False)
async def answer_form(request: Request, site: Here, key: _Key, number: _Number) -> Response:
    form = await pages.received(request, "annotator", _scope(key))
    person = form.person.id

    def work(t: Transaction) -> bool:
        kept = _keep(t, site, key, number, person, form) or task_queue.has_kept(t, key, number, person)
        _next(t, site, key, person)
        return kept

    try:
        kept = await committed(site, work)
    except BadInput as error:
        return await run_in_threadpool(_here, request, key, person, False, error.message, 422, (number, form))
    if not kept:
        return await run_in_threadpool(_here, request, key, person, False, _LOST, 409)
    return pages.go(f"/annotate/{key}?kept=true")


@router.post("/annotate/{key}/state", include_in_schema=False)
async def change_state(request: Request, site: Here, key: _Key) -> Response:
    form = await pages.received(request, "admin")
    await run_in_threadpool(_campaign, site, site.database, key)
    await run_in_threadpool(
        set_state, site.database, "campaigns", "campaign", key, form.choice("state", STATES)
    )
    return pages.go(f"/annotate/{key}/results")


@router.get("/annotate/{key}/results", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def results(request: Request, site: Here, key: _Key, made: Made = (), everybody: bool = False) -> Response:
    row, plan = _campaign(site, site.database, key)
    return pages.show(
        request, kind_named(plan.kind).tells, campaign=row, plan=plan, made=made, everybody=everybody,
        results=_results(site, key, row, plan, not everybody),
        state=task_queue.state_of(site.database, key),
    )  # fmt: skip


def _results(
    site: Site, key: str, row: Row, plan: task_queue.QueuePlan, without_flagged: bool = True
) -> dict[str, Any]:
    """Flagged people are left out unless they are asked for, and the results say so."""
    served = benchmark_named(site.folder, row["benchmark"])
    kind = kind_named(plan.kind)
    tasks = [_moved(site, row, plan, done) for done in _done(site.database, key, kind)]
    results = kind.results(site, served, plan, tasks, without_flagged)
    skipped = task_queue.skipped_by(site.database, key)
    for person, figures in results["people"].items():
        figures["skipped"] = skipped.get(person, 0)
    return {**results, "left_out": results["flagged"] if without_flagged else []}


@router.get("/annotate/{key}/export/{format}", include_in_schema=False, dependencies=pages.FOR_ADMINS)
def export(site: Here, key: _Key, format: Literal["json", "csv", "jsonl", "annotations.csv"]) -> Response:
    row, plan = _campaign(site, site.database, key)
    if format == "json":
        return JSONResponse(_document(site, key, row, plan))
    kind = kind_named(plan.kind)
    tasks = _done(site.database, key, kind)
    if format == "csv":
        return PlainTextResponse(kind.labels(tasks), media_type="text/csv")
    if format == "annotations.csv":
        external = {k.person: k.external for k in site.links.listed(_scope(key))}
        return pages.csv_response(annotation_rows(tasks, external), f"campaign-{key}-annotations.csv")
    return Response(annotation_lines(tasks), media_type="application/x-ndjson")


@router.post("/annotate/{key}/version", include_in_schema=False)
async def make_version(request: Request, site: Here, key: _Key) -> Response:
    form = await pages.received(request, "admin")
    version = await run_in_threadpool(_make_version, site, key, not form.yes("everybody"))
    site.folder.look_again()
    names = "&".join(f"made={path.name}" for path in version)
    return pages.go(f"/annotate/{key}/results?{names}")


def _make_version(site: Site, key: str, without_flagged: bool) -> list[Place]:
    if site.folder.root is None:
        raise HTTPException(422, "a new version needs a folder: start the server with one")
    row, plan = _campaign(site, site.database, key)
    site.database.write(lambda t: settle(t, site, key, row, plan))
    results = _results(site, key, row, plan, without_flagged)
    kind = kind_named(plan.kind)
    return kind.new_version(
        site, benchmark_named(site.folder, row["benchmark"]), plan, _done(site.database, key, kind),
        site.folder.root, key, results, frozenset(results["flagged"] if without_flagged else ()),
    )  # fmt: skip


@router.get("/api/campaigns", responses=REFUSALS, dependencies=pages.FOR_ADMINS)
def list_campaigns(site: Here) -> list[dict[str, Any]]:
    """Every campaign; for admins."""
    return task_queue.campaigns(site.database)


@router.post("/api/campaigns/{key}/consent", responses=REFUSALS)
async def agree(request: Request, site: Here, key: _Key) -> dict[str, Any]:
    """This person agrees to the campaign's consent text."""
    person = pages.may_call(request, "annotator", _scope(key), bearer=True)

    def work(t: Transaction) -> str:
        _, plan = _campaign(site, t, key)
        task_queue.agree(t, key, person.id)
        return plan.consent

    return {"agreed": True, "consent": await committed(site, work)}


@router.post("/api/campaigns/{key}/task", responses=REFUSALS)
async def take_task(request: Request, site: Here, key: _Key) -> dict[str, Any]:
    """The task this person has in hand, else a new one, without what tells a control; null when none."""
    person = pages.may_call(request, "annotator", _scope(key), bearer=True)

    def work(t: Transaction) -> dict[str, Any]:
        row, plan = _campaign(site, t, key)
        _agreed(t, key, plan, person.id)
        _open(t, key)
        if (given := _next(t, site, key, person.id)) is None:
            return {"task": None}
        asked = kind_named(plan.kind).asked(site, row["benchmark"], given)
        return {"task": given.number, "queue": given.queue, **asked}

    return await committed(site, work)


@router.post("/api/campaigns/{key}/tasks/{number}/annotation", responses=REFUSALS)
async def annotate(
    request: Request, site: Here, key: _Key, number: _Number, given: GivenAnnotation
) -> dict[str, Any]:
    """Keeps what this person says of the task in hand; it is on disk when this returns."""
    person = pages.may_call(request, "annotator", _scope(key), bearer=True)
    if not await committed(site, lambda t: _keep(t, site, key, number, person.id, given)):
        raise HTTPException(409, "this person does not have this task in hand")
    return {"kept": True, "task": number}


@router.get("/api/campaigns/{key}/results", responses=REFUSALS, dependencies=pages.FOR_ADMINS)
def get_results(site: Here, key: _Key) -> dict[str, Any]:
    """Counts, agreement, controls, and what people decided; for admins."""
    row, plan = _campaign(site, site.database, key)
    return _document(site, key, row, plan)


def _document(site: Site, key: str, row: Row, plan: task_queue.QueuePlan) -> dict[str, Any]:
    return {"plan": msgspec.to_builtins(plan), **_results(site, key, row, plan)}
