"""AmbER's scores at each depth, in percent, as the released scorer prints them; confusion is ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from whichone.errors import BadInput
from whichone.measures.ranking_measures import is_confused, is_right
from whichone.papers.amber.scores.predictions import OnError, read_predictions
from whichone.papers.amber.scores.sets import PageId, QuerySet, SetQuery, as_text, read_sets

NOT_A_PAGE = "None"
"""What the released retrievers write for a title that they could not find."""

Percent = float | None


class AmberScores(Struct, frozen=True):
    """Percentages at one depth; None where there is no query of that kind.

    `accuracy` is over distinct query ids; `head`, `tail` and the confusion are over the queries of
    all sets; `all_correct` is over sets, and a set without a query counts as correct.
    """

    accuracy: Percent
    head: Percent
    tail: Percent
    all_correct: Percent
    confused: Percent
    confused_head: Percent
    confused_tail: Percent


class AmberEvaluation(Struct, frozen=True):
    """Scores by depth, one row a query, and what has to be said about the files."""

    scores: dict[int, AmberScores]
    rows: list[dict[str, str | float]]
    warnings: list[str]
    skipped: list[str]


def ranked_pages(pages: Iterable[PageId]) -> list[PageId]:
    """Each page once, without the text "None"; null is a page like any other."""
    return [page for page in dict.fromkeys(pages) if page != NOT_A_PAGE]


def evaluate_amber(
    sets: str | Path,
    predictions: str | Path,
    depths: Sequence[int] = (1, 5, 20),
    on_error: OnError = "fail",
) -> AmberEvaluation:
    """Score predictions for AmbER sets; with `on_error="skip"` a missing prediction is wrong."""
    all_predictions = read_predictions(predictions, on_error)
    query_sets = read_sets(sets)
    if all_predictions.text_ids:
        query_sets = as_text(query_sets)
    queries = [query for query_set in query_sets for query in query_set.queries]
    if not queries:
        raise BadInput("none of the sets has a query", file=sets)
    ranked = {query.id: ranked_pages(all_predictions.pages.get(query.id, ())) for query in queries}
    warnings = _warnings(queries, all_predictions.pages, all_predictions.repeated)
    missing = [query for query in ranked if query not in all_predictions.pages]
    if missing:
        said = f"{len(missing)} of {len(ranked)} queries have no prediction"
        if on_error == "fail":
            raise BadInput(
                said,
                file=predictions,
                ids=missing,
                hint="predict an empty list for them, or --on-error skip to count them as wrong",
            )
        all_predictions.skipped.append(
            f"{predictions}: {said}, counted as wrong ({', '.join(missing[:5])})"
        )
    return AmberEvaluation(
        scores={k: scores_at(k, query_sets, ranked) for k in dict.fromkeys(depths)},
        rows=[_row(query, ranked[query.id], depths) for query in queries],
        warnings=warnings,
        skipped=all_predictions.skipped,
    )


def scores_at(k: int, sets: Sequence[QuerySet], ranked: dict[str, list[PageId]]) -> AmberScores:
    """The released scorer's numbers at depth k, and the share of confused queries."""
    correct: dict[str, bool] = {}  # by id: where an id is used twice the last gold decides
    confused: dict[str, list[bool]] = {"head": [], "tail": []}
    for query_set in sets:
        for query in query_set.queries:
            top = ranked[query.id][:k]
            correct[query.id] = is_right(top, query.gold)
            confused[query.role].append(is_confused(top, query.gold, query.others))
    by_role = {
        role: [correct[q.id] for query_set in sets for q in query_set.queries if q.role == role]
        for role in ("head", "tail")
    }
    return AmberScores(
        accuracy=_percent(list(correct.values())),
        head=_percent(by_role["head"]),
        tail=_percent(by_role["tail"]),
        all_correct=_percent([all(correct[q.id] for q in query_set.queries) for query_set in sets]),
        confused=_percent(confused["head"] + confused["tail"]),
        confused_head=_percent(confused["head"]),
        confused_tail=_percent(confused["tail"]),
    )


def _percent(values: Sequence[bool]) -> Percent:
    return 100 * sum(values) / len(values) if values else None


def _row(query: SetQuery, pages: Sequence[PageId], depths: Sequence[int]) -> dict[str, str | float]:
    row: dict[str, str | float] = {
        "id": query.id,
        "name": query.name,
        "entity": query.entity,
        "role": query.role,
    }
    for k in depths:
        row[f"accuracy@{k}"] = float(is_right(pages[:k], query.gold))
        row[f"confused@{k}"] = float(is_confused(pages[:k], query.gold, query.others))
    return row


def _warnings(
    queries: Sequence[SetQuery], pages: dict[str, list[PageId]], repeated: Sequence[str]
) -> list[str]:
    said = []
    ids = {query.id for query in queries}
    if extra := [query for query in pages if query not in ids]:
        said.append(f"{len(extra)} predictions are for ids that are in no set: left out")
    if repeated:
        said.append(f"{len(repeated)} query ids are predicted more than once: the last one counts")
    if len(ids) < len(queries):
        said.append(
            f"{len(queries) - len(ids)} queries use an id that another query has: for correctness "
            "the last gold pages of an id count for all of them, as in the released scorer"
        )
    gold_types = {type(page) for query in queries for page in query.gold if page is not None}
    types = {type(page) for query in ids for page in pages.get(query, ()) if page is not None}
    if gold_types and types - gold_types:
        names = "/".join(sorted(t.__name__ for t in gold_types))
        others = "/".join(sorted(t.__name__ for t in types - gold_types))
        said.append(
            f'page ids are {names} in the sets and {others} in the predictions: 5 and "5" are '
            "different pages here, as in the released scorer"
        )
    return said
