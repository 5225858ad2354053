"""AmbER's retrieval scores from a file of AmbER sets and a file of predictions."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from whichone.errors import BadInput
from whichone.files.lines import decode_line, read_json_lines, read_lines
from whichone.measures.answer_measures import of_text, token_f1
from whichone.measures.ranking_measures import is_confused, is_right
from whichone.options import Depths, OnError, takes
from whichone.records import Role, page_of
from whichone.runs.predictions import each_line, trec_rows
from whichone.runs.run import Run
from whichone.text.normalisers import amber_normalize, amber_tokens

# As it appears in the file: the released scorer takes 5 and "5" for different pages.
PageId = str | int | float | None
Pages = frozenset[PageId]
Percent = float | None


class SetQuery(Struct, frozen=True):
    """A query of one bearer, its gold pages, and the pages of the name's other bearers."""

    id: str
    name: str
    entity: str
    role: Role
    gold: Pages
    others: Pages


class _Page(Struct):
    wikipedia_id: PageId | UnsetType = UNSET


class _Output(Struct):
    provenance: list[_Page] | UnsetType = UNSET


class _Record(Struct):
    id: Any
    output: _Output | list[_Output]

    @property
    def provenance(self) -> list[list[_Page]]:
        """That of every output that has any."""
        outputs = self.output if isinstance(self.output, list) else [self.output]
        return [output.provenance for output in outputs if output.provenance is not UNSET]


class _Bearer(Struct):
    is_head: bool
    queries: list[_Record] = []
    wikipedia: list[_Page] = []


class _Set(Struct):
    name: str
    qids: dict[str, _Bearer]


def read_sets(path: str | Path, *, text_ids: bool = False) -> list[list[SetQuery]]:
    """The queries of every set of the file, sets without a query included; page ids as text if wanted."""
    if Path(path).is_dir():
        raise BadInput(
            "a folder, where one file of AmbER sets is wanted",
            file=path,
            hint="`whichone export BENCH OUT --format amber` writes OUT/qa/amber_sets.jsonl; "
            "`whichone score RUN` scores a run on its own benchmark",
        )

    def ids(pages: Sequence[_Page], line: int) -> Pages:
        known = [page.wikipedia_id for page in pages if page.wikipedia_id is not UNSET]
        if len(known) < len(pages):
            raise BadInput("a page has no wikipedia_id", file=path, line=line)
        return frozenset(map(str, known) if text_ids else known)

    sets: list[list[SetQuery]] = []
    for line, record in read_json_lines(path, _Set):
        pages = {entity: ids(bearer.wikipedia, line) for entity, bearer in record.qids.items()}
        sets.append([])
        for entity, bearer in record.qids.items():
            others = Pages().union(*(p for e, p in pages.items() if e != entity)) - pages[entity]
            role: Role = "head" if bearer.is_head else "tail"
            for query in bearer.queries:
                gold = ids([page for group in query.provenance for page in group], line)
                sets[-1].append(SetQuery(str(query.id), record.name, entity, role, gold, others - gold))
    if not sets:
        raise BadInput("there are no AmbER sets in it", file=path)
    return sets


class Predictions(Struct):
    """Pages by query id, best first, as written in the file; of an id that occurs `repeated` times the last.

    `text_ids`: the format knows page ids as text only, so gold ids are compared as text too.
    """

    pages: dict[str, list[PageId]]
    text_ids: bool = False
    repeated: int = 0
    skipped: list[str] = []


def read_amber_predictions(path: str | Path, on_error: OnError) -> Predictions:
    """The format is recognised by what is there: a folder is a run, a line with `{` is JSON, else TREC."""
    if Path(path).is_dir():
        ranked = Run.open(path).ranked_pages()
        return Predictions({query: [*map(_wikipedia_id, ranked[query])] for query in ranked}, text_ids=True)
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
    decoder, skipped = Decoder(_Record), predictions.skipped if on_error == "skip" else None

    def read(text: bytes, line: int) -> tuple[str, list[PageId]]:
        record = decode_line(decoder, text, path, line)
        about: dict[str, Any] = {"file": path, "line": line, "ids": [f"id {record.id}"]}
        ranked = record.provenance
        if len(ranked) != 1:
            raise BadInput(f"{len(ranked)} outputs with provenance where one is expected", **about)
        pages = [page.wikipedia_id for page in ranked[0] if page.wikipedia_id is not UNSET]
        if lacking := len(ranked[0]) - len(pages):
            problem = f"{lacking} of {len(ranked[0])} provenance entries have no wikipedia_id"
            if skipped is None:
                raise BadInput(problem, **about)
            skipped.append(str(BadInput(problem, **about)))
        return str(record.id), pages

    for question, pages in each_line(path, read, skipped):
        predictions.repeated += question in predictions.pages
        predictions.pages[question] = pages
    return predictions


def _read_trec(path: str | Path, on_error: OnError) -> Predictions:
    """Ordered by score, as trec_eval does; equal scores by rank."""
    predictions = Predictions({}, text_ids=True)
    rows = trec_rows(path, predictions.skipped if on_error == "skip" else None)
    for query, listed in rows.items():
        ordered = sorted((-result.score, rank, _wikipedia_id(result.identity)) for rank, result in listed)
        predictions.pages[query] = [page for *_, page in ordered]
    return predictions


def _wikipedia_id(document: str) -> str:
    """A passage or page id without its source and its number: `enwiki:12#3` is page 12."""
    return page_of(document).rpartition(":")[2]


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
    scores: dict[int, AmberScores]
    rows: list[dict[str, str | float]]
    warnings: list[str]
    skipped: list[str]


def ranked_pages(pages: Iterable[PageId]) -> list[PageId]:
    """Each page once, without the text "None", which the released retrievers write; null is a page like any other."""
    return [page for page in dict.fromkeys(pages) if page != "None"]


class AmberScoring(Struct, frozen=True, kw_only=True):
    depths: Depths = (1, 5, 20)
    on_error: OnError = "fail"


@takes(AmberScoring)
def evaluate_amber(sets: str | Path, predictions: str | Path, plan: AmberScoring) -> AmberEvaluation:
    """Score predictions for AmbER sets; with `on_error="skip"` a missing prediction is wrong."""
    depths, on_error = plan.depths, plan.on_error
    given = read_amber_predictions(predictions, on_error)
    asked = read_sets(sets, text_ids=given.text_ids)
    if not (queries := [query for members in asked for query in members]):
        raise BadInput("none of the sets has a query", file=sets)
    ranked = {query.id: ranked_pages(given.pages.get(query.id, ())) for query in queries}
    if missing := [query for query in ranked if query not in given.pages]:
        problem = f"{len(missing)} of {len(ranked)} queries have no prediction"
        if on_error == "fail":
            raise BadInput(
                problem,
                file=predictions,
                ids=missing,
                hint="predict an empty list for them, or --on-error skip to count them as wrong",
            )
        given.skipped.append(f"{predictions}: {problem}, counted as wrong ({', '.join(missing[:5])})")
    rows: list[dict[str, str | float]] = [
        {
            "id": q.id,
            "name": q.name,
            "entity": q.entity,
            "role": q.role,
            **{f"accuracy@{k}": float(is_right(ranked[q.id][:k], q.gold)) for k in depths},
            **{f"confused@{k}": float(is_confused(ranked[q.id][:k], q.gold, q.others)) for k in depths},
        }
        for q in queries
    ]
    scores = {k: _scores_at(k, asked, ranked) for k in depths}
    return AmberEvaluation(scores, rows, list(_warnings(queries, given)), given.skipped)


def _scores_at(k: int, asked: Sequence[Sequence[SetQuery]], ranked: dict[str, list[PageId]]) -> AmberScores:
    queries = [query for members in asked for query in members]
    # By id: where an id is used twice the last gold decides.
    correct = {q.id: is_right(ranked[q.id][:k], q.gold) for q in queries}
    confused = [is_confused(ranked[q.id][:k], q.gold, q.others) for q in queries]

    def percent(values: Iterable[bool]) -> Percent:
        listed = list(values)
        return 100 * sum(listed) / len(listed) if listed else None

    def of_role(values: Iterable[bool], role: Role) -> Percent:
        return percent(value for value, q in zip(values, queries, strict=True) if q.role == role)

    right = [correct[q.id] for q in queries]
    return AmberScores(
        accuracy=percent(correct.values()),
        head=of_role(right, "head"),
        tail=of_role(right, "tail"),
        all_correct=percent(all(correct[q.id] for q in members) for members in asked),
        confused=percent(confused),
        confused_head=of_role(confused, "head"),
        confused_tail=of_role(confused, "tail"),
    )


def _warnings(queries: Sequence[SetQuery], given: Predictions) -> Iterator[str]:
    ids = {query.id for query in queries}
    if extra := given.pages.keys() - ids:
        yield f"{len(extra)} predictions are for ids that are in no set: left out"
    if given.repeated:
        yield f"{given.repeated} query ids are predicted more than once: the last one counts"
    if len(ids) < len(queries):
        yield (
            f"{len(queries) - len(ids)} queries use an id that another query has: for correctness "
            "the last gold pages of an id count for all of them, as in the released scorer"
        )
    gold_types = {type(page).__name__ for query in queries for page in query.gold if page is not None}
    types = {type(p).__name__ for q in ids for p in given.pages.get(q, ()) if p is not None}
    if gold_types and types - gold_types:
        names, others = "/".join(sorted(gold_types)), "/".join(sorted(types - gold_types))
        yield (
            f'page ids are {names} in the sets and {others} in the predictions: 5 and "5" are '
            "different pages here, as in the released scorer"
        )


amber_exact_match = of_text(
    "amber_em",
    lambda text, golds: float(amber_normalize(text) in map(amber_normalize, golds)),
    "the answer is an accepted one after AmbER's normaliser",
)
amber_f1 = of_text(
    "amber_f1",
    lambda text, golds: max(token_f1(amber_tokens(text), amber_tokens(gold)) for gold in golds),
    "the words that the answer shares with the best accepted one, as AmbER counts them",
)
