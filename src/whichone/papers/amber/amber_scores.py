"""AmbER's retrieval scores from a file of AmbER sets and a file of predictions."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from whichone.errors import BadInput
from whichone.files.lines import decode_line, read_json_lines, read_lines
from whichone.measures.answer_measures import of_text, token_f1
from whichone.measures.ranking_measures import is_confused, is_right
from whichone.records import Role, page_of
from whichone.text import normalisers

# As it appears in the file: the released scorer takes 5 and "5" for different pages.
PageId = str | int | float | None


class SetQuery(Struct, frozen=True):
    """A query of one bearer, its gold pages, and the pages of the name's other bearers."""

    id: str
    name: str
    entity: str
    role: Role
    gold: frozenset[PageId]
    others: frozenset[PageId]


class QuerySet(Struct, frozen=True):
    """All queries about the bearers of one name."""

    name: str
    queries: tuple[SetQuery, ...]


class _SetsPage(Struct):
    wikipedia_id: PageId


class _SetsOutput(Struct):
    provenance: list[_SetsPage] = []


class _Query(Struct):
    id: Any
    output: _SetsOutput | list[_SetsOutput]


class _Bearer(Struct):
    is_head: bool
    queries: list[_Query] = []
    wikipedia: list[_SetsPage] = []


class _Set(Struct):
    name: str
    qids: dict[str, _Bearer]


def read_sets(path: str | Path) -> list[QuerySet]:
    """Every set of the file, sets without a query included."""
    if Path(path).is_dir():
        raise BadInput(
            "a folder, where one file of AmbER sets is wanted",
            file=path,
            hint="`whichone export BENCH OUT --format amber` writes OUT/qa/amber_sets.jsonl; "
            "`whichone score RUN` scores a run on its own benchmark",
        )
    sets = []
    for _, record in read_json_lines(path, _Set):
        sets.append(_query_set(record))
    if not sets:
        raise BadInput("there are no AmbER sets in it", file=path)
    return sets


def _query_set(record: _Set) -> QuerySet:
    pages = {entity: _ids(bearer.wikipedia) for entity, bearer in record.qids.items()}
    queries = []
    for entity, bearer in record.qids.items():
        others = frozenset[PageId]().union(*(p for e, p in pages.items() if e != entity))
        for query in bearer.queries:
            outputs = query.output if isinstance(query.output, list) else [query.output]
            gold = frozenset[PageId]().union(*(_ids(output.provenance) for output in outputs))
            queries.append(
                SetQuery(
                    id=str(query.id),
                    name=record.name,
                    entity=entity,
                    role="head" if bearer.is_head else "tail",
                    gold=gold,
                    others=others - gold - pages[entity],
                )
            )
    return QuerySet(record.name, tuple(queries))


def _ids(pages: list[_SetsPage]) -> frozenset[PageId]:
    return frozenset(page.wikipedia_id for page in pages)


def as_text(sets: list[QuerySet]) -> list[QuerySet]:
    """The same sets with page ids as text, for predictions that have no other kind."""
    return [
        msgspec.structs.replace(
            query_set,
            queries=tuple(
                msgspec.structs.replace(
                    q, gold=frozenset(map(str, q.gold)), others=frozenset(map(str, q.others))
                )
                for q in query_set.queries
            ),
        )
        for query_set in sets
    ]


OnError = Literal["fail", "skip"]


class Predictions(Struct):
    """Pages by query id, best first, as written in the file; `skipped` is what was left out."""

    pages: dict[str, list[PageId]]
    text_ids: bool = False
    """The format knows page ids as text only, so gold ids are compared as text too."""
    repeated: list[str] = []
    """Query ids that occur more than once: the last one counts."""
    skipped: list[str] = []


class _Page(Struct):
    wikipedia_id: PageId | UnsetType = UNSET


class _Output(Struct):
    provenance: list[_Page] | UnsetType = UNSET


class _Prediction(Struct):
    id: Any
    output: _Output | list[_Output]


def read_predictions(path: str | Path, on_error: OnError = "fail") -> Predictions:
    """The format is recognised by what is there: a folder is a run, a line with `{` is JSON, else TREC."""
    if Path(path).is_dir():
        return _read_run(path)
    for line, text in read_lines(path):
        if text.strip():
            if text.lstrip().startswith(b"{"):
                return _read_json(path, on_error)
            if len(text.split()) == 6:
                return _read_trec(path, on_error)
            raise BadInput(
                "neither a prediction in JSON nor a line of a TREC run",
                file=path,
                line=line,
                hint='{"id": ..., "output": {"provenance": [{"wikipedia_id": ...}]}} a line, or '
                "query Q0 page rank score tag",
            )
    raise BadInput("there are no predictions in it", file=path)


def _read_json(path: str | Path, on_error: OnError) -> Predictions:
    predictions = Predictions({})
    decoder = Decoder(_Prediction)
    for line, text in read_lines(path):
        if not text.strip():
            continue
        try:
            record = decode_line(decoder, text, path, line)
            entries = _entries(record, path, line)
        except BadInput as error:
            if on_error == "fail":
                raise
            predictions.skipped.append(str(error))
            continue
        pages = [e.wikipedia_id for e in entries if not isinstance(e.wikipedia_id, UnsetType)]
        if lacking := len(entries) - len(pages):
            said = f"{lacking} of {len(entries)} provenance entries have no wikipedia_id"
            if on_error == "fail":
                raise BadInput(said, file=path, line=line, ids=[f"id {record.id}"])
            predictions.skipped.append(f"{path}:{line}: {said} (id {record.id})")
        query = str(record.id)
        if query in predictions.pages:
            predictions.repeated.append(query)
        predictions.pages[query] = pages
    return predictions


def _entries(record: _Prediction, path: str | Path, line: int) -> list[_Page]:
    outputs = record.output if isinstance(record.output, list) else [record.output]
    ranked = [o.provenance for o in outputs if not isinstance(o.provenance, UnsetType)]
    if len(ranked) != 1:
        raise BadInput(
            f"{len(ranked)} outputs with provenance where one is expected",
            file=path,
            line=line,
            ids=[f"id {record.id}"],
        )
    return ranked[0]


def _read_trec(path: str | Path, on_error: OnError) -> Predictions:
    """Ordered by score, as trec_eval does; equal scores by rank."""
    predictions = Predictions({}, text_ids=True)
    rows: dict[str, list[tuple[float, int, str]]] = {}
    for line, text in read_lines(path):
        if not text.strip():
            continue
        try:
            query, _, document, rank, score, _ = text.decode().split()
            rows.setdefault(query, []).append((-float(score), int(rank), _wikipedia_id(document)))
        except ValueError:
            said = "not a line of a TREC run: query Q0 page rank score tag"
            if on_error == "fail":
                raise BadInput(said, file=path, line=line) from None
            predictions.skipped.append(f"{path}:{line}: {said}")
    for query, ranked in rows.items():
        predictions.pages[query] = [page for _, _, page in sorted(ranked)]
    return predictions


def _read_run(path: str | Path) -> Predictions:
    from whichone.runs.run import Run

    ranked = Run.open(path).ranked_pages()
    return Predictions(
        {query: [_wikipedia_id(page) for page in pages] for query, pages in ranked.items()}, text_ids=True
    )


def _wikipedia_id(document: str) -> str:
    """A passage or page id without its source and its number: `enwiki:12#3` is page 12."""
    return page_of(document).rpartition(":")[2]


NOT_A_PAGE = "None"  # What the released retrievers write for a title that they could not find

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
    sets: str | Path, predictions: str | Path, depths: Sequence[int] = (1, 5, 20), on_error: OnError = "fail"
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
        all_predictions.skipped.append(f"{predictions}: {said}, counted as wrong ({', '.join(missing[:5])})")
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


def _exact(text: str, golds: set[str]) -> float:
    return float(normalisers.amber_normalize(text) in map(normalisers.amber_normalize, golds))


def _f1(text: str, golds: set[str]) -> float:
    words = normalisers.amber_tokens(text)
    return max(token_f1(words, normalisers.amber_tokens(gold)) for gold in golds)


amber_exact_match = of_text("amber_em", _exact, "the answer is an accepted one after AmbER's normaliser")
amber_f1 = of_text(
    "amber_f1", _f1, "the words that the answer shares with the best accepted one, as AmbER counts them"
)
