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
from whichone.web.forms import found_or_refused, making, received
from whichone.web.served_folder import Shelf
from whichone.web.site import House, go, house_of, may_call, may_read, new_id, show
from whichone.web.storage.database import Row

router = APIRouter()
Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A board's key.")]
SubmissionKey = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
_NAME = re.compile(r"\w[\w .,()+/-]{0,99}")


def _board(house: House, key: str) -> Row:
    return found_or_refused(one_board(house.database, key), "leaderboard")


@router.get("/boards", include_in_schema=False)
def board_list(request: Request) -> Response:
    may_read(request)
    house = house_of(request)
    return show(
        request,
        "boards.html",
        boards=boards(house.database),
        shelves=list(house.holdings.shelves().values()),
    )


@router.post("/boards", include_in_schema=False)
async def make(request: Request) -> Response:
    new = await making(request, shows_gold=False)
    database, hidden = house_of(request).database, new.form.yes("hidden")
    if hidden and await run_in_threadpool(shown_to_people, database, new.shelf.id):
        raise HTTPException(
            422, "a study or campaign shows people this benchmark: its gold cannot be hidden"
        )
    if hidden:
        await run_in_threadpool(_refuse_copies, house_of(request), new.shelf)
    await run_in_threadpool(make_board, database, new.key, new.shelf.id, new.title, hidden=hidden)
    return go(request, f"/boards/{new.key}")


def _refuse_copies(house: House, shelf: Shelf) -> None:
    """Gold is not hidden while another benchmark that is shown has the same queries."""
    own, hidden = shelf.questions(), hidden_benchmarks(house.database)
    for other in house.holdings.shelves().values():
        if other.id in {shelf.id, *hidden}:
            continue
        if same := len(own & other.questions()):
            raise HTTPException(
                422,
                f"{other.id} shows {same:,} of the same queries: take it out of the served folder first",
            )


@router.get("/boards/{key}", include_in_schema=False)
def board(request: Request, key: Key) -> Response:
    may_read(request)
    house = house_of(request)
    row = _board(house, key)
    put_runs_on_boards(house, key)
    request.app.state.scorer.wake()
    tables = board_tables(house.database, row)
    return show(
        request,
        "board.html",
        board=row,
        tables=[(table, _html(table)) for table in tables],
        waiting=_unfinished(house, key),
        formats=FORMATS,
        examples=EXAMPLES,
        most=house.settings.upload_bytes,
    )


def _html(table: Table) -> Markup:
    """The report's table, whose cells are escaped there, in a region that keys can scroll."""
    scrolled = f'<div class="scroll figures" tabindex="0" role="region" aria-label="{escape(table.title)}">'
    return Markup(table.to_html().replace('<div class="scroll">', scrolled, 1))


def _unfinished(house: House, key: str) -> int:
    rows = house.database.read(
        "select count(*) as n from submissions where board = ? and state in ('waiting', 'scoring')",
        (key,),
    )
    return int(rows[0]["n"])


def _accept(
    house: House, board: str, person: str, name: str, format: str, missing: bool, content: bytes
) -> str:
    """Keeps an upload, or says why not; it is in the database when this returns."""
    _board(house, board)
    if not _NAME.fullmatch(name):
        raise HTTPException(
            422, "name the system with letters, digits, blanks or .,()+/- (at most 100)"
        )
    if format not in FORMATS:
        raise HTTPException(422, f"format must be one of {', '.join(FORMATS)}")
    if not content:
        raise HTTPException(422, "the file is empty")
    if submitted_today(house.database, person) >= house.settings.submissions_a_day:
        raise HTTPException(429, "no more submissions today", {"retry-after": "86400"})
    key = new_id()
    submit(
        house.database,
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
        house_of(request),
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
    house = house_of(request)
    row = found_or_refused(one_submission(house.database, key, submission), "submission")
    return show(request, "submission.html", board=_board(house, key), submission=row)


@router.get("/boards/{key}/export/{format}", include_in_schema=False)
def export(request: Request, key: Key, format: Literal["json", "csv", "tex"]) -> Response:
    may_read(request)
    house = house_of(request)
    row = _board(house, key)
    if format == "json":
        return JSONResponse(_document(house, row))
    tables = board_tables(house.database, row)
    if format == "csv":
        return PlainTextResponse("\n".join(t.to_csv() for t in tables), media_type="text/csv")
    return PlainTextResponse("\n".join(t.to_latex() for t in tables))


def _document(house: House, row: Row) -> dict[str, Any]:
    marks = marks_of(house.database, row["board"])
    systems = [
        {
            "system": r["name"],
            "kind": r["kind"],
            "format": r["format"],
            "measures": {name: e.brief() for name, e in r["estimates"].items()},
            "p_against_best": marks.get(f"{r['submission']} {r['kind']}"),
            "counts": r["counts"],
        }
        for r in rows_of(house.database, row["board"])
    ]
    return {"title": row["title"], "benchmark": row["benchmark"], "systems": systems}


@router.get("/api/boards", responses=REFUSALS)
def list_boards(request: Request) -> list[dict[str, Any]]:
    """Every leaderboard."""
    may_read(request)
    return boards(house_of(request).database)


@router.get("/api/boards/{key}", responses=REFUSALS)
def get_board(request: Request, key: Key) -> dict[str, Any]:
    """The systems of a leaderboard with intervals and tests; never a value of a single query."""
    may_read(request)
    house = house_of(request)
    return _document(house, _board(house, key))


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
        house_of(request), key, person.id, name.strip(), format, missing_is_wrong, file.file.read()
    )
    request.app.state.scorer.wake()
    return {"submission": made}


@router.get("/api/boards/{key}/submissions/{submission}", responses=REFUSALS)
def get_submission(request: Request, key: Key, submission: SubmissionKey) -> dict[str, Any]:
    """How far the scoring of a submission is, and what was wrong with it."""
    may_read(request)
    row = one_submission(house_of(request).database, key, submission)
    return found_or_refused(row, "submission")
