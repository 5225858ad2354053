"""`whichone.compare(a, b)`: which of several systems is better, paired by name, with intervals."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone.api import Result
from whichone.benchmarks.benchmark import Where
from whichone.errors import UsageError
from whichone.measures.clusters import cluster_note
from whichone.measures.comparison import Comparison, comparison_rows
from whichone.measures.comparison import compare as compare_scores
from whichone.measures.score import distinctly_named, score_folder
from whichone.measures.scores import Scores
from whichone.plain_tables import html_table, text_table
from whichone.runs.run import Run


class Comparisons(Sequence[Comparison]):
    """Every pair on every measure: a sequence of `Comparison`, prints as a table, converts to Arrow and JSON."""

    def __init__(self, comparisons: Sequence[Comparison], note: str) -> None:
        self._found = tuple(comparisons)
        self.note = note

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self._found)

    def to_dict(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = msgspec.to_builtins(self._found)
        return rows

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_pylist(self.to_dict())

    def __str__(self) -> str:
        return f"{text_table(comparison_rows(self._found))}\n{self.note}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{html_table(comparison_rows(self._found))}<p>{html.escape(self.note)}</p>"


def compare(
    *systems: str | Path | Run | Result | Scores,
    measures: Sequence[str] = (),
    by: Sequence[str] = (),
    baseline: str | None = None,
    benchmark: Where | None = None,
    seed: int = 0,
) -> Comparisons:
    """Compare two or more systems over one benchmark: paired by cluster, Holm-corrected together.

    A system is a run's or answers' folder, a `Run`, what `evaluate` gave, or `Scores`. `measures` are names such as
    "acc@1" (the usual ones of the folders' kind where none is given; a `Result` has those it was evaluated
    with). `by` compares in every slice by these columns or attributes of the queries; with `baseline` each
    system is compared with that one only.

        print(whichone.compare("runs/bm25", "runs/mine", measures=["acc@1", "confused@20"]))
    """
    if isinstance(measures, str) or isinstance(by, str):
        raise UsageError("measures and by are lists of names")
    scores = [_scores(system, measures, benchmark) for system in systems]
    places = [
        system if isinstance(system, str | Path) else getattr(system, "path", str(n))
        for n, system in enumerate(systems, 1)
    ]
    named = distinctly_named(scores, places)
    if not named:
        raise UsageError("two or more systems are needed for a comparison")
    wanted = [m for m in named[0].measures if all(str(m) in s.values for s in named)]
    if measures:
        missing = sorted(set(measures) - {str(m) for m in wanted})
        if missing:
            raise UsageError(
                f"not every system was scored by {', '.join(missing)}",
                hint="give their folders, or evaluate(..., measures=[...])",
            )
        wanted = [m for m in wanted if str(m) in measures]
    comparisons = compare_scores(named, wanted, by=by, seed=seed, baseline=baseline)
    cautions = [caution for s in named for caution in s.cautions()]
    return Comparisons(comparisons, "; ".join([cluster_note(named[0].queries), *cautions]))


def _scores(
    system: str | Path | Run | Result | Scores,
    measures: Sequence[str],
    benchmark: Where | None,
) -> Scores:
    if isinstance(system, Scores):
        return system
    if isinstance(system, Result):
        return system.scores
    if isinstance(system, Run):
        system = system.path
    if not isinstance(system, str | Path):
        raise UsageError(f"{system!r} is no run, no result and no folder")
    return score_folder(system, measures, benchmark=benchmark)
