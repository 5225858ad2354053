"""The explorer: benchmarks, their name sets by text, facet and outcome, one set, two systems."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from whichone.web.ask import open_to
from whichone.web.boards.board import boards, hidden_benchmarks
from whichone.web.explorer import explorer_views, listing
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.limits import REFUSALS
from whichone.web.pages import csv_response, go, may_read, readable_benchmarks, show, visitor
from whichone.web.served_folder import ServedBenchmark, ServedRun
from whichone.web.web_site import Site, clean, place_of_scope, site_of

router = APIRouter()

Key = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="A benchmark's key.")]
Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Query(ge=0, le=2**40)]
Text = Annotated[str, Query(max_length=200)]
Form = Annotated[str, Query(pattern="^(|csv|json)$", description="As a file.")]
Runs = Annotated[tuple[str, ...], Query(max_length=explorer_views.MOST_SYSTEMS, description="Keys of runs.")]


def benchmark_of(request: Request, key: str) -> ServedBenchmark:
    """The benchmark that a request names; a hidden one exists for admins only."""
    person = may_read(request)
    site = site_of(request)
    served = site.folder.benchmark(key)
    if served is None or served not in readable_benchmarks(site, person):
        raise HTTPException(404, "there is no such benchmark here")
    return served


def _wanted(request: Request, q: str, outcome: str, after: int, *, queries: bool = False) -> listing.Wanted:
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
    return listing.Wanted(clean(q, 200), facets, outcome, after)


def _runs(served: ServedBenchmark, *keys: str) -> list[ServedRun]:
    return [served.runs[key] for key in keys if key in served.runs]


def _pair(site: Site, served: ServedBenchmark, run: str, other: str) -> list[ServedRun]:
    """The systems X and Y of a view; the best and the worst where it names none."""
    first, second = served.runs.get(run), served.runs.get(other)
    if first is None or second is None:
        every = [r for r, _ in explorer_views.overview(site, served)]
        first = first or next((r for r in every if r is not second), None)
        second = second or next((r for r in reversed(every) if r is not first), None)
    return [r for r in (first, second) if r is not None]


@router.get("/", include_in_schema=False)
def home(request: Request) -> Response:
    """What this is and what is served; people whose link is for one page are led to it."""
    person = visitor(request)
    if person is not None and person.scope:
        return go(place_of_scope(person.scope))
    may_read(request)
    site = site_of(request)
    hidden, served = hidden_benchmarks(site), readable_benchmarks(site, person)
    overviews = {s.key: _overview(site, s) for s in served}
    return show(
        request, "home.html", benchmarks=served, hidden=hidden, strays=site.folder.strays,
        overviews=overviews, live=_live(site, served, overviews, hidden),
        boards=boards(site), asked=_box(request),
    )  # fmt: skip


def _box(request: Request) -> tuple[str, list[str]] | None:
    """The benchmark that the landing page's box asks, and questions to click on."""
    served = next(iter(open_to(request)), None)
    try:
        if served is not None:
            return served.key, request.app.state.askers.examples(site_of(request), served)
    except NotReady:
        pass
    return None


def _overview(site: Site, served: ServedBenchmark) -> list[tuple[ServedRun, dict[str, Any]]]:
    try:
        return explorer_views.overview(site, served)
    except NotReady:
        return []


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
        query = explorer_views.example(site, served, best, worst)
        if query is not None:
            return {
                "served": served, "query": query, "best": best, "worst": worst,
                "best_counts": best_counts, "worst_counts": worst_counts,
            }  # fmt: skip
    return None


@router.get("/b/{key}", include_in_schema=False)
def sets(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False, form: Form = "",
) -> Response:  # fmt: skip
    """Its name sets; a benchmark without any shows its queries at once."""
    site, served = site_of(request), benchmark_of(request, key)
    if not explorer_views.has_sets(site, served):
        return queries(request, key, q, outcome, run, other, after, fragment, form)
    wanted = _wanted(request, q, outcome, after)
    pair = _pair(site, served, run, other)
    if form:
        return _export(site, served, wanted, pair, listing.find_sets, form, "names")
    listed = explorer_views.search(site, served, wanted, pair)
    return _list(request, served, wanted, listed, pair, fragment, "sets.html", "list_of_sets.html")


@router.get("/b/{key}/queries", include_in_schema=False)
def queries(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False, form: Form = "",
) -> Response:  # fmt: skip
    """Its queries by text, facet and outcome, whether or not they are about shared names."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(site, served, run, other)
    if form:
        return _export(site, served, wanted, pair, listing.find_queries, form, "queries")
    listed = explorer_views.search(site, served, wanted, pair, listing.find_queries)
    return _list(
        request, served, wanted, listed, pair, fragment, "queries.html", "list_of_queries.html",
        confusing=explorer_views.has_sets(site, served),
    )  # fmt: skip


def _export(
    site: Site, served: ServedBenchmark, wanted: listing.Wanted, pair: list[ServedRun],
    find: Any, form: str, name: str,
) -> Response:  # fmt: skip
    """Everything that a list shows, as a file."""
    rows = explorer_views.everything(site, served, wanted, pair, find)
    if rows is None:
        raise HTTPException(422, f"more than {explorer_views.MOST_EXPORTED:,} rows: narrow the list down")
    renamed = [{_column(column, pair): value for column, value in row.items()} for row in rows]
    if form == "csv":
        return csv_response(renamed, f"{served.key}-{name}.csv")
    return JSONResponse(renamed)


def _column(column: str, pair: list[ServedRun]) -> str:
    """`right0` as the first system's own column."""
    if column[-1:].isdigit() and int(column[-1]) < len(pair):
        return f"{pair[int(column[-1])].name} {column[:-1]}"
    return column


def _list(
    request: Request, served: ServedBenchmark, wanted: listing.Wanted, listed: listing.Listing, pair: list[ServedRun],
    fragment: bool, page: str, part: str, **values: Any,
) -> Response:  # fmt: skip
    """A page of a list, or only what is found, as the page asks for it while someone types."""
    pairs = [p for p in request.query_params.multi_items() if p[0] not in ("after", "fragment")]
    following = urlencode([*pairs, ("after", str(listed.following))]) if listed.following else ""
    site, of_queries = site_of(request), part == "list_of_queries.html"
    counts = explorer_views.counted(site, served, wanted, pair, queries=of_queries) if listed.exact else {}
    kept = {
        "counts": counts,
        "served": served,
        "listing": listed,
        "following": following,
        "pair": pair,
        **values,
    }
    if fragment:
        return show(request, part, **kept)
    exported = urlencode([*pairs, ("form", "csv")]), urlencode([*pairs, ("form", "json")])
    return show(
        request,
        page,
        **kept,
        exported=exported,
        wanted=wanted,
        chosen=dict(wanted.facets),
        facets=explorer_views.facets(site, served, queries=page == "queries.html"),
        systems=explorer_views.overview(site, served),
    )


@router.get("/b/{key}/set/{n}", include_in_schema=False)
def name_set(
    request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0, form: Form = ""
) -> Response:
    """One name: its bearers, what became of their queries in each system, and the queries."""
    site, served = site_of(request), benchmark_of(request, key)
    runs = explorer_views.chosen_runs(served, run, explorer_views.MOST_SYSTEMS if not form else 4)
    view = explorer_views.set_view(site, served, n, runs, offset, rankings=bool(form))
    if view is None:
        raise HTTPException(404, "there is no such name set")
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
def one_query(request: Request, key: Key, q: Number, run: Runs = (), form: Form = "") -> Response:
    """One query with what every system returned, best first, and what readers answered."""
    site, served = site_of(request), benchmark_of(request, key)
    runs = explorer_views.chosen_runs(served, run, explorer_views.MOST_SYSTEMS)
    query = explorer_views.query_view(site, served, q, runs)
    if query is None:
        raise HTTPException(404, "there is no such query")
    if form:
        rows = _rankings(query)
        if form == "csv":
            return csv_response(rows, f"{served.key}-query-{q}.csv")
        return JSONResponse({**_plain(query), "results": rows})
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


def _plain(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if name not in ("systems", "key")}


@router.get("/b/{key}/compare", include_in_schema=False)
def compare(
    request: Request, key: Key, run: str = "", other: str = "", offset: Offset = 0, form: Form = ""
) -> Response:
    """Where two systems differ: the best and the worst where none are named."""
    site, served = site_of(request), benchmark_of(request, key)
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
def list_benchmarks(request: Request) -> list[dict[str, Any]]:
    """Every benchmark with its runs."""
    person = may_read(request)
    return [
        {"key": s.key, "id": s.id, "name": s.name, "counts": s.folder.manifest.counts,
         "runs": [{"key": r.key, "name": r.name} for r in s.runs.values()]}
        for s in readable_benchmarks(site_of(request), person)
    ]  # fmt: skip


@router.get("/api/benchmarks/{key}/sets", responses=REFUSALS)
def list_sets(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|confused|right-wrong|all-correct|not-all-correct)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Name sets that contain the text and have the facets and the outcome, a page at a time."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after)
    return _page(explorer_views.search(site, served, wanted, _pair(site, served, run, other)), "sets")


@router.get("/api/benchmarks/{key}/queries", responses=REFUSALS)
def list_queries(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|right|wrong|confused|failed|right-wrong)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Queries that contain the text and have the facets and the outcome, a page at a time."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(site, served, run, other)
    return _page(explorer_views.search(site, served, wanted, pair, listing.find_queries), "queries")


def _page(listed: listing.Listing, what: str) -> dict[str, Any]:
    return {
        what: listed.rows, "count": listed.count, "exact": listed.exact, "after": listed.following,
        "complete": listed.complete,
    }  # fmt: skip


@router.get("/api/benchmarks/{key}/sets/{n}", responses=REFUSALS)
def get_set(request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0) -> dict[str, Any]:
    """One name set: its bearers, and its queries with the first ten of each system."""
    site, served = site_of(request), benchmark_of(request, key)
    view = explorer_views.set_view(site, served, n, explorer_views.chosen_runs(served, run), offset)
    if view is None:
        raise HTTPException(404, "there is no such name set")
    return _without_texts(view)


@router.get("/api/benchmarks/{key}/compare", responses=REFUSALS)
def compare_runs(request: Request, key: Key, run: Text, other: Text, offset: Offset = 0) -> dict[str, Any]:
    """Where two systems differ, by what matters."""
    site, served = site_of(request), benchmark_of(request, key)
    pair = _runs(served, run, other)
    if len(pair) != 2:
        raise HTTPException(404, "there are no two such runs")
    return explorer_views.compare_view(site, served, pair[0], pair[1], offset)
