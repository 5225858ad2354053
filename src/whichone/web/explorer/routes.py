"""The explorer: benchmarks, their name sets by text, facet and outcome, one set, two systems."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.web.boards.board import hidden_benchmarks
from whichone.web.explorer import search as found
from whichone.web.explorer import views
from whichone.web.explorer.drawings import agreement_bar, popularity_bars
from whichone.web.served_folder import Shelf, Shelved
from whichone.web.site import clean, house_of, may_read, show

router = APIRouter()

Key = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="A benchmark's key.")]
Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Query(ge=0, le=2**40)]
Text = Annotated[str, Query(max_length=200)]
Runs = Annotated[tuple[str, ...], Query(max_length=views.MOST_SYSTEMS, description="Keys of runs.")]


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "not a request",
        401: "no link",
        403: "not with this role",
        404: "not here",
        409: "not now",
        413: "too large",
        422: "not as it should be",
        429: "too often",
        503: "being indexed",
    }.items()
}


def shelf_of(request: Request, key: str) -> Shelf:
    """The benchmark that a request names; a hidden one exists for admins only."""
    person = may_read(request)
    house = house_of(request)
    shelf = house.holdings.shelf(key)
    hidden = shelf is not None and shelf.id in hidden_benchmarks(house.database)
    if shelf is None or (hidden and not (person and person.may("admin"))):
        raise HTTPException(404, "there is no such benchmark here")
    return shelf


def _wanted(
    request: Request, q: str, outcome: str, after: int, *, queries: bool = False
) -> found.Wanted:
    kinds = found.QUERY_FACETS if queries else found.FACETS
    outcomes = found.QUERY_OUTCOMES if queries else found.OUTCOMES
    facets = tuple(
        (kind, clean(value, 200))
        for kind in kinds
        for value in request.query_params.getlist(kind)[:5]
        if value
    )
    if outcome and outcome not in outcomes:
        raise HTTPException(422, f"outcome must be one of {', '.join(outcomes)}")
    return found.Wanted(clean(q, 200), facets, outcome, after)


def _runs(shelf: Shelf, *keys: str) -> list[Shelved]:
    return [shelf.runs[key] for key in keys if key in shelf.runs]


def _pair(shelf: Shelf, run: str, other: str) -> list[Shelved]:
    """The systems X and Y of a view; the first two where it names none."""
    every = list(shelf.runs.values())
    first = shelf.runs.get(run) or (every[0] if every else None)
    second = shelf.runs.get(other) or next((r for r in every if r is not first), None)
    return [r for r in (first, second) if r is not None]


@router.get("/", include_in_schema=False)
def home(request: Request) -> Response:
    person = may_read(request)
    house = house_of(request)
    hidden = hidden_benchmarks(house.database)
    every = house.holdings.shelves().values()
    shelves = [s for s in every if s.id not in hidden or (person and person.may("admin"))]
    return show(request, "home.html", shelves=shelves, hidden=hidden, strays=house.holdings.strays)


@router.get("/b/{key}", include_in_schema=False)
def sets(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False,
) -> Response:  # fmt: skip
    """Its name sets; a benchmark without any shows its queries at once."""
    house, shelf = house_of(request), shelf_of(request, key)
    if not views.has_sets(house, shelf):
        return queries(request, key, q, outcome, run, other, after, fragment)
    wanted = _wanted(request, q, outcome, after)
    pair = _pair(shelf, run, other)
    listed = views.search(house, shelf, wanted, pair)
    return _list(request, shelf, wanted, listed, pair, fragment, "sets.html", "found_sets.html")


@router.get("/b/{key}/queries", include_in_schema=False)
def queries(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False,
) -> Response:  # fmt: skip
    """Its queries by text, facet and outcome, whether or not they are about shared names."""
    house, shelf = house_of(request), shelf_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(shelf, run, other)
    listed = views.search(house, shelf, wanted, pair, found.find_queries)
    return _list(
        request, shelf, wanted, listed, pair, fragment, "queries.html", "found_queries.html",
        confusing=views.has_sets(house, shelf),
    )  # fmt: skip


def _list(
    request: Request, shelf: Shelf, wanted: found.Wanted, listed: found.Found, pair: list[Shelved],
    fragment: bool, page: str, part: str, **values: Any,
) -> Response:  # fmt: skip
    """A page of a list, or only what is found, as the page asks for it while someone types."""
    pairs = [p for p in request.query_params.multi_items() if p[0] not in ("after", "fragment")]
    following = urlencode([*pairs, ("after", str(listed.following))]) if listed.following else ""
    kept = {"shelf": shelf, "found": listed, "following": following, "pair": pair, **values}
    if fragment:
        return show(request, part, **kept)
    house = house_of(request)
    return show(
        request,
        page,
        **kept,
        wanted=wanted,
        chosen=dict(wanted.facets),
        facets=views.facets(house, shelf, queries=page == "queries.html"),
        systems=views.overview(house, shelf),
    )


@router.get("/b/{key}/set/{n}", include_in_schema=False)
def name_set(request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0) -> Response:
    house, shelf = house_of(request), shelf_of(request, key)
    runs = views.chosen_runs(shelf, run)
    view = views.set_view(house, shelf, n, runs, offset)
    if view is None:
        raise HTTPException(404, "there is no such name set")
    return show(
        request,
        "name_set.html",
        shelf=shelf,
        view=view,
        runs=runs,
        figure=popularity_bars(view["bearers"]),
    )


@router.get("/b/{key}/query/{q}", include_in_schema=False)
def one_query(request: Request, key: Key, q: Number, run: Runs = ()) -> Response:
    house, shelf = house_of(request), shelf_of(request, key)
    runs = views.chosen_runs(shelf, run)
    query = views.query_view(house, shelf, q, runs)
    if query is None:
        raise HTTPException(404, "there is no such query")
    return show(request, "query.html", shelf=shelf, query=query, runs=runs)


@router.get("/b/{key}/compare", include_in_schema=False)
def compare(
    request: Request, key: Key, run: str = "", other: str = "", offset: Offset = 0
) -> Response:
    house, shelf = house_of(request), shelf_of(request, key)
    pair = _runs(shelf, run, other)
    if len(pair) != 2:
        return show(request, "compare.html", shelf=shelf, pair=None)
    view = views.compare_view(house, shelf, pair[0], pair[1], offset)
    figure = agreement_bar(view["agreement"], pair[0].name, pair[1].name)
    return show(request, "compare.html", shelf=shelf, pair=pair, view=view, figure=figure)


# the same as JSON


@router.get("/api/benchmarks", responses=REFUSALS)
def list_benchmarks(request: Request) -> list[dict[str, Any]]:
    """Every benchmark with its runs."""
    person = may_read(request)
    house = house_of(request)
    hidden = hidden_benchmarks(house.database)
    return [
        {"key": s.key, "id": s.id, "name": s.name, "counts": s.folder.manifest.counts,
         "runs": [{"key": r.key, "name": r.name} for r in s.runs.values()]}
        for s in house.holdings.shelves().values()
        if s.id not in hidden or (person and person.may("admin"))
    ]  # fmt: skip


@router.get("/api/benchmarks/{key}/sets", responses=REFUSALS)
def list_sets(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|confused|right-wrong|all-correct|not-all-correct)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Name sets that hold the text and have the facets and the outcome, a page at a time."""
    house, shelf = house_of(request), shelf_of(request, key)
    wanted = _wanted(request, q, outcome, after)
    return _page(views.search(house, shelf, wanted, _pair(shelf, run, other)), "sets")


@router.get("/api/benchmarks/{key}/queries", responses=REFUSALS)
def list_queries(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|right|wrong|confused|failed|right-wrong)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Queries that hold the text and have the facets and the outcome, a page at a time."""
    house, shelf = house_of(request), shelf_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(shelf, run, other)
    return _page(views.search(house, shelf, wanted, pair, found.find_queries), "queries")


def _page(listed: found.Found, what: str) -> dict[str, Any]:
    return {
        what: listed.rows, "count": listed.count, "exact": listed.exact, "after": listed.following,
        "complete": listed.complete,
    }  # fmt: skip


@router.get("/api/benchmarks/{key}/sets/{n}", responses=REFUSALS)
def get_set(
    request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0
) -> dict[str, Any]:
    """One name set: its bearers, and its queries with the first ten of each system."""
    house, shelf = house_of(request), shelf_of(request, key)
    view = views.set_view(house, shelf, n, views.chosen_runs(shelf, run), offset)
    if view is None:
        raise HTTPException(404, "there is no such name set")
    for query in view["queries"]:
        query["systems"] = [
            {"run": s["run"].key, "name": s["run"].name,
             "top": [{k: v for k, v in r.items() if k != "text"} for r in s["top"]]}
            for s in query["systems"]
        ]  # fmt: skip
    return view


@router.get("/api/benchmarks/{key}/compare", responses=REFUSALS)
def compare_runs(
    request: Request, key: Key, run: Text, other: Text, offset: Offset = 0
) -> dict[str, Any]:
    """Where two systems differ, by what matters."""
    house, shelf = house_of(request), shelf_of(request, key)
    pair = _runs(shelf, run, other)
    if len(pair) != 2:
        raise HTTPException(404, "there are no two such runs")
    return views.compare_view(house, shelf, pair[0], pair[1], offset)
