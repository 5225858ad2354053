"""The same questions asked several times: how often a system contradicts itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.runs.answers import Answers
from whichone.runs.read import read


def read_repeatedly(
    benchmark: Where, answers: str | Path, times: int, **options: Any
) -> tuple[Answers, dict[str, int]]:
    """The answers, and how many questions were answered differently in `ANSWERS-repeat-2` and so on.

    Repetitions go past the cache of calls: a reply out of the cache is the same by construction.
    """
    first = read(benchmark, answers, **options)
    again = []
    for number in range(2, times + 1):
        own = dict(options.get("options") or {})
        if options.get("reader") == "llm":
            own["cache"] = "none"
        place = Path(f"{answers}-repeat-{number}")
        again.append(read(benchmark, place, **{**options, "options": own}))
    return first, differences([first, *again], Benchmark.open(benchmark)) if again else {}


def differences(answers: Sequence[Answers], benchmark: Benchmark) -> dict[str, int]:
    """Questions asked every time, and those of them whose text differs, failures among the differences."""
    given = [{q: a.text for q, a in one.answers.items()} for one in answers]
    asked = [q.id for q in benchmark.queries if q.id not in answers[0].left_out]
    differing = sum(len({(q in one, one.get(q)) for one in given}) > 1 for q in asked)
    return {"times": len(answers), "questions": len(asked), "differing": differing}
