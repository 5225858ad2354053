"""The section of docs/results.md that the ladder's cells make: tables, costs and paired tests, as Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.costs import FILE

PLAN = Path(__file__).resolve().parents[2] / "docs" / "experiments" / "ladder.toml"
MEASURES = ("acc@1", "acc@5", "confused@20")
BEARERS = ("over all bearers", "bearers as they are listed")
Keep = Callable[[Any], bool]


def section(work: Path) -> None:
    """Every cell of the experiment that is done."""
    from whichone.experiment.plan import cells, read_plan

    listed = [c for c in cells(read_plan(PLAN), work / "cells") if c.status == "done"]
    for place in dict.fromkeys(cell.benchmark for cell in listed):
        print_benchmark(place, [cell for cell in listed if cell.benchmark == place])


def print_benchmark(place: str, cells: Sequence[Any]) -> None:
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import score_run
    from whichone.runs.run import Run

    benchmark = Benchmark.open(place)
    measures = parse_measures(list(MEASURES))
    runs = {cell.name: Run.open(cell.path) for cell in cells}
    scores = {name: score_run(run, benchmark, measures) for name, run in runs.items()}
    apart = json.loads(file.read_text()) if (file := Path(place).parent / FILE).exists() else {}
    elsewhere = apart.get(Path(place).name, {})
    costs = {name: cost(run, elsewhere.get(name)) for name, run in runs.items()}
    systems = {n: s for n, s in scores.items() if not n.endswith(BEARERS)}
    among = {n: s for n, s in scores.items() if n.endswith(BEARERS)}
    every = slices(benchmark.queries)
    print(f"\n### {benchmark.name}: {len(benchmark.queries)} questions\n")
    print_table("system", systems, every, costs)
    shared = {name: keep for name, keep in every.items() if name in SHARED}
    print_table("among all bearers, the name given", among, shared, costs)
    for title, group, parts in (("systems", systems, every), ("among bearers", among, shared)):
        print_tests(title, group, {name: parts[name] for name in TESTED if name in parts})


TESTED = ("all shared", "unique", "HotpotQA", "all")
SHARED = ("PopQA, shared", "EntityQuestions, shared", "all shared", "all", "head", "tail")


def slices(queries: Sequence[Any]) -> dict[str, Keep]:
    """The parts of the tables; head and tail are AmbER's own, or the halves of PopQA by popularity."""

    def dataset(q: Any) -> str:
        return str(q.attributes.get("dataset", ""))

    popular = [q.attributes["popularity"] for q in queries if dataset(q) == "popqa"]
    middle = statistics.median(popular) if popular else 0
    every: dict[str, Keep] = {
        "PopQA, shared": lambda q: bool(q.name_set) and dataset(q) == "popqa",
        "EntityQuestions, shared": lambda q: bool(q.name_set) and dataset(q) == "entityquestions",
        "all shared": lambda q: bool(q.name_set) and dataset(q) in ("popqa", "entityquestions"),
        "unique": lambda q: not q.name_set and dataset(q) in ("popqa", "entityquestions"),
        "HotpotQA": lambda q: dataset(q) == "kilt-hotpotqa",
        "all": lambda q: not dataset(q),
        "head": lambda q: q.role == "head",
        "tail": lambda q: q.role == "tail",
        "PopQA head": lambda q: dataset(q) == "popqa" and q.attributes["popularity"] >= middle,
        "PopQA tail": lambda q: dataset(q) == "popqa" and q.attributes["popularity"] < middle,
    }
    return {name: keep for name, keep in every.items() if any(map(keep, queries))}


def print_table(
    head: str, scores: Mapping[str, Any], parts: Mapping[str, Keep], costs: Mapping[str, str]
) -> None:
    from whichone.measures.scores import subset

    first = next(iter(scores.values()), None)
    if first is None or not parts:
        return
    counts = {name: sum(map(keep, first.queries)) for name, keep in parts.items()}
    titles = [f"{name} ({counts[name]})" for name in parts]
    print(f"| {head} | {' | '.join(titles)} | CPU ms a question |")
    print("| --- " * (len(titles) + 2) + "|")
    for system, scored in scores.items():
        values = [cell_text(subset(scored, keep)) for keep in parts.values()]
        print(f"| {system} | {' | '.join(values)} | {costs[system]} |")
    print()


def cell_text(scored: Any) -> str:
    """acc@1 with its interval, acc@5, and confused@20 where names are shared."""
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import estimate

    rows = np.arange(len(scored.queries))
    first, *others = [estimate(scored, m, rows) for m in parse_measures(list(MEASURES))]
    text = f"{number(first.value)} [{number(first.low)}, {number(first.high)}]"
    return " ".join([text, *(number(e.value) for e in others if e.value is not None)])


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def cost(run: Any, apart: float | None) -> str:
    """Milliseconds of CPU time a question; of a row that a GPU ranked, as measured apart."""
    manifest = run.folder.manifest
    whole = manifest.made.get("cpu_seconds")
    each = apart if apart is not None or whole is None else whole / manifest.counts["questions"]
    return "" if each is None else f"{1_000 * each:.0f}"


def print_tests(title: str, scores: Mapping[str, Any], parts: Mapping[str, Keep]) -> None:
    """acc@1 of every system against the best one of each part; paired by name, Holm-corrected in the part."""
    from whichone.measures.comparison import compare
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import subset

    measure = parse_measures(list(MEASURES[:1]))
    for name, keep in parts.items():
        group = [subset(scored, keep) for scored in scores.values()]
        if len(group) < 2:
            continue
        best = max(group, key=lambda s: float(np.nanmean(s.values[str(measure[0])])))
        pairs = compare(group, measure, baseline=best.system)
        told = [
            f"{pair.b} {pair.difference.value:+.3f} (p {pair.p_holm:.3f})"
            for pair in sorted(pairs, key=lambda pair: -(pair.difference.value or 0))
        ]
        print(f"- {title}, {name}: best {best.system}; {'; '.join(told)}")
