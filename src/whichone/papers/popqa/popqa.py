"""PopQA's questions and scores: is the answer in the output, at which popularity, and does retrieval help there?"""

import csv
import io
import json
import math
import random
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.passage_files import field, read_records
from whichone.errors import BadInput, sample
from whichone.files.lines import read_json, write_atomic
from whichone.measures.answer_measures import of_text
from whichone.measures.intervals import interval
from whichone.options import Option, Seed
from whichone.records import Output, Provenance, Query, grouped, page_id

TASK = "PopQA"
COLUMNS = (
    *("id", "subj", "prop", "obj", "subj_id", "prop_id", "obj_id", "s_aliases", "o_aliases"),
    *("s_uri", "o_uri", "s_wiki_title", "o_wiki_title", "s_pop", "o_pop"),
    *("question", "possible_answers"),
)
_ELSEWHERE = {"id", "subj", "prop", "question", "possible_answers"}
_NUMBERS = {"subj_id", "prop_id", "obj_id", "s_pop", "o_pop"}


def read_popqa(path: str | Path, source: str = "corpus") -> Iterator[Query]:
    """Queries of a PopQA file; gold is the subject's page, named by its title in `source`.

    `s_pop` and `o_pop` are monthly page views; one that is missing stays missing.
    """
    for line, record in read_records(path):
        answers = _answers(field(record, "possible_answers", path, line), path, line)
        title = str(record.get("s_wiki_title") or field(record, "subj", path, line))
        entity = _identifier(record.get("s_uri"))
        kept = {  # every other field as it is, numbers of a TSV file as numbers
            key: _number(value, key, path, line) if key in _NUMBERS and isinstance(value, str) else value
            for key, value in record.items()
            if key not in _ELSEWHERE
        }
        yield Query(
            id=str(field(record, "id", path, line)),
            task=TASK,
            input=str(field(record, "question", path, line)),
            outputs=(
                Output(
                    answer=answers[0],
                    aliases=tuple(answers[1:]),
                    entity=entity,
                    provenance=((Provenance(page=page_id(source, title), title=title),),),
                ),
            ),
            name=str(record["subj"]) if record.get("subj") is not None else None,
            relation=str(field(record, "prop", path, line)),
            entity=entity,
            attributes={**kept, "object": _identifier(record.get("o_uri"))},
        )


def _number(text: str, key: str, path: str | Path, line: int) -> int | float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"{key} is no number: {text!r}", file=path, line=line) from None
    return int(value) if value.is_integer() else value


def _answers(value: Any, path: str | Path, line: int) -> list[str]:
    """A JSON list, mostly inside a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise BadInput(
                f"possible_answers is no JSON list: {value[:80]!r}", file=path, line=line
            ) from None
    if not isinstance(value, list) or not value:
        raise BadInput("possible_answers is an empty list or none", file=path, line=line)
    return [str(answer) for answer in value]


def _identifier(uri: Any) -> str | None:
    """`Q5543720` of `http://www.wikidata.org/entity/Q5543720`."""
    return str(uri).rpartition("/")[2] if uri else None


def write_popqa(path: str | Path, queries: Iterable[Query]) -> int:
    path = Path(path)
    rows = [_row(query) for query in queries]
    text = io.StringIO()
    if path.suffix == ".json":
        json.dump(rows, text, indent=4)
    elif path.suffix == ".jsonl":
        text.writelines(json.dumps(row) + "\n" for row in rows)
    elif path.suffix == ".tsv":
        writer = csv.DictWriter(text, COLUMNS, delimiter="\t", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        raise BadInput("PopQA is written as .tsv, .json or .jsonl", file=path)
    write_atomic(path, text.getvalue().encode())
    return len(rows)


def _row(query: Query) -> dict[str, Any]:
    row = {
        **dict.fromkeys(COLUMNS),
        **query.attributes,
        "id": int(query.id) if query.id.isdigit() else query.id,
        "subj": query.name,
        "prop": query.relation,
        "question": query.input,
        "possible_answers": json.dumps(list(query.answers()), ensure_ascii=False),
    }
    return {key: value for key, value in row.items() if key != "object"}


def export_popqa(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    path = Path(out)
    if path.suffix not in (".tsv", ".json", ".jsonl"):
        path.mkdir(parents=True, exist_ok=True)
        path /= "popqa.tsv"
    return {path.name: write_popqa(path, benchmark.queries)}


BINS = 10


def log_popularity(popularity: float | int | None) -> float | None:
    """The natural logarithm; None where popularity is missing or negative, minus infinity at 0."""
    if popularity is None or math.isnan(popularity) or popularity < 0:
        return None
    return math.log(popularity) if popularity > 0 else -math.inf


def bin_edges(logs: Sequence[float], bins: int = BINS) -> list[float]:
    """Edges of bins of equal width between the least and the greatest finite value.

    A popularity of 0 has no finite logarithm: it moves no edge and falls into the lowest bin.
    """
    if not (finite := [value for value in logs if math.isfinite(value)]):
        return [0.0] * (bins + 1)
    low, high = min(finite), max(finite)
    return [low + (high - low) * step / bins for step in range(bins)] + [high]


def bin_of(value: float, edges: Sequence[float]) -> int:
    """A bin contains its lower edge and not its upper one, except the last, which contains both."""
    return bisect(edges[1:-1], value)


FIT_SHARE = 0.75
SPLITS = 100


class AdaptiveOutcome(msgspec.Struct, frozen=True):
    """One question: whether it was answered with retrieval and without."""

    relation: str
    log_popularity: float
    retrieval: bool
    parametric: bool


class Adaptive(msgspec.Struct, frozen=True):
    """Accuracies on the held-out quarters, and each relation's threshold fitted on all questions.

    A threshold is a popularity: below it retrieval is used. 0 is never, None is always.
    """

    adaptive: float
    retrieval: float
    parametric: float
    low: float
    high: float
    splits: int
    questions: int
    thresholds: dict[str, float | None]


def fit_threshold(outcomes: Sequence[AdaptiveOutcome]) -> float:
    """The edge with most answers right: with retrieval below it, without at and above it.

    Candidates are minus infinity (never retrieve), the nine inner edges of the ten bins, and
    infinity (always); of equal ones the lowest, which retrieves least.
    """
    edges = [-math.inf, *bin_edges([o.log_popularity for o in outcomes])[1:-1], math.inf]
    return max(edges, key=lambda edge: (_right(outcomes, edge), -edge))


def _right(outcomes: Sequence[AdaptiveOutcome], edge: float) -> int:
    # A popularity of 0 is minus infinity: below every edge but that of never retrieving.
    return sum(o.retrieval if o.log_popularity < edge else o.parametric for o in outcomes)


def adaptive_retrieval(
    outcomes: Sequence[AdaptiveOutcome], *, splits: int = SPLITS, seed: int = 0
) -> Adaptive:
    """Fit on three quarters of each relation, test on the rest, many times.

    `low` and `high` are the 2.5th and 97.5th percentile over the splits.
    """
    by_relation = grouped((outcome.relation, outcome) for outcome in outcomes)
    if not any(len(members) > 1 for members in by_relation.values()):
        raise BadInput("no relation has two questions with a popularity: there is nothing to fit and test on")
    rng = random.Random(seed)
    results = [_one_split(by_relation, rng) for _ in range(splits)]
    adaptive, retrieval, parametric = (sum(column) / splits for column in zip(*results, strict=True))
    ordered = sorted(share for share, _, _ in results)
    fitted = {relation: fit_threshold(members) for relation, members in sorted(by_relation.items())}
    return Adaptive(
        adaptive=adaptive,
        retrieval=retrieval,
        parametric=parametric,
        low=ordered[round(0.025 * (len(ordered) - 1))],
        high=ordered[round(0.975 * (len(ordered) - 1))],
        splits=splits,
        questions=len(outcomes),
        thresholds={name: None if edge == math.inf else math.exp(edge) for name, edge in fitted.items()},
    )


def _one_split(
    by_relation: Mapping[str, Sequence[AdaptiveOutcome]], rng: random.Random
) -> tuple[float, float, float]:
    tested = adaptive = retrieval = parametric = 0
    for _, members in sorted(by_relation.items()):
        shuffled = rng.sample(members, len(members))
        cut = min(max(1, round(len(members) * FIT_SHARE)), max(1, len(members) - 1))
        fit, test = shuffled[:cut], shuffled[cut:]
        adaptive += _right(test, fit_threshold(fit))
        retrieval += sum(o.retrieval for o in test)
        parametric += sum(o.parametric for o in test)
        tested += len(test)
    return adaptive / tested, retrieval / tested, parametric / tested


def correct(answers: Sequence[str], prediction: str) -> bool:
    """An answer verbatim, in lower case, or with only its first letter capital is a substring.

    The prediction keeps its case: "POLITICIAN" does not hold "politician".
    """
    return any(
        form in prediction for answer in answers for form in (answer, answer.lower(), answer.capitalize())
    )


def first_line(prediction: str) -> str:
    """The first line with anything on it, which is what PopQA's own program scores."""
    return next((line for line in prediction.splitlines() if line.strip()), "")


popqa = of_text(
    "popqa",
    lambda text, golds: float(correct(sorted(golds), first_line(text))),
    "an accepted answer appears in the first line",
)


FIELDS = ("prediction", "pred", "output", "generation", "response", "answer", "text")
_IDS = ("id", "qid", "query", "question_id")


def read_popqa_predictions(
    path: str | Path, queries: Sequence[Query], field: str | None = None
) -> dict[str, str]:
    """The prediction for each query, by query id.

    Records (.jsonl, .json, .tsv, .csv) with an id or the question; a JSON object of id and text; or
    a JSON list, alone or under "answers" or "predictions", in the order of the gold file.
    """
    path = Path(path)
    if ".json" in path.suffixes:
        document = read_json(path)
        if isinstance(document, dict):
            own, document = document, document.get("answers", document.get("predictions"))
            if not isinstance(document, list):
                return _checked(own, queries, path)
        if isinstance(document, list) and not any(isinstance(row, dict) for row in document):
            if len(document) != len(queries):
                raise BadInput(
                    f"{len(document)} predictions without ids for {len(queries)} questions", file=path
                )
            return _checked(dict(zip((q.id for q in queries), document, strict=True)), queries, path)
    by_text: dict[str, str] = {query.input: query.id for query in queries}
    predictions: dict[str, Any] = {}
    for line, record in read_records(path):
        if not isinstance(record, dict):
            raise BadInput("a record with named fields is expected", file=path, line=line)
        if (key := next((str(record[name]) for name in _IDS if name in record), None)) is None:
            key = by_text.get(str(record.get("question", record.get("input"))))
        name = field or next((name for name in FIELDS if name in record), None)
        if key is None or name is None or name not in record:
            raise BadInput(
                f"an id (or the question) and a prediction are expected, there is {sorted(record)}",
                file=path,
                line=line,
                hint="name the prediction's field with --prediction",
            )
        if key in predictions:
            raise BadInput(f"two predictions for {key}", file=path, line=line)
        predictions[key] = record[name]
    return _checked(predictions, queries, path)


def _checked(value: dict[str, Any], queries: Sequence[Query], path: Path) -> dict[str, str]:
    known = {query.id for query in queries}
    if strangers := sorted(value.keys() - known):
        raise BadInput(f"predictions for unknown questions: {sample(strangers)}", file=path)
    if missing := sorted(known - value.keys()):
        raise BadInput(
            f"{len(missing)} questions have no prediction: {sample(missing)}",
            file=path,
            hint="give each one; an empty text counts as wrong",
        )
    if wrong := [key for key, text in value.items() if text is not None and not isinstance(text, str)]:
        raise BadInput(f"predictions that are no text: {sample(wrong)}", file=path)
    return {key: text or "" for key, text in value.items()}


class PopqaVerdict(msgspec.Struct, frozen=True):
    """One question's verdicts; `bin` counts from 0 within the relation."""

    query: Query
    first_line: bool
    whole_output: bool
    log_popularity: float | None
    bin: int | None


def judge(queries: Sequence[Query], predictions: Mapping[str, str]) -> list[PopqaVerdict]:
    """Every question of the file; bins are made over each relation's own questions."""
    logs = {query.id: log_popularity(query.attributes.get("s_pop")) for query in queries}
    known = grouped((query.relation, log) for query in queries if (log := logs[query.id]) is not None)
    edges = {relation: bin_edges(values) for relation, values in known.items()}
    return [
        PopqaVerdict(
            query,
            correct(query.answers(), first_line(predictions[query.id])),
            correct(query.answers(), predictions[query.id]),
            log,
            None if log is None else bin_of(log, edges[query.relation]),
        )
        for query in queries
        for log in [logs[query.id]]
    ]


def summary(judged: Sequence[PopqaVerdict]) -> dict[str, Any]:
    """Accuracy of the first line and of the whole output: in all, by relation, by popularity bin."""
    return {
        "questions": len(judged),
        **_both(judged),
        "relations": _grouped(judged, lambda j: j.query.relation or ""),
        "popularity_bins": _grouped([j for j in judged if j.bin is not None], lambda j: str(j.bin)),
        "without_popularity": sum(j.bin is None for j in judged),
        "zero_popularity": sum(j.log_popularity == -math.inf for j in judged),
    }


def _both(judged: Sequence[PopqaVerdict]) -> dict[str, Any]:
    clusters = [j.query.entity or j.query.id for j in judged]
    values = {
        "first_line": [float(j.first_line) for j in judged],
        "whole_output": [float(j.whole_output) for j in judged],
    }
    return {name: interval(own, clusters).brief() for name, own in values.items()}


def _grouped(judged: Sequence[PopqaVerdict], key: Callable[[PopqaVerdict], str]) -> dict[str, dict[str, Any]]:
    groups = grouped((key(judgement), judgement) for judgement in judged)
    return {name: _both(members) for name, members in sorted(groups.items())}


class PopqaScoring(msgspec.Struct, frozen=True, kw_only=True):
    gold: Annotated[str, Option("PopQA: .tsv, .json or .jsonl.", kind="exists")]
    field: Annotated[str | None, Option("Field that contains the prediction.", flags=("--prediction",))] = (
        None
    )
    parametric: Annotated[
        str | None,
        Option(
            "Predictions without retrieval: gives the popularity below which retrieval helps.", kind="exists"
        ),
    ] = None
    splits: Annotated[int, Option("Random splits for the threshold.")] = SPLITS
    seed: Seed = 0


def compare_with_parametric(
    retrieval: Sequence[PopqaVerdict], parametric: Sequence[PopqaVerdict], plan: PopqaScoring
) -> Adaptive:
    """Where retrieval helps: first lines of a system with retrieval, and of one without."""
    outcomes = [
        AdaptiveOutcome(a.query.relation or "", a.log_popularity, a.first_line, b.first_line)
        for a, b in zip(retrieval, parametric, strict=True)
        if a.log_popularity is not None
    ]
    return adaptive_retrieval(outcomes, splits=plan.splits, seed=plan.seed)


def rows(judged: Sequence[PopqaVerdict]) -> list[dict[str, Any]]:
    return [
        {
            "query": j.query.id,
            "question": j.query.input,
            "relation": j.query.relation,
            "popularity": j.query.attributes.get("s_pop"),
            "bin": j.bin,
            "first_line": j.first_line,
            "whole_output": j.whole_output,
        }
        for j in judged
    ]
