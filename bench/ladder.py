"""One ladder on shared names: BM25, single vectors, late interaction, a cross-encoder, `namesake`.

    python bench/ladder.py ../shared WORK --models .models
    python bench/ladder.py ../shared WORK --models .models --only "BM25,MiniLM"
    python bench/ladder.py ../shared WORK --table

Every model orders the same candidates: BM25's first `DEPTH` of the whole corpus, or the first passages of all bearers of the
name (the name is given then: an analysis, not a system). Each row is a run in WORK and is kept, so that a stopped ladder goes
on. Questions are bounded, by the hash of their ids: `SHARED` on shared names of the 48k corpus, `AMBER` of the built-in AmbER sets.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from namesake_proof.data import benchmark_48k

SHARED = 120
AMBER = 120
DEPTH = 10
MEASURES = ["acc@1", "acc@5", "confused@20"]

MODELS = {
    "MiniLM": ("vectors", "all-MiniLM-L6-v2-int8"),
    "e5-small": ("vectors", "e5-small-v2-int8"),
    "bge-small": ("vectors", "bge-small-en-v1_5-int8"),
    "gte-small": ("vectors", "gte-small"),
    "backbone MaxSim": ("tokens", "answerai-colbert-small-backbone-int8"),
    "cross-encoder": ("pairs", "ms-marco-MiniLM-L-12-v2-int8"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shared", type=Path, help="the folder with data/wikipedia-48k")
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", type=Path, default=Path(".models"))
    parser.add_argument("--only", help="rows to make, between commas")
    parser.add_argument("--benchmarks", default="48k,amber")
    parser.add_argument("--table", action="store_true", help="print what is there, make nothing")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else None
    for name in options.benchmarks.split(","):
        place = options.work / name
        benchmark = prepare(name, options.shared, place)
        if not options.table:
            make_rows(benchmark, place, options.models, wanted)
        print_table(name, benchmark, place)


def prepare(name: str, shared: Path, place: Path) -> Any:
    """The bounded benchmark, and what BM25 finds and who has the name, as runs."""
    from whichone.benchmarks.benchmark import Benchmark, save_benchmark
    from whichone.retrieval.function import FunctionRetriever
    from whichone.runs.runner import run_retriever

    if not (place / "benchmark" / "manifest.json").exists():
        whole = (
            benchmark_48k(shared, place / "whole")
            if name == "48k"
            else Benchmark.open("builtin/amber")
        )
        save_benchmark(
            place / "benchmark", name=name, queries=chosen(name, whole.queries), sets=whole.sets,
            passages=whole.passage_records(),
        )  # fmt: skip
    benchmark = Benchmark.open(place / "benchmark")
    if not (place / "runs" / "bearers" / "manifest.json").exists():
        first: dict[str, str] = {}
        for passage in benchmark.passage_records():
            first.setdefault(passage.page, passage.id)
        sets = {s.id: s for s in benchmark.sets}
        listed = {
            q.input: [first[p] for b in sets[q.name_set].bearers for p in b.pages if p in first]
            for q in benchmark.queries
            if q.name_set in sets
        }
        bearers = FunctionRetriever(lambda text, k: listed.get(text, [])[:k], name="bearers")
        run_retriever(bearers, benchmark, place / "runs" / "bearers", k=100, name="bearers")
    return benchmark


def chosen(name: str, queries: Any) -> list[Any]:
    """Questions on shared names and some others; of AmbER some questions of its QA task, by hash."""
    by_hash = sorted(queries, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())
    if name != "48k":
        return [q for q in by_hash if q.task == "qa"][:AMBER]
    asked = [q for q in by_hash if q.attributes["dataset"] != "kilt-hotpotqa"]
    asked = [q for q in asked if q.attributes["gold_in_corpus"]]
    return [q for q in asked if q.name_set is not None][:SHARED]


class Reordered:
    """Candidates of another run in the order of a model; their passages are encoded once."""

    def __init__(
        self, candidates: dict[str, list[str]], order: Any, passages: dict[str, Any]
    ) -> None:
        self._candidates, self._order, self._passages = candidates, order, passages

    def describe(self) -> dict[str, Any]:
        return {"retriever": "ladder", "order": self._order.describe()}

    def search(self, questions: Any, k: int) -> Iterator[Any]:
        from whichone.records import Ranking

        for question in questions:
            ids = self._candidates.get(question.id, [])
            listed = [self._passages[i] for i in ids]
            places, scores, _ = self._order.order(question.text, listed) if ids else ([], [], {})
            yield Ranking(
                question=question.id,
                passages=tuple(ids[n] for n in places[:k]),
                scores=tuple(scores[:k]),
            )


def open_order(by: str, folder: Path) -> Any:
    if by == "vectors":
        from whichone.retrieval.dense.encoder import need_encoder
        from whichone.retrieval.rerank.encoders import VectorOrder

        return VectorOrder(need_encoder(str(folder)))
    if by == "tokens":
        from whichone.retrieval.late.encoder import open_token_encoder
        from whichone.retrieval.rerank.encoders import TokenOrder

        return TokenOrder(open_token_encoder(str(folder)))
    from whichone.retrieval.rerank.onnx import OnnxCrossEncoder

    return OnnxCrossEncoder(folder)


def make_rows(benchmark: Any, place: Path, models: Path, wanted: list[str] | None) -> None:
    """Every row that is wanted and not there yet."""
    retrieve("BM25", ["--retriever", "bm25"], place)
    passages = {p.id: p for p in benchmark.passage_records()}
    firsts = {first: candidates(place / "runs" / first) for first in ("BM25", "bearers")}
    for name, (by, folder) in MODELS.items():
        if wanted is None or name in wanted:
            order = None
            for first, label in (("BM25", name), ("bearers", f"{name}, bearers")):
                if not (place / "runs" / label / "manifest.json").exists():
                    order = order or open_order(by, models / folder)
                    reorder(label, order, firsts[first], benchmark, passages, place)
    fused = f"runs={place / 'runs' / 'BM25'},{place / 'runs' / 'cross-encoder'}"
    others = {
        "fusion of BM25 and cross-encoder": ["--retriever", "fusion", "-o", fused],
        "namesake": ["--retriever", "namesake", "-o", "encoder=none"],
    }
    for name, (by, folder) in MODELS.items():
        if by == "vectors":
            encoder = f"encoder={models / folder}"
            others[f"namesake with {name}"] = ["--retriever", "namesake", "-o", encoder]
    for row, command in others.items():
        if wanted is None or row in wanted:
            retrieve(row, command, place)


def candidates(run: Path) -> dict[str, list[str]]:
    """The first passages of each question of a run."""
    from whichone.runs.run import Run

    depth = DEPTH if run.name == "BM25" else 100
    return {q: found[:depth] for q, found in Run.open(run).ranked_passages().items()}


def reorder(
    label: str, order: Any, first: dict[str, list[str]], benchmark: Any, passages: Any, place: Path
) -> None:
    from whichone.runs.runner import run_retriever

    before = time.process_time()
    system = Reordered(first, order, passages)
    run_retriever(system, benchmark, place / "runs" / label, k=20, name=label)
    note(label, time.process_time() - before, place)


def retrieve(row: str, command: list[str], place: Path) -> None:
    out = place / "runs" / row
    if (out / "manifest.json").exists():
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = [sys.executable, "-m", "whichone", "retrieve", str(place / "benchmark"), str(out)]
    done = subprocess.run([*program, *command, "-k", "20", "--name", row])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 0:
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        note(row, spent, place)


def note(row: str, cpu: float, place: Path) -> None:
    (place / "cpu").mkdir(exist_ok=True)
    (place / "cpu" / row).write_text(f"{cpu:.1f}")
    print(f"{row}: {cpu:.0f} s of CPU time", flush=True)


def print_table(name: str, benchmark: Any, place: Path) -> None:
    import numpy as np

    from whichone.measures.comparison import compare, comparison_rows
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import estimate, score_run, subset
    from whichone.runs.run import Run

    measures = parse_measures(MEASURES)
    found = sorted(p.parent.name for p in (place / "runs").glob("*/manifest.json"))
    scored = {r: score_run(Run.open(place / "runs" / r), benchmark, measures) for r in found}
    slices: dict[str, Any] = {"all": lambda _: True}
    for role in ("head", "tail"):
        slices[role] = lambda q, role=role: q.role == role
    counts = {s: sum(map(keep, benchmark.queries)) for s, keep in slices.items()}
    slices = {s: keep for s, keep in slices.items() if counts[s]}
    print(f"\n## {name}: {', '.join(f'{count} {s}' for s, count in counts.items())}\n")
    for row in found:
        cells = []
        for keep in slices.values():
            part = subset(scored[row], keep)
            every = np.arange(len(part.queries))
            values = [estimate(part, m, every) for m in measures] if len(every) else []
            cells.append(" ".join(f"{v.value:.3f}" for v in values))
            if values:
                cells[-1] += f" [{values[0].low:.3f}, {values[0].high:.3f}]"
        cpu = place / "cpu" / row
        cost = float(cpu.read_text()) / len(benchmark.queries) if cpu.exists() else float("nan")
        print(f"| {row} | {' | '.join(cells)} | {cost:.2f} |")
    systems = [s for r, s in scored.items() if r != "bearers" and "bearers" not in r]
    best = (
        max(systems, key=lambda s: float(np.nanmean(s.values[str(measures[0])])))
        if systems
        else None
    )
    if best is None or len(systems) < 2:
        return
    print(f"\npaired tests of acc@1 against {best.system}:")
    for pair in comparison_rows(compare(systems, measures[:1], baseline=best.system)):
        print(pair)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
