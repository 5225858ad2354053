"""The explorer: benchmarks, their name sets by text, facet and outcome, one set, two systems."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.web.boards.hidden import hidden_benchmarks
from whichone.web.explorer import listing, views
from whichone.web.explorer.drawings import agreement_bar, popularity_bars
from whichone.web.links import place_of_scope
from whichone.web.pages import go, show
from whichone.web.refusals import REFUSALS
from whichone.web.served_folder import ServedBenchmark, ServedRun
from whichone.web.site import clean, site_of
from whichone.web.visitors import may_read, visitor

router = APIRouter()

Key = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="A benchmark's key.")]
Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Query(ge=0, le=2**40)]
Text = Annotated[str, Query(max_length=200)]
Runs = Annotated[tuple[str, ...], Query(max_length=views.MOST_SYSTEMS, description="Keys of runs.")]


def benchmark_of(request: Request, key: str) -> ServedBenchmark:
    """The benchmark that a request names; a hidden one exists for admins only."""
    person = may_read(request)
    site = site_of(request)
    served = site.folder.benchmark(key)
    hidden = served is not None and served.id in hidden_benchmarks(site)
    if served is None or (hidden and not (person and person.may("admin"))):
        raise HTTPException(404, "there is no such benchmark here")
    return served


def _wanted(
    request: Request, q: str, outcome: str, after: int, *, queries: bool = False
) -> listing.Wanted:
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


def _pair(served: ServedBenchmark, run: str, other: str) -> list[ServedRun]:
    """The systems X and Y of a view; the first two where it names none."""
    every = list(served.runs.values())
    first = served.runs.get(run) or (every[0] if every else None)
    second = served.runs.get(other) or next((r for r in every if r is not first), None)
    return [r for r in (first, second) if r is not None]


@router.get("/", include_in_schema=False)
def home(request: Request) -> Response:
    """What is served; people whose link is for one page are led to it."""
    person = visitor(request)
    if person is not None and person.scope:
        return go(place_of_scope(person.scope))
    may_read(request)
    site = site_of(request)
    hidden = hidden_benchmarks(site)
    every = site.folder.benchmarks().values()
    benchmarks = [s for s in every if s.id not in hidden or (person and person.may("admin"))]
    return show(
        request, "home.html", benchmarks=benchmarks, hidden=hidden, strays=site.folder.strays
    )


@router.get("/b/{key}", include_in_schema=False)
def sets(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False,
) -> Response:  # fmt: skip
    """Its name sets; a benchmark without any shows its queries at once."""
    site, served = site_of(request), benchmark_of(request, key)
    if not views.has_sets(site, served):
        return queries(request, key, q, outcome, run, other, after, fragment)
    wanted = _wanted(request, q, outcome, after)
    pair = _pair(served, run, other)
    listed = views.search(site, served, wanted, pair)
    return _list(request, served, wanted, listed, pair, fragment, "sets.html", "list_of_sets.html")


@router.get("/b/{key}/queries", include_in_schema=False)
def queries(
    request: Request, key: Key, q: Text = "", outcome: str = "", run: str = "", other: str = "",
    after: Offset = 0, fragment: bool = False,
) -> Response:  # fmt: skip
    """Its queries by text, facet and outcome, whether or not they are about shared names."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(served, run, other)
    listed = views.search(site, served, wanted, pair, listing.find_queries)
    return _list(
        request, served, wanted, listed, pair, fragment, "queries.html", "list_of_queries.html",
        confusing=views.has_sets(site, served),
    )  # fmt: skip


def _list(
    request: Request, served: ServedBenchmark, wanted: listing.Wanted, listed: listing.Listing, pair: list[ServedRun],
    fragment: bool, page: str, part: str, **values: Any,
) -> Response:  # fmt: skip
    """A page of a list, or only what is found, as the page asks for it while someone types."""
    pairs = [p for p in request.query_params.multi_items() if p[0] not in ("after", "fragment")]
    following = urlencode([*pairs, ("after", str(listed.following))]) if listed.following else ""
    kept = {"served": served, "listing": listed, "following": following, "pair": pair, **values}
    if fragment:
        return show(request, part, **kept)
    site = site_of(request)
    return show(
        request,
        page,
        **kept,
        wanted=wanted,
        chosen=dict(wanted.facets),
        facets=views.facets(site, served, queries=page == "queries.html"),
        systems=views.overview(site, served),
    )


@router.get("/b/{key}/set/{n}", include_in_schema=False)
def name_set(request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0) -> Response:
    site, served = site_of(request), benchmark_of(request, key)
    runs = views.chosen_runs(served, run)
    view = views.set_view(site, served, n, runs, offset)
    if view is None:
        raise HTTPException(404, "there is no such name set")
    return show(
        request,
        "name_set.html",
        served=served,
        view=view,
        runs=runs,
        figure=popularity_bars(view["bearers"]),
    )


@router.get("/b/{key}/query/{q}", include_in_schema=False)
def one_query(request: Request, key: Key, q: Number, run: Runs = ()) -> Response:
    site, served = site_of(request), benchmark_of(request, key)
    runs = views.chosen_runs(served, run)
    query = views.query_view(site, served, q, runs)
    if query is None:
        raise HTTPException(404, "there is no such query")
    return show(request, "query.html", served=served, query=query, runs=runs)


@router.get("/b/{key}/compare", include_in_schema=False)
def compare(
    request: Request, key: Key, run: str = "", other: str = "", offset: Offset = 0
) -> Response:
    site, served = site_of(request), benchmark_of(request, key)
    pair = _runs(served, run, other)
    if len(pair) != 2:
        return show(request, "compare.html", served=served, pair=None)
    view = views.compare_view(site, served, pair[0], pair[1], offset)
    figure = agreement_bar(view["agreement"], pair[0].name, pair[1].name)
    return show(request, "compare.html", served=served, pair=pair, view=view, figure=figure)


# the same as JSON


@router.get("/api/benchmarks", responses=REFUSALS)
def list_benchmarks(request: Request) -> list[dict[str, Any]]:
    """Every benchmark with its runs."""
    person = may_read(request)
    site = site_of(request)
    hidden = hidden_benchmarks(site)
    return [
        {"key": s.key, "id": s.id, "name": s.name, "counts": s.folder.manifest.counts,
         "runs": [{"key": r.key, "name": r.name} for r in s.runs.values()]}
        for s in site.folder.benchmarks().values()
        if s.id not in hidden or (person and person.may("admin"))
    ]  # fmt: skip


@router.get("/api/benchmarks/{key}/sets", responses=REFUSALS)
def list_sets(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|confused|right-wrong|all-correct|not-all-correct)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Name sets that hold the text and have the facets and the outcome, a page at a time."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after)
    return _page(views.search(site, served, wanted, _pair(served, run, other)), "sets")


@router.get("/api/benchmarks/{key}/queries", responses=REFUSALS)
def list_queries(
    request: Request, key: Key, q: Text = "",
    outcome: Annotated[str, Query(pattern="^(|right|wrong|confused|failed|right-wrong)$")] = "",
    run: Text = "", other: Text = "", after: Offset = 0,
) -> dict[str, Any]:  # fmt: skip
    """Queries that hold the text and have the facets and the outcome, a page at a time."""
    site, served = site_of(request), benchmark_of(request, key)
    wanted = _wanted(request, q, outcome, after, queries=True)
    pair = _pair(served, run, other)
    return _page(views.search(site, served, wanted, pair, listing.find_queries), "queries")


def _page(listed: listing.Listing, what: str) -> dict[str, Any]:
    return {
        what: listed.rows, "count": listed.count, "exact": listed.exact, "after": listed.following,
        "complete": listed.complete,
    }  # fmt: skip


@router.get("/api/benchmarks/{key}/sets/{n}", responses=REFUSALS)
def get_set(
    request: Request, key: Key, n: Number, run: Runs = (), offset: Offset = 0
) -> dict[str, Any]:
    """One name set: its bearers, and its queries with the first ten of each system."""
    site, served = site_of(request), benchmark_of(request, key)
    view = views.set_view(site, served, n, views.chosen_runs(served, run), offset)
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
    site, served = site_of(request), benchmark_of(request, key)
    pair = _runs(served, run, other)
    if len(pair) != 2:
        raise HTTPException(404, "there are no two such runs")
    return views.compare_view(site, served, pair[0], pair[1], offset)
