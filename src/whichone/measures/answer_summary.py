"""The table of AmbER's Table 7: how right the answers are, and how often they are a namesake's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichone.measures.intervals import Estimate
from whichone.measures.measure import Measure
from whichone.measures.outcomes import OUTCOME_MEASURES
from whichone.measures.scores import Scores, estimate
from whichone.measures.summary import HEAD, TAIL, SummaryRow, roles_of, rows_by_place

HEADLINE = {"act": "right_action", "fc": "accuracy", "el": "accuracy", "ambigdocs": "complete"}
"""What a task's answers are measured by; else F1 after AmbER's normaliser, as in its Table 7."""
OTHERWISE = "amber_f1"
NAMESAKE, REFUSAL, FAILURE = "answered_for_namesake", "refusal", "failure"
TRACE_MEASURES = ("calls", "asked_user", "search_confused", "search_mended")
"""Of what an agent did on the way to its answer."""
COLUMNS = ("all", "head", "tail", "namesake", "namesake_head", "namesake_tail", "refusal")


class AnswerRow(SummaryRow, frozen=True):
    """One system on one collection and task; `measure` is what all, head and tail are of."""

    measure: str = ""


def summary_measures(tasks: Sequence[str]) -> list[str]:
    """The measures that the summary of these tasks needs."""
    wanted = [HEADLINE.get(task, OTHERWISE) for task in tasks]
    return list(dict.fromkeys([*wanted, NAMESAKE, REFUSAL, FAILURE, *OUTCOME_MEASURES.values()]))


def outcome_rows(scores: Scores) -> list[AnswerRow]:
    """The share of each of the six outcomes by collection and task, where answers have outcomes."""
    by_name = {str(m): m for m in scores.measures}
    if not set(OUTCOME_MEASURES.values()) <= by_name.keys():
        return []
    rows = []
    for (benchmark, collection, task), members in sorted(rows_by_place(scores.queries).items()):
        where = members
        values = {
            shown: estimate(scores, by_name[measure], where)
            for shown, measure in OUTCOME_MEASURES.items()
        }
        if values["right"].n:
            rows.append(AnswerRow(scores.system, collection, task, values, benchmark, "outcome"))
    return rows


def trace_rows(scores: Scores) -> list[AnswerRow]:
    """What an agent did, by collection and task; none where the answers are no agent's."""
    by_name = {str(m): m for m in scores.measures}
    if not set(TRACE_MEASURES) <= by_name.keys():
        return []
    rows = []
    for (benchmark, collection, task), members in sorted(rows_by_place(scores.queries).items()):
        where = members
        shown = [*TRACE_MEASURES, *(n for n in by_name if n.endswith(("_action", "deferred")))]
        values = {name: estimate(scores, by_name[name], where) for name in shown}
        rows.append(AnswerRow(scores.system, collection, task, values, benchmark, "trace"))
    return rows


def summarise_answers(scores: Scores) -> list[AnswerRow]:
    """Rows by collection and task, from scores that contain `summary_measures`."""
    by_name = {str(m): m for m in scores.measures}
    rows = []
    roles = roles_of(scores.queries)
    for (benchmark, collection, task), members in sorted(rows_by_place(scores.queries).items()):
        name = HEADLINE.get(task, OTHERWISE)
        places = {
            "": members,
            "head": members[roles[members] == HEAD],
            "tail": members[roles[members] == TAIL],
        }

        def all_three(measure: Measure, places: dict[str, Any] = places) -> list[Estimate]:
            return [estimate(scores, measure, where) for where in places.values()]

        values = dict(zip(("all", "head", "tail"), all_three(by_name[name]), strict=True))
        namesake = all_three(by_name[NAMESAKE])
        values |= dict(zip(("namesake", "namesake_head", "namesake_tail"), namesake, strict=True))
        values["refusal"] = estimate(scores, by_name[REFUSAL], places[""])
        if not values["refusal"].n:  # the reader was asked none of them
            continue
        rows.append(AnswerRow(scores.system, collection, task, values, benchmark, name))
    return rows
