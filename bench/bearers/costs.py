"""What the rows that a GPU ranked cost on a CPU: the same models, asked a few questions by `rerank` and `late`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

ASKED = 10
FILE = "costs.json"


def measure(work: Path, models: Path) -> None:
    """CPU seconds a question, by row and benchmark, in `work/costs.json`."""
    from whichone.benchmarks.benchmark import Benchmark, save_benchmark
    from whichone.runs.retrieve import retrieve

    tokens = str(models / "answerai-colbert-small-backbone-int8")
    rows = {
        "cross-encoder over BM25's first 20": (
            "rerank", {"model": str(models / "ms-marco-MiniLM-L-12-v2-int8"), "depth": 20},
        ),
        "late interaction": ("late", {"model": tokens, "depth": 20, "vectors": "none"}),
    }  # fmt: skip
    costs: dict[str, dict[str, float]] = {}
    for name in ("drawn", "amber"):
        whole = Benchmark.open(work / name)
        with tempfile.TemporaryDirectory() as place:
            few = save_benchmark(
                Path(place) / "few", name=whole.name, queries=whole.queries[:: len(whole.queries) // ASKED],
                sets=whole.sets, passages=whole.passage_records(),
            )  # fmt: skip
            root, first = few.folder.root, Path(place) / "bm25"
            retrieve(root, first, retriever="bm25", k=20)
            for row, (retriever, options) in rows.items():
                given = {**options, "run": str(first)} if retriever == "rerank" else options
                run = retrieve(root, Path(place) / retriever, retriever=retriever, options=given, k=20)
                spent = run.folder.manifest.made["cpu_seconds"] / len(few.queries)
                costs.setdefault(name, {})[row] = round(spent, 4)
                print(name, row, f"{1_000 * spent:.0f} ms of CPU time a question", flush=True)
    (work / FILE).write_text(json.dumps(costs, indent=2))
