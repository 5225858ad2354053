"""The explorer: benchmarks, their name sets by text, facet and outcome, one set, two systems."""

import contextlib
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whichone.web.ask import open_to
from whichone.web.boards.board import boards, hidden_benchmarks
from whichone.web.explorer import explorer_views, listing
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.limits import REFUSALS
from whichone.web.pages import csv_response, go, may_read, or_not_found, readable_benchmarks, show, visitor
from whichone.web.served_folder import ServedBenchmark, ServedRun
from whichone.web.web_site import Here, Site, clean, place_of_scope

router = APIRouter()

_Key = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="A benchmark's key.")]
_Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Query(ge=0, le=2**40)]
_Text = Annotated[str, Query(max_length=200)]
_Form = Annotated[str, Query(pattern="^(|csv|json)$", description="As a file.")]
Runs = Annotated[tuple[str, ...], Query(max_length=explorer_views.MOST_SYSTEMS, description="Keys of runs.")]


def benchmark_of(request: Request, site: Here, key: _Key) -> ServedBenchmark:
    """The benchmark that a request names; a hidden one exists for admins only."""
    person = may_read(request)
    if (served := site.folder.benchmark(key)) not in readable_benchmarks(site, person):
        served = None
    return or_not_found(served, "benchmark here")


Served = Annotated[ServedBenchmark, Depends(benchmark_of)]


class List(BaseModel):
    """What a list is asked for, beside its facets."""

    q: str = Field("", max_length=200)
    outcome: str = ""
    run: str = ""
    other: str = ""
    after: int = Field(0, ge=0, le=2**40)
    fragment: bool = False
    form: str = Field("", pattern="^(|csv|json)$")


def _wanted(request: Request, q: str, outcome: str, after: int, *, queries: bool) -> listing.WantedRows:
    kinds = listing.QUERY_FACETS if queries else listing.FACETS
    outcomes = listing.QUERY_OUTCOMES if queries else listing.OUTCOMES
    facets = tuple(
        (kind, clean(value, 200))
        for kind in kinds
        for value in request.query_params.getlist(kind)[:5]
        if value
    )
    if outcome and outcome not in outcomes:
        raise HTTPException(422, f"outcome must be one of {', '.join(outcomes)}")
    return listing.WantedRows(clean(q, 200), facets, outcome, after)


def _pair(site: Site, served: ServedBenchmark, run: str, other: str) -> list[ServedRun]:
    """The systems X and Y of a view; the best and the worst where it names none."""
    first, second = served.runs.get(run), served.runs.get(other)
    if first is None or second is None:
        every = [r for r, _ in explorer_views.overview(site, served)]
        first = first or next((r for r in every if r is not second), None)
        second = second or next((r for r in reversed(every) if r is not first), None)
    return [r for r in (first, second) if r is not None]


@router.get("/", include_in_schema=False)
def home(request: Request, site: Here) -> Response:
    person = visitor(request)
    if person is not None and person.scope:  # their link is for one page
        return go(place_of_scope(person.scope))
    may_read(request)
    hidden, served = hidden_benchmarks(site), readable_benchmarks(site, person)
    overviews = {s.key: list[tuple[ServedRun, dict[str, Any]]]() for s in served}
    for benchmark in served:
        with contextlib.suppress(NotReady):
            overviews[benchmark.key] = explorer_views.overview(site, benchmark)
    asked: tuple[str, list[str]] | None = None  # the benchmark of the box, and questions to click on
    if first := next(iter(open_to(request)), None):
        with contextlib.suppress(NotReady):
            asked = first.key, request.app.state.askers.examples(site, first)
    return show(
        request, "home.html", benchmarks=served, hidden=hidden, strays=site.folder.strays,
        overviews=overviews, live=_live(site, served, overviews, hidden),
        boards=boards(site), asked=asked,
    )  # fmt: skip


def _live(
    site: Site, benchmarks: list[ServedBenchmark],
    overviews: dict[str, list[tuple[ServedRun, dict[str, Any]]]], hidden: frozenset[str],
) -> dict[str, Any] | None:  # fmt: skip
    """The example of the landing page: from the first benchmark that has one and is not hidden."""
    for served in benchmarks:
        systems = overviews[served.key]
        if len(systems) < 2 or served.id in hidden:
            continue
        (best, best_counts), (worst, worst_counts) = systems[0], systems[-1]
        if (query := explorer_views.example(site, served, best, worst)) is not None:
            return {
                "served": served, "query": query, "best": best, "worst": worst,
                "best_counts": best_counts, "worst_counts": worst_counts,
            }  # fmt: skip
    return None


@router.get("/b/{key}", include_in_schema=False)
def sets(request: Request, site: Here, served: Served, asked: Annotated[List, Query()]) -> Response:
    """Its name sets; a benchmark without any shows its queries at once."""
    return _list(request, site, served, asked, queries=not explorer_views.has_sets(site, served))


@router.get("/b/{key}/queries", include_in_schema=False)
def queries(request: Request, site: Here, served: Served, asked: Annotated[List, Query()]) -> Response:
    return _list(request, site, served, asked, queries=True)


def _list(request: Request, site: Site, served: ServedBenchmark, asked: List, *, queries: bool) -> Response:
    """A page of a list, only what is found (as the page asks for it while someone types), or all as a file."""
    name, find = ("queries", listing.find_queries) if queries else ("sets", listing.find_sets)
    wanted = _wanted(request, asked.q, asked.outcome, asked.after, queries=queries)
    pair = _pair(site, served, asked.run, asked.other)
    if asked.form:
        if (rows := explorer_views.everything(site, served, wanted, pair, find)) is None:
            raise HTTPException(422, f"more than {explorer_views.MOST_EXPORTED:,} rows: narrow the list down")
        renamed = [{_column(column, pair): value for column, value in row.items()} for row in rows]
        if asked.form == "csv":
            return csv_response(renamed, f"{served.key}-{'queries' if queries else 'names'}.csv")
        return JSONResponse(renamed)
    listed = explorer_views.search(site, served, wanted, pair, find)
    pairs = [p for p in request.query_params.multi_items() if p[0] not in ("after", "fragment")]
    kept: dict[str, Any] = {
        "served": served, "listing": listed, "pair": pair,
        "counts": explorer_views.counted(site, served, wanted, pair, queries=queries) if listed.exact else {},
        "following": urlencode([*pairs, ("after", str(listed.following))]) if listed.following else "",
    }  # fmt: skip
    if asked.fragment:
        return show(request, f"list_of_{name}.html", **kept)
    return show(
        request, f"{name}.html", **kept, confusing=explorer_views.has_sets(site, served),
        exported=[urlencode([*pairs, ("form", form)]) for form in ("csv", "json")], wanted=wanted,
        chosen=dict(wanted.facets), facets=explorer_views.facets(site, served, queries=queries),
        systems=explorer_views.overview(site, served),
    )  # fmt: skip


def _column(column: str, pair: list[ServedRun]) -> str:
    """`right0` as the first system's own column."""
    if column[-1:].isdigit() and int(column[-1]) < len(pair):
        return f"{pair[int(column[-1])].name} {column[:-1]}"
    return column


@router.get("/b/{key}/set/{n}", include_in_schema=False)
def name_set(
    request: Request, site: Here, served: Served, n: _Number, run: Runs = (), offset: Offset = 0, form: _Form = ""
) -> Response:  # fmt: skip
    runs = explorer_views.chosen_runs(served, run, explorer_views.MOST_SYSTEMS if not form else 4)
    view = or_not_found(
        explorer_views.set_view(site, served, n, runs, offset, rankings=bool(form)), "name set"
    )
    if form == "csv":
        rows = [
            {"query": query["id"], "input": query["input"], **row}
            for query in view["queries"]
            for row in _rankings(query)
        ]
        return csv_response(rows, f"{served.key}-name-{n}.csv")
    if form == "json":
        return JSONResponse(_without_texts(view))
    return show(request, "name_set.html", served=served, view=view, runs=runs)


@router.get("/b/{key}/query/{q}", include_in_schema=False)
def one_query(
    request: Request, site: Here, served: Served, q: _Number, run: Runs = (), form: _Form = ""
) -> Response:
    runs = explorer_views.chosen_runs(served, run, explorer_views.MOST_SYSTEMS)
    query = or_not_found(explorer_views.query_view(site, served, q, runs), "query")
    if form == "csv":
        return csv_response(_rankings(query), f"{served.key}-query-{q}.csv")
    if form == "json":
        plain = {name: value for name, value in query.items() if name not in ("systems", "key")}
        return JSONResponse({**plain, "results": _rankings(query)})
    return show(request, "query.html", served=served, query=query, runs=runs)


def _rankings(query: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"system": s["run"].name, **{k: str(v) if k == "text" else v for k, v in r.items()}}
        for s in query["systems"]
        for r in s["top"]
    ]


def _without_texts(view: dict[str, Any]) -> dict[str, Any]:
    """A set with its rankings, without the texts of what is ranked."""
    for query in view["queries"]:
        query["systems"] = [
            {"run": s["run"].key, "name": s["run"].name,
             "top": [{k: v for k, v in r.items() if k != "text"} for r in s["top"]]}
            for s in query["systems"]
        ]  # fmt: skip
    matrix = [{"run": run.key, "name": run.name, "bearers": cells} for run, cells in view["matrix"]]
    return {**view, "matrix": matrix}


@router.get("/b/{key}/compare", include_in_schema=False)
def compare(
    request: Request, site: Here, served: Served, run: str = "", other: str = "", offset: Offset = 0,
    form: _Form = "",
) -> Response:  # fmt: skip
    pair = _pair(site, served, run, other)
    if len(pair) != 2:
        return show(request, "compare.html", served=served, pair=None)
    view = explorer_views.compare_view(site, served, pair[0], pair[1], offset)
    if form == "csv":
        return csv_response(view["rows"], f"{served.key}-compare.csv")
    if form == "json":
        return JSONResponse(view)
    return show(request, "compare.html", served=served, pair=pair, view=view)


# the same as JSON


@router.get("/api/benchmarks", responses=REFUSALS)
def list_benchmarks(request: Request, site: Here) -> list[dict[str, Any]]:
    """Every benchmark with its runs."""
    person = may_read(request)
    return [
        {"key": s.key, "id": s.id, "name": s.name, "counts": s.folder.manifest.counts,
         "runs": [{"key": r.key, "name": r.name} for r in s.runs.values()]}
        for s in readable_benchmarks(site, person)
    ]  # fmt: skip


@router.get("/api/benchmarks/{key}/sets", responses=REFUSALS)
def list_sets(
    request: Request, site: Here, served: Served, q: _Text = "",
    outcome: Annotated[str, Query(pattern="^(|confused|right-wrong|all-correct|not-all-correct)$")] = "",
    run: _Text = "", other: _Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Name sets that contain the text and have the facets and the outcome, a page at a time."""
    wanted = _wanted(request, q, outcome, after, queries=False)
    return _page(explorer_views.search(site, served, wanted, _pair(site, served, run, other)), "sets")


@router.get("/api/benchmarks/{key}/queries", responses=REFUSALS)
def list_queries(
    request: Request, site: Here, served: Served, q: _Text = "",
    outcome: Annotated[str, Query(pattern="^(|right|wrong|confused|failed|right-wrong)$")] = "",
    run: _Text = "", other: _Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Queries that contain the text and have the facets and the outcome, a page at a time."""
    wanted, pair = _wanted(request, q, outcome, after, queries=True), _pair(site, served, run, other)
    return _page(explorer_views.search(site, served, wanted, pair, listing.find_queries), "queries")


def _page(listed: listing.Listing, what: str) -> dict[str, Any]:
    return {
        what: listed.rows, "count": listed.count, "exact": listed.exact, "after": listed.following,
        "complete": listed.complete,
    }  # fmt: skip


@router.get("/api/benchmarks/{key}/sets/{n}", responses=REFUSALS)
def get_set(site: Here, served: Served, n: _Number, run: Runs = (), offset: Offset = 0) -> dict[str, Any]:
    """One name set: its bearers, and its queries with the first ten of each system."""
    view = explorer_views.set_view(site, served, n, explorer_views.chosen_runs(served, run), offset)
    return _without_texts(or_not_found(view, "name set"))


@router.get("/api/benchmarks/{key}/compare", responses=REFUSALS)
def compare_runs(site: Here, served: Served, run: _Text, other: _Text, offset: Offset = 0) -> dict[str, Any]:
    """Where two systems differ, by what matters."""
    pair = [served.runs[key] for key in (run, other) if key in served.runs]
    if len(pair) != 2:
        raise HTTPException(404, "there are no two such runs")
    return explorer_views.compare_view(site, served, pair[0], pair[1], offset)
