"""The pages and the API of leaderboards: submit predictions, watch them being scored, export the table."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone.web.boards.board import (
    KINDS,
    board_tables,
    boards,
    definitions,
    delete_board,
    hidden_benchmarks,
    make_board,
    marks_of,
    note_of,
    one_board,
    ranked,
    shared_questions,
    shown_to_people,
)
from whichone.web.boards.submissions import (
    EXAMPLES,
    FOLDER,
    FORMATS,
    About,
    delete,
    may_submit,
    one_submission,
    owner_of,
    set_shown,
    submissions_of,
    submit_file,
)
from whichone.web.explorer.drawings import interval_bar
from whichone.web.limits import REFUSALS
from whichone.web.pages import Form, creation, go, may_read, or_not_found, received, show, visitor
from whichone.web.served_folder import ServedBenchmark, benchmark_named
from whichone.web.storage import Row
from whichone.web.web_site import Site, new_id, site_of

router = APIRouter()
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A board's key.")]
SubmissionKey = Annotated[str, Path(pattern="^[0-9a-f]{16}(:[0-9a-f]{12}(-[0-9]{1,4})?)?$")]
_NAME = re.compile(r"\w[\w .,()+/-]{0,99}")
_LONGEST_SAID = 200


def _scope(key: str) -> str:
    return f"board:{key}"


def _board(site: Site, key: str) -> Row:
    return or_not_found(one_board(site.database, key), "leaderboard")


@router.get("/boards", include_in_schema=False)
def board_list(request: Request) -> Response:
    may_read(request)
    site = site_of(request)
    listed = boards(site.database)
    served = {s.id: s for s in site.folder.benchmarks().values()}
    best: dict[str, Any] = {}
    for row in listed:
        _, systems = ranked(site.database, row, "rankings")
        best[row["board"]] = (systems, served.get(row["benchmark"]))
    return show(
        request, "boards.html", boards=listed, best=best, benchmarks=list(served.values())
    )  # fmt: skip


@router.post("/boards", include_in_schema=False)
async def create(request: Request) -> Response:
    new = await creation(request, shows_gold=False)
    site, hidden = site_of(request), new.form.yes("hidden")
    if hidden and await run_in_threadpool(shown_to_people, site.database, new.served.id):
        raise HTTPException(
            422, "a study or campaign shows people this benchmark: its gold cannot be hidden"
        )
    if hidden:
        await run_in_threadpool(_refuse_copies, site, new.served)
    await run_in_threadpool(
        make_board, site.database, new.key, new.served.id, new.title, hidden=hidden
    )
    request.app.state.scorer.wake()
    return go(f"/boards/{new.key}")


def _refuse_copies(site: Site, served: ServedBenchmark) -> None:
    """Gold is not hidden while another benchmark that is shown has the same queries."""
    own, hidden = served.questions(), hidden_benchmarks(site)
    for other in site.folder.benchmarks().values():
        if other.id in {served.id, *hidden}:
            continue
        if same := shared_questions(other, own):
            raise HTTPException(
                422,
                f"{other.id} shows {same:,} of the same queries: take it out of the served folder first",
            )


@router.get("/boards/{key}", include_in_schema=False)
def board(
    request: Request, key: Key, by: Annotated[str, Query(max_length=50)] = "",
    q: Annotated[str, Query(max_length=100)] = "",
) -> Response:  # fmt: skip
    person = may_read(request, "reader", _scope(key))
    site = site_of(request)
    row = _board(site, key)
    tables = []
    for kind in KINDS:
        measures, systems = ranked(site.database, row, kind, by, q)
        if measures:
            chosen = by if by in measures else measures[0]
            note = note_of(row, systems, measures[0]) if systems else ""
            tables.append((kind, measures, systems, chosen, note, definitions(measures)))
    admin = person is not None and person.may("admin")
    name = row["benchmark"].rpartition("-")[0]
    others = [
        b for b in boards(site.database)
        if b["benchmark"] != row["benchmark"] and b["benchmark"].rpartition("-")[0] == name
    ]  # fmt: skip
    return show(
        request,
        "board.html",
        board=row,
        tables=tables,
        q=q,
        by=by,
        waiting=_unfinished(site, key),
        formats=FORMATS,
        examples=EXAMPLES,
        most=site.settings.upload_bytes,
        others=others if person is None or not person.scope else [],
        interval=interval_bar,
        may_submit=person is not None and person.may("submitter", _scope(key)),
        submissions=submissions_of(site.database, key) if admin else None,
    )


def _unfinished(site: Site, key: str) -> int:
    rows = site.database.read(
        "select count(*) as n from submissions where board = ? and state in ('waiting', 'scoring')",
        (key,),
    )
    return int(rows[0]["n"])


def _check(site: Site, board: str, person: str, role: str, form: Form) -> tuple[str, str, About]:
    """The name, the format and the description of a submission, or why it is not taken."""
    _board(site, board)
    name, format = form.text("name", longest=200).strip(), form.text("format", "auto")
    if not _NAME.fullmatch(name):
        raise HTTPException(
            422, "name the system with letters, digits, blanks or .,()+/- (at most 100)"
        )
    if format not in FORMATS:
        raise HTTPException(422, f"format must be one of {', '.join(FORMATS)}")
    owner = owner_of(site.database, board, name)
    if owner is not None and owner != person and role != "admin":
        raise HTTPException(409, "somebody else submitted a system of this name: choose another")
    if reason := may_submit(site.database, person, site.settings.submissions_a_day):
        raise HTTPException(429, reason, {"retry-after": "3600"})
    about = About(
        team=form.text("team", longest=_LONGEST_SAID).strip(),
        link=form.address("link"),
        code=form.address("code"),
        sees=form.text("sees", longest=_LONGEST_SAID).strip(),
        cost=form.text("cost", longest=_LONGEST_SAID).strip(),
    )
    missing = form.yes("missing") or form.text("missing_is_wrong").lower() in ("true", "1")
    return name, format + ("+missing" if missing else ""), about


def _accept(site: Site, board: str, form: Form, file: UploadFile) -> str:
    """Keeps an upload, or says why not; it is in the database when this returns."""
    name, format, about = _check(site, board, form.person.id, form.person.role, form)
    key = new_id()
    size = submit_file(
        site.database, submission=key, board=board, name=name, person=form.person.id,
        format=format, about=about, file=file.file,
    )  # fmt: skip
    if not size:
        raise HTTPException(422, "the file is empty")
    return key


async def _receive(request: Request, key: str) -> str:
    form = await received(request, "submitter", _scope(key))
    try:
        file = form.file("file")
        submission = await run_in_threadpool(_accept, site_of(request), key, form, file)
    finally:
        await request.close()
    request.app.state.scorer.wake()
    return submission


@router.post("/boards/{key}/submissions", include_in_schema=False)
async def submit_form(request: Request, key: Key) -> Response:
    submission = await _receive(request, key)
    return go(f"/boards/{key}/submissions/{submission}")


@router.get("/boards/{key}/submissions/{submission}", include_in_schema=False)
def submission(request: Request, key: Key, submission: SubmissionKey) -> Response:
    row = _own_submission(request, key, submission)
    return show(request, "submission.html", board=_board(site_of(request), key), submission=row)


def _own_submission(request: Request, key: str, submission: str) -> Row:
    """A submission, for those who submitted it and for admins: its message may quote its file."""
    person = may_read(request, "reader", _scope(key))
    row = or_not_found(one_submission(site_of(request).database, key, submission), "submission")
    if person is None or not (person.may("admin") or person.id == row["person"]):
        row = {**row, "message": ""}
    return row


@router.post("/boards/{key}/submissions/{submission}/{action}", include_in_schema=False)
async def moderate(
    request: Request, key: Key, submission: SubmissionKey,
    action: Literal["hide", "show", "delete"],
) -> Response:  # fmt: skip
    """Hides, shows or deletes a system; whoever submitted it may delete it too."""
    form = await received(request, None)
    site = site_of(request)
    row = or_not_found(
        await run_in_threadpool(one_submission, site.database, key, submission), "submission"
    )
    own = form.person.id == row["person"] and form.person.may("submitter", _scope(key))
    if not form.person.may("admin") and not (own and action == "delete"):
        raise HTTPException(403, "this needs a link for the role admin")
    if action == "delete" and row["person"] == FOLDER:
        raise HTTPException(422, "a run of the served folder comes back: hide it instead")
    if action == "delete":
        await run_in_threadpool(delete, site.database, submission)
    else:
        await run_in_threadpool(set_shown, site.database, submission, action == "show")
    request.app.state.scorer.compare_again(key)
    return go(f"/boards/{key}")


@router.post("/boards/{key}/delete", include_in_schema=False)
async def delete_whole(request: Request, key: Key) -> Response:
    form, site = await received(request, "admin"), site_of(request)
    row = await run_in_threadpool(_board, site, key)
    if form.text("title", longest=200).strip() != row["title"]:
        raise HTTPException(422, "type the title of the leaderboard to delete it")
    await run_in_threadpool(delete_board, site.database, key)
    return go("/boards")


@router.get("/boards/{key}/questions.jsonl", include_in_schema=False)
def questions(request: Request, key: Key) -> Response:
    """The questions by id, without anything about their gold."""
    may_read(request, "reader", _scope(key))
    site = site_of(request)
    served = benchmark_named(site.folder, _board(site, key)["benchmark"])
    import pyarrow.parquet as pq

    table = pq.read_table(served.folder.path("queries.parquet"), columns=["id", "task", "input"])
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in table.to_pylist())
    headers = {"content-disposition": f'attachment; filename="questions-{key}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


@router.get("/boards/{key}/export/{format}", include_in_schema=False)
def export(request: Request, key: Key, format: Literal["json", "csv", "tex"]) -> Response:
    may_read(request, "reader", _scope(key))
    site = site_of(request)
    row = _board(site, key)
    if format == "json":
        return JSONResponse(_document(site, row))
    tables = board_tables(site.database, row)
    if format == "csv":
        return PlainTextResponse("\n".join(t.to_csv() for t in tables), media_type="text/csv")
    return PlainTextResponse("\n".join(t.to_latex() for t in tables))


def _document(site: Site, row: Row) -> dict[str, Any]:
    marks = {} if row["hidden"] else marks_of(site.database, row["board"])
    every = [r for kind in KINDS for r in ranked(site.database, row, kind)[1]]
    systems = [
        {
            "system": r["name"],
            "rank": r["rank"],
            "kind": r["kind"],
            "format": r["format"],
            "measures": {name: e.brief() for name, e in r["estimates"].items()},
            "p_against_best": marks.get(f"{r['submission']} {r['kind']}"),
            "counts": r["counts"],
            "complete": r["complete"],
            "made": r["made"],
            **r["about"],
        }
        for r in sorted(every, key=itemgetter("made", "submission"))
    ]
    return {"title": row["title"], "benchmark": row["benchmark"], "systems": systems}


@router.get("/api/boards", responses=REFUSALS)
def list_boards(request: Request) -> list[dict[str, Any]]:
    """Every leaderboard; whoever has a link for one alone is shown that one."""
    person = visitor(request)
    scope = person.scope if person is not None else ""
    what, _, key = scope.partition(":")
    may_read(request, "reader", scope if what == "board" else "")
    rows = boards(site_of(request).database)
    return [row for row in rows if not scope or row["board"] == key]


@router.get("/api/boards/{key}", responses=REFUSALS)
def get_board(request: Request, key: Key) -> dict[str, Any]:
    """The systems of a leaderboard with intervals and tests; never a value of a single query."""
    may_read(request, "reader", _scope(key))
    site = site_of(request)
    return _document(site, _board(site, key))


_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["name", "file"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 100},
                        "format": {"type": "string", "enum": list(FORMATS), "default": "auto"},
                        "file": {"type": "string", "format": "binary"},
                        "missing_is_wrong": {"type": "boolean", "default": False},
                        **{
                            field: {"type": "string", "maxLength": _LONGEST_SAID}
                            for field in ("team", "link", "code", "sees", "cost")
                        },
                    },
                }
            }
        },
    }
}


@router.post(
    "/api/boards/{key}/submissions", responses={**REFUSALS, 415: REFUSALS[422]}, status_code=202,
    openapi_extra=_UPLOAD,
)  # fmt: skip
async def submit_predictions(request: Request, key: Key) -> dict[str, Any]:
    """Keeps predictions to be scored in the background; nothing is read before the link is checked."""
    submission = await _receive(request, key)
    return {"submission": submission}


@router.get("/api/boards/{key}/submissions/{submission}", responses=REFUSALS)
def get_submission(request: Request, key: Key, submission: SubmissionKey) -> dict[str, Any]:
    """How far the scoring of a submission is, and what was wrong with it."""
    row = _own_submission(request, key, submission)
    return {name: value for name, value in row.items() if name != "person"}
