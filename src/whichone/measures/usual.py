"""The measures that are taken where a user names none: one list for each place that has its own."""

from __future__ import annotations

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.outcomes import OUTCOME_MEASURES

RANKINGS = ("acc@1", "acc@5", "acc@20", "confused@20")
"""Of a run."""
COMPARED = ("acc@1", "all_correct@1", "confused@20")
"""What systems are compared by, in reports and by `evaluate`."""
REPORTED = (*RANKINGS, "all_correct@1", "all_correct@20")
"""What the tables of a report need."""
BOARD = ("acc@1", "acc@5", "acc@20", "all_correct@1", "confused@20", "rprec")
"""The columns of a leaderboard, beside those that a paper adds."""
ANSWERS = {
    "qa": ("em", "f1", *OUTCOME_MEASURES.values(), "failure"),
    "sf": ("em", "f1", *OUTCOME_MEASURES.values(), "failure"),
    "fc": ("accuracy", "refusal", "failure"),
    "el": ("accuracy", "refusal", "failure"),
    "ambigdocs": (
        "complete",
        "partial",
        "ambiguous",
        "merged",
        "no_answer",
        "answer_recall",
        "entity_answer_recall",
    ),
}


def usual_measures(benchmark: Benchmark) -> list[str]:
    """The measures that papers print for the tasks of this benchmark."""
    tasks = dict.fromkeys(query.task for query in benchmark.queries)
    return list(dict.fromkeys(m for task in tasks for m in ANSWERS.get(task, ANSWERS["qa"])))


def board_measures(benchmark: Benchmark) -> list[str]:
    """The columns of a leaderboard of runs."""
    return list(dict.fromkeys([*BOARD, *of_papers(benchmark, "rankings")]))


def of_papers(benchmark: Benchmark, of: str) -> list[str]:
    """What papers add to leaderboards of their benchmarks (`BOARD_MEASURES`)."""
    offered = registry.every("board_measures").values()
    return [name for add in offered for name in add(benchmark, of)]
