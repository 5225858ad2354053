"""What the explorer shows of a set, a query and two systems, put together from its indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whichone.records import page_of
from whichone.web.explorer import queries as explorer
from whichone.web.explorer import search as found
from whichone.web.explorer.highlight import marked
from whichone.web.explorer.indexes import NotReady
from whichone.web.served_folder import Shelf, Shelved
from whichone.web.site import House

MOST_SYSTEMS = 4


def chosen_runs(shelf: Shelf, keys: Sequence[str]) -> list[Shelved]:
    """The runs that a view names, in its order; the first few when it names none."""
    named = [shelf.runs[key] for key in dict.fromkeys(keys) if key in shelf.runs]
    return (named or list(shelf.runs.values()))[:MOST_SYSTEMS]


def search(
    house: House, shelf: Shelf, wanted: found.Wanted, runs: Sequence[Shelved],
    find: Callable[[sqlite3.Connection, found.Wanted, int], found.Found] = found.find_sets,
) -> found.Found:  # fmt: skip
    """Name sets, or queries by `found.find_queries`, with the runs that an outcome is about."""
    index = house.holdings.benchmark_index(shelf)
    indexes = [house.holdings.run_index(shelf, run) for run in runs]
    with explorer.opened(index, indexes) as database:
        return find(database, wanted, len(indexes))


def facets(
    house: House, shelf: Shelf, *, queries: bool = False
) -> dict[str, list[tuple[str, int]]]:
    values = explorer.query_facet_values if queries else explorer.facet_values
    with explorer.opened(house.holdings.benchmark_index(shelf)) as database:
        return values(database)


def has_sets(house: House, shelf: Shelf) -> bool:
    """Whether queries of this benchmark are about shared names."""
    with explorer.opened(house.holdings.benchmark_index(shelf)) as database:
        return database.execute("select 1 from sets limit 1").fetchone() is not None


def overview(house: House, shelf: Shelf) -> list[tuple[Shelved, dict[str, int]]]:
    """What became of the queries in each run."""
    rows = []
    index = house.holdings.benchmark_index(shelf)
    waiting: NotReady | None = None
    for run in shelf.runs.values():
        try:
            made = house.holdings.run_index(shelf, run)
        except NotReady as error:  # all of them are asked for before anybody waits
            waiting = waiting or error
            continue
        with explorer.opened(index, [made]) as database:
            rows.append((run, explorer.outcome_counts(database)))
    if waiting is not None:
        raise waiting
    return rows


def set_view(
    house: House, shelf: Shelf, n: int, runs: Sequence[Shelved], offset: int = 0
) -> dict[str, Any] | None:
    """A set with its bearers, their pages, and some of its queries with what systems ranked."""
    with explorer.opened(house.holdings.benchmark_index(shelf)) as database:
        name_set = explorer.one_set(database, n)
        if name_set is None:
            return None
        queries, count = explorer.set_queries(database, n, offset)
    pages = {p for bearer in name_set["bearers"] for p in bearer["pages"]}
    texts = house.shelves.passages(shelf.folder.path("passages.parquet"), pages)
    for bearer in name_set["bearers"]:
        bearer["texts"] = [(p, *texts.get(p, (p, ""))) for p in bearer["pages"]]
    with_rankings(house, shelf, queries, runs)
    return {**name_set, "queries": queries, "count": count, "offset": offset}


def query_view(
    house: House, shelf: Shelf, q: int, runs: Sequence[Shelved]
) -> dict[str, Any] | None:
    with explorer.opened(house.holdings.benchmark_index(shelf)) as database:
        query = explorer.one_query(database, q)
    if query is not None:
        with_rankings(house, shelf, [query], runs)
        texts = house.shelves.passages(shelf.folder.path("passages.parquet"), query["gold"])
        query["gold_texts"] = [(page, *texts.get(page, (page, ""))) for page in query["gold"]]
    return query


def with_rankings(
    house: House, shelf: Shelf, queries: Sequence[dict[str, Any]], runs: Sequence[Shelved]
) -> None:
    """Adds to each query, for each system, its first ten: what each is, and its text marked."""
    ids = [query["id"] for query in queries]
    tops = {run.key: house.shelves.top(run.folder.path("rankings.parquet"), ids) for run in runs}
    wanted = {p for top in tops.values() for rows in top.values() for _, p, _ in rows}
    texts = house.shelves.passages(shelf.folder.path("passages.parquet"), wanted)
    for query in queries:
        query["systems"] = [
            {"run": run, "top": [_result(query, row, texts) for row in tops[run.key].get(query["id"], ())]}
            for run in runs
        ]  # fmt: skip


def _result(
    query: Mapping[str, Any], row: tuple[int, str, float], texts: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    rank, passage, score = row
    page = page_of(passage)
    title, text = texts.get(passage, (passage, ""))
    kind = "gold" if page in query["gold"] else "namesake" if page in query["others"] else "other"
    return {
        "rank": rank, "id": passage, "score": score, "kind": kind, "title": title,
        "text": marked(text, query["input"]),
    }  # fmt: skip


def compare_view(
    house: House, shelf: Shelf, first: Shelved, second: Shelved, offset: int = 0
) -> dict[str, Any]:
    indexes = [house.holdings.run_index(shelf, run) for run in (first, second)]
    with explorer.opened(house.holdings.benchmark_index(shelf), indexes) as database:
        rows, count = explorer.differences(database, offset)
        return {
            "rows": rows,
            "count": count,
            "offset": offset,
            "agreement": explorer.agreement_table(database),
            "counts": [explorer.outcome_counts(database, number) for number in (0, 1)],
        }
