"""Lists to learn from, and questions about names that are in none of them, as files for another machine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from namesake_proof.data import HELD_OUT, PageFinder, benchmark_48k, test_queries

DEPTH = 20


def prepare(shared: Path, work: Path) -> None:
    """`train.jsonl.gz`, and for each benchmark its questions with candidates and its passages."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.training.examples import ExampleMaker
    from whichone.training.held_out import HeldOutKeys, Leaks, name_of, share_of, without

    work.mkdir(parents=True, exist_ok=True)
    whole = benchmark_48k(shared, work / "whole")
    amber = Benchmark.open("builtin/amber")
    tests = {
        "48k": test_queries(whole),
        "amber": [q for q in amber.queries if q.task == "qa" and share_of(name_of(q)) < HELD_OUT],
    }
    seen = {q.id for q in tests["48k"]}
    learn = [
        q
        for q in whole.queries
        if q.id not in seen and q.attributes["gold_in_corpus"] and q.attributes["dataset"] != "kilt-hotpotqa"
    ]
    asked, finder = {q.input for q in whole.queries}, PageFinder(whole)
    files = sorted((shared / "data" / "entityquestions").glob("dev/*.json.gz"))
    learn += [q for file in files for q in finder.queries(file) if q.input not in asked]
    made = ExampleMaker(whole, work / "indexes").examples(learn)[0]
    built = [q for q in amber.queries if q.task in ("qa", "sf") and share_of(name_of(q)) >= HELD_OUT]
    made += ExampleMaker(amber, work / "indexes-amber").examples(built)[0]
    examples = without(made, Leaks(made, [HeldOutKeys([*tests["48k"], *tests["amber"]])]))
    lists = (
        {"q": e.question, "p": [t.joined() for t in (e.positive, *(n.passage for n in e.negatives))]}
        for e in examples
    )
    print(lines(work / "train.jsonl.gz", lists), "lists to learn from")
    for name, benchmark in (("48k", whole), ("amber", amber)):
        write_test(name, benchmark, tests[name], work)


def write_test(name: str, benchmark: Any, queries: list[Any], work: Path) -> None:
    """A bounded benchmark, its passages, and its questions with BM25's first and with all bearers."""
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.retrieval.bm25 import Bm25

    if not (work / name / "manifest.json").exists():
        save_benchmark(
            work / name, name=name, queries=queries, sets=benchmark.sets,
            passages=benchmark.passage_records(),
        )  # fmt: skip
    ids = benchmark.passages["id"].to_pylist()
    place = {identity: n for n, identity in enumerate(ids)}
    first: dict[str, int] = {}
    for n, page in enumerate(benchmark.passages["page"].to_pylist()):
        first.setdefault(page, n)
    sets = {s.id: [first[p] for b in s.bearers for p in b.pages if p in first] for s in benchmark.sets}
    found = Bm25.over(benchmark.corpus, work / f"indexes-{name}").search(
        [q.question() for q in queries], DEPTH
    )
    rows = (
        {
            "id": q.id,
            "q": q.input,
            "bm25": [place[p] for p in ranking.passages],
            "bearers": sets.get(q.name_set or "", []),
        }
        for q, ranking in zip(queries, found, strict=True)
    )
    print(name, lines(work / f"questions-{name}.jsonl.gz", rows), "questions")
    texts = ({"id": p.id, "t": p.title, "x": p.text} for p in benchmark.passage_records())
    lines(work / f"passages-{name}.jsonl.gz", texts)


def lines(file: Path, records: Iterable[Any]) -> int:
    count = 0
    with gzip.open(file, "wt") as out:
        for record in records:
            out.write(json.dumps(record) + "\n")
            count += 1
    return count


def read(file: Path) -> list[Any]:
    with gzip.open(file, "rt") as lines_of:
        return [json.loads(line) for line in lines_of]
