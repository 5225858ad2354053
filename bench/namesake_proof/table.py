"""The table of the proof: means over seeds, intervals by cluster, paired tests between variants."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from namesake_proof.data import benchmark_48k, test_queries

MEASURES = ["acc@1", "acc@5", "acc@20", "confused@20"]
PAIRS = (
    ("MiniLM", "FT, BM25"),
    ("FT, in-batch", "FT, BM25"),
    ("FT, in-batch", "FT, namesake"),
    ("FT, BM25", "FT, BM25 and namesake"),
    ("MiniLM", "FT, BM25 and namesake"),
    ("BM25", "FT, BM25 and namesake"),
    ("OnlyQ joint, one index", "OnlyQ per relation, one index"),
    ("BM25", "re-ranker, BM25 and namesake"),
    ("re-ranker, in-batch", "re-ranker, BM25"),
    ("re-ranker, BM25", "re-ranker, BM25 and namesake"),
    ("FT, BM25 and namesake", "re-ranker, BM25 and namesake"),
)


def score(shared: Path, out: Path) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.measures.measure import parse_measures

    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        whole = benchmark_48k(shared, place / "whole")
        bench = save_benchmark(
            place / "test",
            name="48k-test",
            queries=test_queries(whole),
            sets=whole.sets,
            passages=whole.passages,
        )
        measures = parse_measures(MEASURES)
        runs = _scored(bench, out, place, measures)
        pooled = {name: _mean(name, many) for name, many in runs.items()}
        _print_table(pooled, runs)
        _print_tests(pooled, measures)


def _scored(bench: Any, out: Path, place: Path, measures: Any) -> dict[str, list[Any]]:
    """Scores of every seed of every system."""
    from whichone.measures.scores import score_run
    from whichone.retrieval.bm25 import Bm25
    from whichone.runs.runner import run_retriever

    ids = bench.passages["id"].to_pylist()
    bm25 = Bm25.over(bench.corpus, place / "index")
    made = run_retriever(bm25, bench, place / "bm25", k=50, name="BM25")
    runs: dict[str, list[Any]] = {"BM25": [score_run(made, bench, measures)]}
    for file in sorted(out.rglob("rankings*.npz")):
        with np.load(file) as held:
            for key in sorted(held.files):
                name, _, seed = key.partition("|")
                ranked = dict(zip((q.id for q in bench.queries), held[key], strict=True))
                run = run_retriever(Given(ranked, ids), bench, place / f"{name}-{seed}", k=50, name=name)
                runs.setdefault(name, []).append(score_run(run, bench, measures))
    return runs


class Given:
    """What was found elsewhere, as a retriever."""

    def __init__(self, ranked: dict[str, Any], ids: list[str]) -> None:
        self.ranked, self.ids = ranked, ids

    def search(self, questions: Any, k: int) -> Any:
        from whichone.records import Ranking

        for q in questions:
            yield Ranking(question=q.id, passages=tuple(self.ids[i] for i in self.ranked[q.id][:k]))


def _mean(name: str, many: list[Any]) -> Any:
    """The mean of the seeds for every question."""
    from whichone.measures.scores import Scores

    first = many[0]
    values = {m: np.mean([s.values[m] for s in many], 0) for m in first.values}
    return Scores(name, first.benchmark, first.queries, first.measures, values)


def slices(queries: Any) -> dict[str, list[int]]:
    """By whether the name is shared, by popularity's halves where it is known, and what was not trained."""
    simple = [i for i, q in enumerate(queries) if q.attributes["dataset"] != "kilt-hotpotqa"]
    known = [i for i in simple if queries[i].attributes["popularity"] is not None]
    middle = float(np.median([queries[i].attributes["popularity"] for i in known]))
    return {
        "unique": [i for i in simple if not queries[i].attributes["shared_name"]],
        "shared": [i for i in simple if queries[i].attributes["shared_name"]],
        "head": [i for i in known if queries[i].attributes["popularity"] > middle],
        "tail": [i for i in known if queries[i].attributes["popularity"] <= middle],
        "hotpotqa": [i for i, q in enumerate(queries) if q.attributes["dataset"] == "kilt-hotpotqa"],
    }


def _part(scores: Any, keep: list[int]) -> Any:
    from whichone.measures.scores import Scores

    return Scores(
        scores.system,
        scores.benchmark,
        [scores.queries[i] for i in keep],
        scores.measures,
        {name: values[keep] for name, values in scores.values.items()},
    )


def _print_table(pooled: dict[str, Any], runs: dict[str, list[Any]]) -> None:
    from whichone.measures.scores import slice_scores

    print("| system | names | n | acc@1 | acc@5 | acc@20 | confused@20 | acc@1 of the seeds |")
    print("| --- | --- | ---: | --- | --- | --- | --- | --- |")
    for name, scores in pooled.items():
        for slice_name, keep in slices(scores.queries).items():
            ((_, found),) = slice_scores(_part(scores, keep))
            seeds = " ".join(f"{np.nanmean(s.values['acc@1'][keep]):.3f}" for s in runs[name])
            cells = [
                "–" if e.value is None else f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
                for e in found.values()
            ]
            print(f"| {name} | {slice_name} | {len(keep)} | {' | '.join(cells)} | {seeds} |")


def _print_tests(pooled: dict[str, Any], measures: Any) -> None:
    from whichone.measures.comparison import compare

    chosen = [m for m in measures if str(m) in ("acc@1", "confused@20")]
    for a, b in PAIRS:
        if a not in pooled or b not in pooled:
            continue
        for slice_name, keep in slices(pooled[a].queries).items():
            for c in compare([_part(pooled[x], keep) for x in (a, b)], chosen):
                if c.difference.low is None or c.difference.high is None:
                    continue
                print(
                    f"{a} -> {b} | {slice_name} | {c.measure} | {c.difference.value:+.3f} "
                    f"[{c.difference.low:+.3f}, {c.difference.high:+.3f}] p={c.p:.4f}"
                )
