"""The pages and the API of leaderboards: submit predictions, watch them being scored, export the table."""

import math
import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone.measures.intervals import Estimate
from whichone.web.boards import submissions
from whichone.web.boards.board import (
    board_tables,
    boards,
    check_hiding,
    definitions,
    delete_board,
    golds_of,
    make_board,
    marks_of,
    note_of,
    one_board,
    ranked,
    sign_of,
    tabs_of,
    without_figures,
)
from whichone.web.boards.board_worker import put_runs_on_boards
from whichone.web.limits import REFUSALS
from whichone.web.pages import Form, creation, go, may_read, must_be, or_not_found, received, visitor
from whichone.web.pages import show as show_page
from whichone.web.served_folder import benchmark_named
from whichone.web.storage import Row, Transaction
from whichone.web.web_site import Here, Site, committed, new_id, site_of

router = APIRouter()
_Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A board's key.")]
SubmissionKey = Annotated[str, Path(pattern="^[0-9a-f]{16}(:[0-9a-f]{12}(-[0-9]{1,4})?)?$")]
_NAME = re.compile(r"\w[\w .,()+/-]{0,99}")
_LONGEST_SAID = 200


def _scope(key: str) -> str:
    return f"board:{key}"


def _board(site: Site, key: str) -> Row:
    return or_not_found(one_board(site, key), "leaderboard")


@router.get("/boards", include_in_schema=False)
def board_list(request: Request, site: Here) -> Response:
    may_read(request)
    listed = boards(site)
    best = {
        row["board"]: (
            next(filter(None, (ranked(site.database, row, t)[1] for t in tabs_of(row))), []),
            all(map(site.folder.named, row["benchmarks"])),
        )
        for row in listed
    }
    benchmarks = list(site.folder.benchmarks().values())
    return show_page(request, "boards.html", boards=listed, best=best, benchmarks=benchmarks)


@router.post("/boards", include_in_schema=False)
async def create(request: Request, site: Here) -> Response:
    new = await creation(request, shows_gold=False)
    hidden = new.form.yes("hidden")
    further = [site.folder.benchmark(key) for key in new.form.with_prefix("family ")]
    family = {s.id: s for s in (new.served, *further) if s is not None}
    await run_in_threadpool(check_hiding, site, family, hidden=hidden)
    await run_in_threadpool(make_board, site.database, new.key, list(family), new.title, hidden=hidden)
    await run_in_threadpool(put_runs_on_boards, site)  # so that the page says at once what is being scored
    request.app.state.scorer.wake()
    return go(f"/boards/{new.key}")


_Name = Annotated[str, Query(max_length=100)]
_SHOWN = 4  # Measures that a table shows unless others are chosen


@router.get("/boards/{key}", include_in_schema=False)
def board(
    request: Request, site: Here, key: _Key, by: _Name = "", q: _Name = "", sees: _Name = "", system_kind: _Name = "",
    of: _Name = "", order: Literal["", "turned"] = "",
    show: Annotated[tuple[str, ...], Query(max_length=50)] = (), open: _Name = "",
) -> Response:  # fmt: skip
    person = may_read(request, "reader", _scope(key))
    row = _board(site, key)
    tables = {k: ranked(site.database, row, k, by, q) for k in tabs_of(row)}
    there = [k for k, (measures, _) in tables.items() if measures]
    shown = of if of in there else next(iter(there), tabs_of(row)[0])
    measures, systems = tables[shown]
    choices = {
        field: sorted({s["about"].get(field, "") for s in systems} - {""})
        for field in ("system_kind", "sees")
    }
    listed = [
        s for s in systems
        if sees in ("", s["about"].get("sees")) and system_kind in ("", s["about"].get("system_kind"))
    ]  # fmt: skip
    if order:
        listed.reverse()
    chosen = by if by in measures else next(iter(measures), "")
    sent = submissions.submissions_of(site.database, key)
    name = row["benchmark"].rpartition("-")[0]
    others = [
        b for b in boards(site)
        if b["benchmark"] != row["benchmark"] and b["benchmark"].rpartition("-")[0] == name
    ]  # fmt: skip
    drawn = [e for s in listed if (e := s["estimates"].get(chosen)) and e.value is not None]
    reads = person.may("reader") if person is not None else True
    explored = site.folder.named(row["benchmark"])
    return show_page(
        request, "board.html", scale=_scale(drawn), spreads=any(e.low is not None for e in drawn),
        explored=explored if reads and not row["hidden"] else None,
        roles=list(dict.fromkeys(role for s in listed for role in s["outcomes"])),
        board=row, there=there, of=shown, measures=measures, systems=listed, every=len(systems),
        columns=[m for m in measures if m in show]
        or ([m for m in measures if "@" not in m] if len(row["benchmarks"]) > 1 else measures[:_SHOWN]),
        opened=next((s for s in systems if s["submission"] == open), None),
        chosen=chosen, turned=bool(order), note=note_of(row, systems, measures[0]) if systems else "",
        meaning=definitions(measures), signs={m: sign_of(m) for m in measures}, choices=choices, said=submissions.SAID,
        asked={"by": by, "q": q, "sees": sees, "system_kind": system_kind, "of": shown, "order": order,
               "show": show},
        waiting=sum(s["state"] in ("waiting", "scoring") for s in sent),
        lines=without_figures(site.database, row),
        others=others if person is None or not person.scope else [],
        may_submit=person is not None and person.may("submitter", _scope(key)),
        submissions=sent if person is not None and person.may("admin") else None,
    )  # fmt: skip


def _scale(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From which to which share intervals are drawn: the tenths between which they all lie."""
    ends = [end for e in estimates for end in (e.low, e.value, e.high) if end is not None]
    low = math.floor(10 * min(ends, default=0.0)) / 10
    return low, max(math.ceil(10 * max(ends, default=1.0)) / 10, low + 0.1)


def _described(form: Form) -> tuple[str, str, submissions.About]:
    """The name, the format and the description of a submission, or why it is not taken."""
    name, format = form.text("name", longest=200).strip(), form.text("format", "auto")
    if not _NAME.fullmatch(name):
        raise HTTPException(422, "name the system with letters, digits, blanks or .,()+/- (at most 100)")
    if word := submissions.mixed_scripts(name):
        raise HTTPException(422, f"write {word} in the letters of one script")
    if format not in submissions.FORMATS:
        raise HTTPException(422, f"format must be one of {', '.join(submissions.FORMATS)}")
    about = submissions.About(
        **{
            field: form.address(field) if said.address
            else form.choice(field, ("", *said.choices)) if said.choices
            else form.text(field, longest=_LONGEST_SAID).strip()
            for field, said in submissions.SAID.items()
        }
    )  # fmt: skip
    missing = form.yes("missing") or form.text("missing_is_wrong").lower() in ("true", "1")
    return name, format + ("+missing" if missing else ""), about


async def _receive(request: Request, form: Form, board: str) -> str:
    """Keeps an upload, or says why not; it is in the database when this returns."""
    site, submission = site_of(request), new_id()

    def keep() -> None:
        with form.file("file") as file:
            row, (name, format, about) = _board(site, board), _described(form)
            golds = tuple(golds_of(site, row).values()) if row["hidden"] else ()
            limits = submissions.Limits(
                site.settings.submissions_a_day, site.settings.submissions_in_all, golds
            )
            submissions.submit_file(
                site.database, submission=submission, board=board, name=name, person=form.person.id,
                role=form.person.role, format=format, about=about, file=file, limits=limits,
            )  # fmt: skip

    try:
        await run_in_threadpool(keep)
    finally:
        await request.close()
    request.app.state.scorer.wake()
    return submission


@router.get("/boards/{key}/submit", include_in_schema=False)
def submit_page(request: Request, site: Here, key: _Key, again: str = "") -> Response:
    person = must_be(request, "submitter", _scope(key))
    before = submissions.one_submission(site.database, key, again) if again else None
    values: dict[str, str] = {}
    if before is not None and before["person"] == person.id:
        format = before["format"].partition("+")
        values = {**msgspec.json.decode(before["about"]), "name": before["name"],
                  "format": format[0], "missing": "yes" if format[2] else ""}  # fmt: skip
    return _submit_page(request, key, values)


def _submit_page(
    request: Request, key: str, values: Mapping[str, str], error: str = "", status: int = 200
) -> Response:
    site = site_of(request)
    return show_page(
        request, "submit.html", status, board=_board(site, key), values=values, error=error,
        formats=submissions.FORMATS, said=submissions.SAID, most=site.settings.upload_bytes,
        in_all=site.settings.submissions_in_all, a_day=site.settings.submissions_a_day,
    )  # fmt: skip


@router.post("/boards/{key}/submissions", include_in_schema=False)
async def submit_form(request: Request, key: _Key) -> Response:
    form = await received(request, "submitter", _scope(key), submissions.MOST_FILES)
    try:
        submission = await _receive(request, form, key)
    except HTTPException as error:  # what was typed is still there
        fields = ("name", "format", "missing", *submissions.SAID)
        values = {field: form.text(field, longest=_LONGEST_SAID) for field in fields}
        return await run_in_threadpool(
            _submit_page, request, key, values, str(error.detail), error.status_code
        )
    return go(f"/boards/{key}/submissions/{submission}")


@router.get("/boards/{key}/submissions/{submission}", include_in_schema=False)
def submission(request: Request, site: Here, key: _Key, submission: SubmissionKey) -> Response:
    row = _own_submission(request, key, submission)
    return show_page(request, "submission.html", board=_board(site, key), submission=row)


def _own_submission(request: Request, key: str, submission: str) -> Row:
    """A submission, for those who submitted it and for admins: its message may quote its file."""
    person = may_read(request, "reader", _scope(key))
    row = or_not_found(submissions.one_submission(site_of(request).database, key, submission), "submission")
    if person is None or not (person.may("admin") or person.id == row["person"]):
        row = {**row, "message": ""}
    return row


@router.post("/boards/{key}/submissions/{submission}/{action}", include_in_schema=False)
async def moderate(
    request: Request, site: Here, key: _Key, submission: SubmissionKey,
    action: Literal["hide", "show", "delete"],
) -> Response:  # fmt: skip
    """Hides, shows or deletes a system; whoever submitted it may delete it too."""
    form = await received(request, None)
    row = or_not_found(
        await run_in_threadpool(submissions.one_submission, site.database, key, submission), "submission"
    )
    own = form.person.id == row["person"] and form.person.may("submitter", _scope(key))
    if not form.person.may("admin") and not (own and action == "delete"):
        raise HTTPException(403, "this needs a link for the role admin")
    if action == "delete" and row["person"] == submissions.FOLDER:
        raise HTTPException(422, "a run of the served folder comes back: hide it instead")

    def work(t: Transaction) -> None:
        if action == "delete":
            submissions.delete(t, submission)
        else:
            shown = int(action == "show")
            t.execute("update submissions set shown = ? where submission = ?", (shown, submission))

    await committed(site, work)
    request.app.state.scorer.wake(key)
    return go(f"/boards/{key}")


@router.post("/boards/{key}/delete", include_in_schema=False)
async def delete_whole(request: Request, site: Here, key: _Key) -> Response:
    form = await received(request, "admin")
    row = await run_in_threadpool(_board, site, key)
    if form.text("title", longest=200).strip() != row["title"]:
        raise HTTPException(422, "type the title of the leaderboard to delete it")
    await run_in_threadpool(delete_board, site.database, key)
    return go("/boards")


@router.get("/boards/{key}/questions.jsonl", include_in_schema=False)
def questions(request: Request, site: Here, key: _Key) -> Response:
    may_read(request, "reader", _scope(key))
    board = _board(site, key)
    import pyarrow.parquet as pq

    lines = b""
    for name in board["benchmarks"]:
        queries = benchmark_named(site.folder, name).folder.path("queries.parquet")
        table = pq.read_table(queries, columns=["id", "task", "input"])
        own = {} if len(board["benchmarks"]) == 1 else {"benchmark": board["names"][name]}
        lines += b"".join(msgspec.json.encode({**own, **row}) + b"\n" for row in table.to_pylist())
    headers = {"content-disposition": f'attachment; filename="questions-{key}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


@router.get("/boards/{key}/export/{format}", include_in_schema=False)
def export(request: Request, site: Here, key: _Key, format: Literal["json", "csv", "tex"]) -> Response:
    may_read(request, "reader", _scope(key))
    row = _board(site, key)
    if format == "json":
        return JSONResponse(_document(site, row))
    tables = board_tables(site.database, row)
    if format == "csv":
        return PlainTextResponse("\n".join(t.to_csv() for t in tables), media_type="text/csv")
    return PlainTextResponse("\n".join(t.to_latex() for t in tables))


def _document(site: Site, row: Row) -> dict[str, Any]:
    marks = {} if row["hidden"] else marks_of(site.database, row["board"]).against_best
    every = [r for kind in tabs_of(row) for r in ranked(site.database, row, kind)[1]]
    systems = [
        {
            "system": r["name"], "rank": r["rank"], "kind": r["kind"], "format": r["format"],
            "measures": {name: e.brief() for name, e in r["estimates"].items()},
            "p_against_best": marks.get(f"{r['submission']} {r['kind']}"), "counts": r["counts"],
            "complete": r["complete"], **({"benchmarks": r["datasets"]} if r["datasets"] else {}),
            "made": r["made"], **r["about"],
        }
        for r in sorted(every, key=itemgetter("made", "submission"))
    ]  # fmt: skip
    return {
        "title": row["title"], "benchmark": row["benchmark"], "benchmarks": row["benchmarks"],
        "systems": systems,
        "without_figures": without_figures(site.database, row),
    }  # fmt: skip


@router.get("/api/boards", responses=REFUSALS)
def list_boards(request: Request, site: Here) -> list[dict[str, Any]]:
    """Every leaderboard; whoever has a link for one alone is shown that one."""
    person = visitor(request)
    scope = person.scope if person is not None else ""
    what, _, key = scope.partition(":")
    may_read(request, "reader", scope if what == "board" else "")
    return [row for row in boards(site) if not scope or row["board"] == key]


@router.get("/api/boards/{key}", responses=REFUSALS)
def get_board(request: Request, site: Here, key: _Key) -> dict[str, Any]:
    """The systems of a leaderboard with intervals and tests; never a value of a single query."""
    may_read(request, "reader", _scope(key))
    return _document(site, _board(site, key))


_FIELDS = {
    "name": {"type": "string", "maxLength": 100},
    "format": {"type": "string", "enum": list(submissions.FORMATS), "default": "auto"},
    "file": {"type": "string", "format": "binary"},
    "missing_is_wrong": {"type": "boolean", "default": False},
    **{field: {"type": "string", "maxLength": _LONGEST_SAID} for field in submissions.SAID},
}
_UPLOAD = {"schema": {"type": "object", "required": ["name", "file"], "properties": _FIELDS}}


@router.post(
    "/api/boards/{key}/submissions", responses={**REFUSALS, 415: REFUSALS[422]}, status_code=202,
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": _UPLOAD}}},
)  # fmt: skip
async def submit_predictions(request: Request, key: _Key) -> dict[str, Any]:
    """Keeps predictions to be scored in the background; nothing is read before the link is checked."""
    form = await received(request, "submitter", _scope(key), submissions.MOST_FILES)
    return {"submission": await _receive(request, form, key)}


@router.get("/api/boards/{key}/submissions/{submission}", responses=REFUSALS)
def get_submission(request: Request, key: _Key, submission: SubmissionKey) -> dict[str, Any]:
    """How far the scoring of a submission is, and what was wrong with it."""
    row = _own_submission(request, key, submission)
    return {name: value for name, value in row.items() if name not in ("person", "about")}
