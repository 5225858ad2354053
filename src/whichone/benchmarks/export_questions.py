"""A benchmark's questions as DPR and EntityQuestions write them: question and answers."""

from __future__ import annotations

import json
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.lines import write_atomic


def export_dpr_questions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """One JSON list of {question, answers}, and relation where there is one, in the queries' order."""
    rows = [
        {"question": q.input, "answers": list(q.answers())}
        | ({"relation": q.relation} if q.relation else {})
        for q in benchmark.queries
    ]
    path = Path(out)
    if path.suffix != ".json":
        path.mkdir(parents=True, exist_ok=True)
        path /= "questions.json"
    write_atomic(path, json.dumps(rows, ensure_ascii=False, indent=1).encode())
    return {path.name: len(rows)}
