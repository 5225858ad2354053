"""The table of AmbER's Table 5: all, head, tail, all correct and confusion, by collection and task."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import once
from whichone.benchmarks.several import BENCHMARK, benchmark_of
from whichone.errors import BadInput
from whichone.measures.intervals import Estimate, cluster_note, interval
from whichone.measures.measure import parse_measures
from whichone.measures.outcomes import OUTCOME_MEASURES
from whichone.measures.scores import Scores, estimate, groups_of, score_answers, score_run
from whichone.records import Query
from whichone.runs.run import Answers, Run, trace_of

COLUMNS = ("all", "head", "tail", "all_correct", "confused", "confused_head", "confused_tail")
TASK_ORDER = {"fc": 0, "sf": 1, "qa": 2}
HEAD, TAIL = 1, 2
DEPTH = 20  # How far down a ranking confusion is looked for


class SummaryRow(msgspec.Struct, frozen=True):
    system: str
    collection: str
    task: str
    values: dict[str, Estimate]
    benchmark: str = ""
    measure: str = ""  # Of answers what all, head and tail are of

    @property
    def place(self) -> dict[str, str]:
        """The columns that say what a row is about, in order."""
        several = {BENCHMARK: self.benchmark} if self.benchmark else {}
        return {**several, "collection": self.collection, "task": self.task}


def _rows(
    scores: Scores, figures_of: Callable[[str], Mapping[str, str]], measure: str = ""
) -> list[SummaryRow]:
    """A row for each collection and task, with the task's figures: the measure of each, and whose by its last word."""
    by_name = {str(m): m for m in scores.measures}
    roles, rows = roles_of(scores.queries), []
    for (benchmark, collection, task), members in sorted(rows_by_place(scores.queries).items()):
        whose = {"head": members[roles[members] == HEAD], "tail": members[roles[members] == TAIL]}
        values = {
            figure: estimate(scores, by_name[name], whose.get(figure.rpartition("_")[2], members))
            for figure, name in figures_of(task).items()
        }
        rows.append(SummaryRow(scores.system, collection, task, values, benchmark, measure))
    return rows


def summarise(scores: Scores, k: int = 1) -> list[SummaryRow]:
    """Rows by collection and task, from scores that contain acc@k, all_correct@k and a confusion."""
    confusion = next(str(m) for m in scores.measures if m.name == "confused")
    figures = dict.fromkeys(("all", "head", "tail"), f"acc@{k}")
    figures["all_correct"] = f"all_correct@{k}"
    figures |= dict.fromkeys(("confused", "confused_head", "confused_tail"), confusion)
    return _rows(scores, lambda task: figures)


def collection_of(query: Query) -> str:
    """The collection a query belongs to, else its dataset, else nothing."""
    return str(query.attributes.get("collection") or query.attributes.get("dataset") or "")


def group_of(query: Query) -> str:
    return ": ".join(filter(None, (benchmark_of(query), collection_of(query))))


def rows_by_place(queries: Sequence[Query]) -> dict[tuple[str, str, str], npt.NDArray[np.int64]]:
    """The rows of each benchmark, collection and task, in this order."""
    readers = (benchmark_of, collection_of, operator.attrgetter("task"))
    groups = once(queries, "places", lambda: groups_of(queries, readers))
    return {(str(a), str(b), str(c)): rows for (a, b, c), rows in groups}


def roles_of(queries: Sequence[Query]) -> npt.NDArray[np.int8]:
    """Whether each query is about a head (`HEAD`) or a tail (`TAIL`); else 0."""

    def read() -> npt.NDArray[np.int8]:
        roles: npt.NDArray[np.int8] = np.zeros(len(queries), np.int8)
        for n, query in enumerate(queries):
            if query.role is not None:
                roles[n] = HEAD if query.role == "head" else TAIL
        return roles

    return once(queries, "roles", read)


def summarise_runs(runs: Sequence[Run], benchmark: Benchmark, k: int = 1) -> list[SummaryRow]:
    measures = parse_measures([f"acc@{k}", f"all_correct@{k}", f"confused@{DEPTH}"])
    return [row for run in runs for row in summarise(score_run(run, benchmark, measures), k)]


def as_document(rows: Sequence[SummaryRow], benchmark: Benchmark) -> dict[str, Any]:
    """One JSON document: per system, benchmark where there are several, collection and task the figures."""
    systems: dict[str, Any] = {}
    for row in rows:
        place = systems.setdefault(row.system, {})
        if row.benchmark:
            place = place.setdefault(row.benchmark, {})
        place.setdefault(row.collection, {})[row.task] = {name: row.values[name].brief() for name in COLUMNS}
    return {"benchmark": benchmark.id, "retrievers": systems, "intervals": cluster_note(benchmark.queries)}


def as_table(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """Rows for a terminal, in percent as the paper prints them."""
    return [
        {**row.place, "retriever": row.system, **{name: percent(row.values[name]) for name in COLUMNS}}
        for row in sorted(rows, key=lambda r: (r.benchmark, r.collection, r.task))
    ]


def table_5(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """The shape of AmbER's Table 5: a row for each collection and system, four figures a task."""
    return _wide(rows, {"all": "all", "head": "head", "tail": "tail", "all_correct": "∀"})


def table_6(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """The shape of AmbER's Table 6: confusion of head and tail queries."""
    return _wide(rows, {"confused": "all", "confused_head": "head", "confused_tail": "tail"})


def _wide(rows: Sequence[SummaryRow], figures: dict[str, str]) -> list[dict[str, Any]]:
    wide: dict[tuple[str, str, str], dict[str, Any]] = {}
    order = {system: n for n, system in enumerate(dict.fromkeys(row.system for row in rows))}
    for row in sorted(
        rows, key=lambda r: (r.benchmark, r.collection, order[r.system], TASK_ORDER.get(r.task, 9))
    ):
        place = {key: value for key, value in row.place.items() if key != "task"}
        line = wide.setdefault(
            (row.benchmark, row.collection, row.system), {**place, "retriever": row.system}
        )
        line |= {f"{row.task.upper()} {s}": percent(row.values[f], spread=False) for f, s in figures.items()}
    return list(wide.values())


def percent(estimate: Estimate, *, spread: bool = True) -> str:
    if estimate.value is None:
        return "-"
    shown = f"{100 * estimate.value:.1f}{estimate.mark}"
    if not spread or estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


# The table of AmbER's Table 7: how right the answers are, and how often they are a namesake's.


# What a task's answers are measured by; else F1 after AmbER's normaliser, as in its Table 7.
HEADLINE = {"act": "right_action", "fc": "accuracy", "el": "accuracy", "ambigdocs": "complete"}
OTHERWISE = "amber_f1"
NAMESAKE, REFUSAL, FAILURE = "answered_for_namesake", "refusal", "failure"
# Of what an agent did on the way to its answer.
TRACE_MEASURES = ("calls", "asked_user", "search_confused", "search_mended")
ANSWER_SUMMARY_COLUMNS = ("all", "head", "tail", "namesake", "namesake_head", "namesake_tail", "refusal")


def summary_measures(tasks: Sequence[str]) -> list[str]:
    wanted = [HEADLINE.get(task, OTHERWISE) for task in tasks]
    return list(dict.fromkeys([*wanted, NAMESAKE, REFUSAL, FAILURE, *OUTCOME_MEASURES.values()]))


def outcome_rows(scores: Scores) -> list[SummaryRow]:
    """The share of each of the six outcomes by collection and task, where answers have outcomes."""
    if not set(OUTCOME_MEASURES.values()) <= scores.values.keys():
        return []
    return [row for row in _rows(scores, lambda task: OUTCOME_MEASURES, "outcome") if row.values["right"].n]


def trace_rows(scores: Scores) -> list[SummaryRow]:
    """What an agent did, by collection and task; none where the answers are no agent's."""
    if not set(TRACE_MEASURES) <= scores.values.keys():
        return []
    more = [n for n in map(str, scores.measures) if n.endswith(("_action", "deferred"))]
    shown = {name: name for name in (*TRACE_MEASURES, *more)}
    return _rows(scores, lambda task: shown, "trace")


def summarise_answers(scores: Scores) -> list[SummaryRow]:
    """Rows by collection and task, from scores that contain `summary_measures`; none where nothing was asked."""

    def figures(task: str) -> dict[str, str]:
        right = dict.fromkeys(("all", "head", "tail"), HEADLINE.get(task, OTHERWISE))
        namesake = dict.fromkeys(("namesake", "namesake_head", "namesake_tail"), NAMESAKE)
        return {**right, **namesake, "refusal": REFUSAL}

    return [
        msgspec.structs.replace(row, measure=HEADLINE.get(row.task, OTHERWISE))
        for row in _rows(scores, figures)
        if row.values["refusal"].n
    ]


# When an agent asks back: where it is needed, where it is not, and what it gains.
# A question that does not say which bearer is meant (`underspecified`) is one where asking is right. `risk_coverage` is
# the curve of wrong answers among those given, as less certain ones are withheld.


NEEDED = ("answer_right", "asked_user", "answered_for_namesake", "right_action", "wrong_action")


class AskingSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one system; `turns` are questions to the user for each right answer."""

    system: str
    asked_when_needed: Estimate
    asked_when_not: Estimate
    right: Estimate
    right_when_needed: Estimate
    right_after_one_turn: Estimate
    namesake: Estimate
    turns_per_right: float | None
    risk_coverage: tuple[tuple[float, float], ...] = ()


def asking(answers: Answers, benchmark: Benchmark | None = None) -> AskingSummary:
    base = benchmark or answers.benchmark()
    if not any("underspecified" in q.attributes for q in base.queries):
        raise BadInput(
            f"{base.id} does not mark questions where asking is right",
            hint="build it with: whichone build catalogue KB BENCH --underspecified 0.5",
        )
    scores = score_answers(answers, base, parse_measures(list(NEEDED)))
    right = _acted_or_answered(scores, "right_action", "answer_right")
    taken = _acted_or_answered(scores, "wrong_action", "answered_for_namesake")
    asked = scores.values["asked_user"]
    needed = np.array([bool(q.attributes.get("underspecified")) for q in scores.queries])
    turns = sum(len(trace.of("ask_user")) if (trace := trace_of(a)) else 0 for a in answers.answers.values())
    total = float(np.nansum(right))
    certainty = {q: a.score for q, a in answers.answers.items() if a.score is not None}

    def mean(values: npt.NDArray[np.float64], where: npt.ArrayLike = True) -> Estimate:
        return interval(np.where(where, values, np.nan), scores.clusters)

    return AskingSummary(
        system=answers.name,
        asked_when_needed=mean(asked, needed),
        asked_when_not=mean(asked, ~needed),
        right=mean(right),
        right_when_needed=mean(right, needed),
        right_after_one_turn=mean(right, asked == 1),
        namesake=mean(taken),
        turns_per_right=turns / total if total else None,
        risk_coverage=risk_coverage(
            [certainty.get(q.id, float(not a)) for q, a in zip(scores.queries, asked, strict=True)],
            list(right),
        ),
    )


def risk_coverage(
    certainty: list[float], right: list[float], points: int = 50
) -> tuple[tuple[float, float], ...]:
    """(share answered, share of those wrong), the most certain first; ties are answered together."""
    known = [(c, r) for c, r in zip(certainty, right, strict=True) if not np.isnan(r)]
    known.sort(key=lambda pair: -pair[0])
    curve: list[tuple[float, float]] = []
    wrong = 0.0
    for n, (level, value) in enumerate(known, 1):
        wrong += 1 - value
        if n == len(known) or known[n][0] != level:
            curve.append((n / len(known), wrong / n))
    step = max(1, len(curve) // points)
    return (*curve[:-1:step], *curve[-1:])


def _acted_or_answered(scores: Scores, action: str, answer: str) -> npt.NDArray[np.float64]:
    """The measure of actions where an action is asked for, else that of answers."""
    acted = scores.values[action]
    return np.where(np.isnan(acted), scores.values[answer], acted)
