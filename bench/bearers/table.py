"""The ladder: every ranking as a run, scored and compared with the best by paired tests."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.data import read

MEASURES = ("acc@1", "acc@5", "confused@20")
KINDS = {"corpus": "{}", "bm25": "{} over BM25's first 20", "bearers": "{} over all bearers"}
FUSED = ("BM25", "bge-small")
CONTRASTS = [
    (f"trained {n} layers {where}", f"cross-encoder {where}")
    for where in ("over BM25's first 20", "over all bearers")
    for n in (12, 6, 4)
] + [
    ("late interaction", "MiniLM"),
    ("late interaction", "e5-small"),
    ("late interaction", "gte-small"),
    ("late interaction over all bearers", "e5-small over all bearers"),
]


def table(work: Path, out: Path) -> None:
    for name in ("48k", "amber"):
        print_table(name, work, out)


def rankings(name: str, work: Path, out: Path) -> dict[str, list[dict[str, list[str]]]]:
    """By row the rankings of each seed: question to passage ids."""
    asked = read(work / f"questions-{name}.jsonl.gz")
    ids = [p["id"] for p in read(work / f"passages-{name}.jsonl.gz")]
    rows: dict[str, list[dict[str, list[str]]]] = {
        "BM25": [{q["id"]: [ids[n] for n in q["bm25"]] for q in asked}]
    }
    for file in sorted(out.glob("order-*.jsonl.gz")):
        label = file.name.removeprefix("order-").removesuffix(".jsonl.gz").replace("_", " ")
        label = re.sub(r"^(trained \d+ layers) \d$", r"\1", label)
        by_kind: dict[str, dict[str, list[str]]] = {}
        for row in read(file):
            if row["b"] == name:
                by_kind.setdefault(row["kind"], {})[row["id"]] = [ids[n] for n in row["rows"]]
        for kind, found in by_kind.items():
            single = "corpus" in by_kind
            if not (single and kind == "bm25"):
                rows.setdefault(KINDS[kind].format(label), []).append(found)
    if all(label in rows for label in FUSED):
        rows[f"fusion of {' and '.join(FUSED)}"] = [fused(*(rows[f][0] for f in FUSED))]
    return rows


def fused(*parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Reciprocal ranks with 60, as `--retriever fusion` adds them."""
    found: dict[str, list[str]] = {}
    for question in parts[0]:
        scores: dict[str, float] = {}
        for part in parts:
            for rank, passage in enumerate(part[question], 1):
                scores[passage] = scores.get(passage, 0.0) + 1 / (60 + rank)
        found[question] = sorted(scores, key=lambda p: -scores[p])[:20]
    return found


class Given:
    """Answers with rankings that are there."""

    def __init__(self, label: str, found: dict[str, list[str]]) -> None:
        self.label, self.found = label, found

    def describe(self) -> dict[str, Any]:
        return {"retriever": "given", "label": self.label}

    def search(self, questions: Any, k: int) -> Iterator[Any]:
        from whichone.records import Ranking

        for question in questions:
            kept = self.found.get(question.id, [])[:k]
            yield Ranking(
                question=question.id, passages=tuple(kept), scores=tuple(float(-n) for n in range(len(kept)))
            )


def slices(benchmark: Any) -> dict[str, Any]:
    def dataset(q: Any) -> str:
        return str(q.attributes.get("dataset", ""))

    every: dict[str, Any] = {
        "PopQA shared": lambda q: q.name_set and dataset(q) == "popqa",
        "EntityQuestions shared": lambda q: q.name_set and dataset(q) == "entityquestions",
        "shared": lambda q: q.name_set and dataset(q) != "kilt-hotpotqa",
        "unique": lambda q: not q.name_set and dataset(q) != "kilt-hotpotqa",
        "HotpotQA": lambda q: dataset(q) == "kilt-hotpotqa",
        "head": lambda q: q.role == "head",
        "tail": lambda q: q.role == "tail",
    }
    return {s: keep for s, keep in every.items() if any(map(keep, benchmark.queries))}


def print_table(name: str, work: Path, out: Path) -> None:
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.measures.comparison import compare, comparison_rows
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import estimate, score_run, subset
    from whichone.runs.run import Run
    from whichone.runs.runner import run_retriever

    benchmark = Benchmark.open(work / name)
    measures = parse_measures(list(MEASURES))
    scored: dict[str, list[Any]] = {}
    made = rankings(name, work, out)
    for label, seeds in made.items():
        for n, found in enumerate(seeds):
            place = out / "runs" / name / f"{label} {n}".replace("'", "")
            if not (place / "manifest.json").exists():
                run_retriever(Given(label, found), benchmark, place, k=20, name=label)
            scored.setdefault(label, []).append(score_run(Run.open(place), benchmark, measures))
    for place in sorted((out / "systems" / name).glob("*/manifest.json")):
        run = Run.open(place.parent)
        scored[run.name] = [score_run(run, benchmark, measures)]
    parts = slices(benchmark)
    sizes = {s: sum(bool(keep(q)) for q in benchmark.queries) for s, keep in parts.items()}
    print(f"\n## {name}: {sizes}\n")
    print(f"| system | {' | '.join(f'{s} ({n})' for s, n in sizes.items())} |")
    for label, seeds in sorted(scored.items()):
        cells = []
        for s, keep in parts.items():
            if "bearers" in label and s in ("unique", "HotpotQA"):
                cells.append("")
                continue
            held = [subset(one, keep) for one in seeds]
            every = np.arange(len(held[0].queries))
            means = [mean(estimate(one, m, every).value for one in held) for m in measures]
            first = estimate(held[0], measures[0], every)
            low, high = (f"{v:.3f}" if v is not None else "" for v in (first.low, first.high))
            cells.append(f"{means[0]} [{low}, {high}] {means[1]} {means[2]}")
        print(f"| {label} ({len(seeds)}) | {' | '.join(cells)} |")
    for s, keep in parts.items():
        for bearers in (True, False):
            group = [subset(one[0], keep) for label, one in scored.items() if ("bearers" in label) == bearers]
            if len(group) < 2 or (bearers and s in ("unique", "HotpotQA")):
                continue
            best = max(group, key=lambda one: float(np.nanmean(one.values[str(measures[0])])))
            print(f"\n{s}, {'bearers' if bearers else 'systems'}: acc@1 against {best.system}")
            for pair in comparison_rows(compare(group, measures[:1], baseline=best.system)):
                print(pair)
    for label, base in CONTRASTS:
        if label in scored and base in scored:
            for s, keep in parts.items():
                if "bearers" in label and s in ("unique", "HotpotQA"):
                    continue
                both = [subset(averaged(scored[row]), keep) for row in (label, base)]
                for pair in comparison_rows(compare(both, measures[:1], baseline=both[1].system)):
                    print(f"{s}: {label} - {base}", pair)


def averaged(seeds: Sequence[Any]) -> Any:
    """Scores of several seeds as one system: each question's mean."""
    made = copy.copy(seeds[0])
    values = {m: np.mean([one.values[m] for one in seeds], axis=0) for m in seeds[0].values}
    object.__setattr__(made, "values", values)
    return made


def mean(values: Any) -> str:
    held = [v for v in values if v is not None]
    return f"{sum(held) / len(held):.3f}" if held else ""
