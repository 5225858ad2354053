"""The room of leaderboards: submit predictions, watch them being scored, take the table away."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Path, UploadFile
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone.report.table import Table
from whichone.web.boards.board import (
    board_tables,
    boards,
    hidden_benchmarks,
    make_board,
    marks_of,
    one_board,
    rows_of,
    shown_to_people,
)  # fmt: skip
from whichone.web.boards.submissions import (
    one_submission,
    put_runs_on_boards,
    submit,
    submitted_today,
)
from whichone.web.boards.upload_formats import EXAMPLES, FORMATS
from whichone.web.explorer.routes import REFUSALS
from whichone.web.forms import making, or_not_found, received
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site, go, may_call, may_read, new_id, show, site_of
from whichone.web.storage.database import Row

router = APIRouter()
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A board's key.")]
SubmissionKey = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
_NAME = re.compile(r"\w[\w .,()+/-]{0,99}")


def _board(site: Site, key: str) -> Row:
    return or_not_found(one_board(site.database, key), "leaderboard")


@router.get("/boards", include_in_schema=False)
def board_list(request: Request) -> Response:
    may_read(request)
    site = site_of(request)
    return show(
        request,
        "boards.html",
        boards=boards(site.database),
        benchmarks=list(site.folder.benchmarks().values()),
    )


@router.post("/boards", include_in_schema=False)
async def make(request: Request) -> Response:
    new = await making(request, shows_gold=False)
    database, hidden = site_of(request).database, new.form.yes("hidden")
    if hidden and await run_in_threadpool(shown_to_people, database, new.served.id):
        raise HTTPException(
            422, "a study or campaign shows people this benchmark: its gold cannot be hidden"
        )
    if hidden:
        await run_in_threadpool(_refuse_copies, site_of(request), new.served)
    await run_in_threadpool(make_board, database, new.key, new.served.id, new.title, hidden=hidden)
    return go(request, f"/boards/{new.key}")


def _refuse_copies(site: Site, served: ServedBenchmark) -> None:
    """Gold is not hidden while another benchmark that is shown has the same queries."""
    own, hidden = served.questions(), hidden_benchmarks(site.database)
    for other in site.folder.benchmarks().values():
        if other.id in {served.id, *hidden}:
            continue
        if same := len(own & other.questions()):
            raise HTTPException(
                422,
                f"{other.id} shows {same:,} of the same queries: take it out of the served folder first",
            )


@router.get("/boards/{key}", include_in_schema=False)
def board(request: Request, key: Key) -> Response:
    may_read(request)
    site = site_of(request)
    row = _board(site, key)
    put_runs_on_boards(site, key)
    request.app.state.scorer.wake()
    tables = board_tables(site.database, row)
    return show(
        request,
        "board.html",
        board=row,
        tables=[(table, _html(table)) for table in tables],
        waiting=_unfinished(site, key),
        formats=FORMATS,
        examples=EXAMPLES,
        most=site.settings.upload_bytes,
    )


def _html(table: Table) -> Markup:
    """The report's table, whose cells are escaped there, in a region that keys can scroll."""
    scrolled = f'<div class="scroll figures" tabindex="0" role="region" aria-label="{escape(table.title)}">'
    return Markup(table.to_html().replace('<div class="scroll">', scrolled, 1))


def _unfinished(site: Site, key: str) -> int:
    rows = site.database.read(
        "select count(*) as n from submissions where board = ? and state in ('waiting', 'scoring')",
        (key,),
    )
    return int(rows[0]["n"])


def _accept(
    site: Site, board: str, person: str, name: str, format: str, missing: bool, content: bytes
) -> str:
    """Keeps an upload, or says why not; it is in the database when this returns."""
    _board(site, board)
    if not _NAME.fullmatch(name):
        raise HTTPException(
            422, "name the system with letters, digits, blanks or .,()+/- (at most 100)"
        )
    if format not in FORMATS:
        raise HTTPException(422, f"format must be one of {', '.join(FORMATS)}")
    if not content:
        raise HTTPException(422, "the file is empty")
    if submitted_today(site.database, person) >= site.settings.submissions_a_day:
        raise HTTPException(429, "no more submissions today", {"retry-after": "86400"})
    key = new_id()
    submit(
        site.database,
        submission=key,
        board=board,
        name=name,
        person=person,
        format=format + ("+missing" if missing else ""),
        content=content,
    )
    return key


@router.post("/boards/{key}/submissions", include_in_schema=False)
async def submit_form(request: Request, key: Key) -> Response:
    form = await received(request, "annotator")
    submission = await run_in_threadpool(
        _accept,
        site_of(request),
        key,
        form.person.id,
        form.text("name", longest=200).strip(),
        form.text("format"),
        form.yes("missing"),
        await form.file("file"),
    )
    request.app.state.scorer.wake()
    return go(request, f"/boards/{key}/submissions/{submission}")


@router.get("/boards/{key}/submissions/{submission}", include_in_schema=False)
def submission(request: Request, key: Key, submission: SubmissionKey) -> Response:
    may_read(request)
    site = site_of(request)
    row = or_not_found(one_submission(site.database, key, submission), "submission")
    return show(request, "submission.html", board=_board(site, key), submission=row)


@router.get("/boards/{key}/export/{format}", include_in_schema=False)
def export(request: Request, key: Key, format: Literal["json", "csv", "tex"]) -> Response:
    may_read(request)
    site = site_of(request)
    row = _board(site, key)
    if format == "json":
        return JSONResponse(_document(site, row))
    tables = board_tables(site.database, row)
    if format == "csv":
        return PlainTextResponse("\n".join(t.to_csv() for t in tables), media_type="text/csv")
    return PlainTextResponse("\n".join(t.to_latex() for t in tables))


def _document(site: Site, row: Row) -> dict[str, Any]:
    marks = marks_of(site.database, row["board"])
    systems = [
        {
            "system": r["name"],
            "kind": r["kind"],
            "format": r["format"],
            "measures": {name: e.brief() for name, e in r["estimates"].items()},
            "p_against_best": marks.get(f"{r['submission']} {r['kind']}"),
            "counts": r["counts"],
        }
        for r in rows_of(site.database, row["board"])
    ]
    return {"title": row["title"], "benchmark": row["benchmark"], "systems": systems}


@router.get("/api/boards", responses=REFUSALS)
def list_boards(request: Request) -> list[dict[str, Any]]:
    """Every leaderboard."""
    may_read(request)
    return boards(site_of(request).database)


@router.get("/api/boards/{key}", responses=REFUSALS)
def get_board(request: Request, key: Key) -> dict[str, Any]:
    """The systems of a leaderboard with intervals and tests; never a value of a single query."""
    may_read(request)
    site = site_of(request)
    return _document(site, _board(site, key))


@router.post("/api/boards/{key}/submissions", responses=REFUSALS, status_code=202)
def submit_file(
    request: Request,
    key: Key,
    name: Annotated[str, Form(max_length=100)],
    format: Annotated[str, Form(max_length=20)],
    file: Annotated[UploadFile, File()],
    missing_is_wrong: Annotated[bool, Form()] = False,
) -> dict[str, Any]:
    """Keeps predictions to be scored in the background."""
    person = may_call(request, "annotator", bearer=True)
    made = _accept(
        site_of(request), key, person.id, name.strip(), format, missing_is_wrong, file.file.read()
    )
    request.app.state.scorer.wake()
    return {"submission": made}


@router.get("/api/boards/{key}/submissions/{submission}", responses=REFUSALS)
def get_submission(request: Request, key: Key, submission: SubmissionKey) -> dict[str, Any]:
    """How far the scoring of a submission is, and what was wrong with it."""
    may_read(request)
    row = one_submission(site_of(request).database, key, submission)
    return or_not_found(row, "submission")
