"""Whether a system notices that the one who is meant is not there, and what that costs those who are.

`whichone build absent` marks questions about bearers that the corpus does not have (`absent`). A system declines by
an empty result, by an answer that refuses or asks back, or by a note on its ranking: `{"nobody": 0.7, "declines": true}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.arrow_records import Selection
from whichone.measures.intervals import Estimate, clusters_of, interval
from whichone.measures.measure import Answered, Retrieved, as_measure
from whichone.records import Query
from whichone.runs.run import Run

HANDED_OVER, REFUSED_PRESENT = "handed_over", "refused_present"
ABSENT_MEASURES = (HANDED_OVER, REFUSED_PRESENT)
AT_REFUSED = (0.05, 0.1)  # Shares of refused present bearers at which curves are read off


def is_absent(query: Query) -> bool | None:
    """Whether the bearer is left out of the corpus; None where the benchmark does not say."""
    said = query.attributes.get("absent")
    return None if said is None else bool(said)


def has_absent(benchmark: Benchmark) -> bool:
    return any(is_absent(query) for query in benchmark.queries)


@as_measure(HANDED_OVER, direction="lower", of="both", needs="a bearer that the corpus does not have")
def handed_over(one: Retrieved | Answered) -> float | None:
    """Somebody is handed over, or an answer given, although the one who is meant is not there."""
    return float(not _declines(one)) if is_absent(one.query) else None


@as_measure(REFUSED_PRESENT, direction="lower", of="both", needs="a benchmark of `build absent`")
def refused_present(one: Retrieved | Answered) -> float | None:
    """Nobody is handed over, or the answer is refused, although the one who is meant is there."""
    if is_absent(one.query) is not False or not one.gold:
        return None
    asks = isinstance(one, Answered) and one.asks is not None
    return float(_declines(one) and not asks)


def _declines(one: Retrieved | Answered) -> bool:
    return one.text is None if isinstance(one, Answered) else not one.pages or one.declined


class Noted(msgspec.Struct, frozen=True):
    """What a ranking's notes say of whether the one who is meant is there."""

    nobody: float | None = None
    declines: bool = False


def noted_nobody(run: Run) -> dict[str, Noted]:
    """How likely a run itself says that nobody there is meant, by question; it declines where it says so."""
    if not run.folder.has("notes.parquet"):
        return {}
    noted = {}
    for batch in run.folder.batches("notes"):
        for row in batch.to_pylist():
            said = msgspec.json.decode(row["notes"], type=Noted)
            if said.nobody is not None:
                noted[row["question"]] = said
    return noted


_SAYS_NOTHING = Noted()


@dataclass(frozen=True)
class Curve:
    """How sure a system was of each question, apart by whether the one who is meant is there."""

    present: npt.NDArray[np.float64]
    absent: npt.NDArray[np.float64]
    clusters: npt.NDArray[np.integer[Any]]  # Of the absent ones
    by: str  # What is taken for how sure it is: its note on nobody, or the score of its first result

    @classmethod
    def of(cls, run: Run, benchmark: Benchmark) -> Curve | None:
        """None where the benchmark has no absent bearers."""
        queries = benchmark.queries
        if not has_absent(benchmark):
            return None
        rows = np.flatnonzero([bool(is_absent(q) or q.gold_pages()) for q in queries])
        asked = Selection(queries, rows)
        away = np.array([bool(is_absent(q)) for q in asked])
        noted = noted_nobody(run)
        scores = {} if noted else run.ranked_scores()
        sure = np.array(
            [1 - (noted.get(q.id, _SAYS_NOTHING).nobody or 0.0) for q in asked]
            if noted
            else [own[0] if (own := scores.get(q.id)) else -np.inf for q in asked]
        )
        numbers = clusters_of(Selection(queries, rows[away])).numbers
        return cls(sure[~away], sure[away], numbers, "says so" if noted else "score of its first result")

    def threshold(self, refused: float) -> float:
        """The highest bar under which at most this share of present bearers falls."""
        ordered = np.sort(self.present)
        return float(ordered[min(int(refused * len(ordered)), len(ordered) - 1)])

    def noticed(self, refused: float) -> Estimate:
        """The share of absent bearers below the bar that refuses so many present ones."""
        return interval((self.absent < self.threshold(refused)).astype(float), self.clusters)

    def points(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Shares of refused present and noticed absent bearers, for every bar."""
        bars = np.unique(np.concatenate([[-np.inf], self.present, self.absent, [np.inf]]))
        shares = [
            np.searchsorted(np.sort(own), bars, "left") / max(len(own), 1)
            for own in (self.present, self.absent)
        ]
        return shares[0], shares[1]
