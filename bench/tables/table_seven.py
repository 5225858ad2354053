"""Table 7 of the answers that `bench/table_seven.py run` brought: means over seeds, beside the paper's figures."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tables.readers import DEPTH, HELD_OUT, KINDS, SEEDS

MEASURES = {"fc": "accuracy", "sf": "amber_f1", "qa": "amber_f1"}
LEARNED = {"none": "neither half", "the other half": "half a|half b"}
SHOWN = {
    "gold": "gold",
    "bm25": f"{DEPTH} of BM25's",
    "minilm": f"{DEPTH} of MiniLM's",
    "namesake": f"{DEPTH} of namesake's",
}
PAPER = {
    ("human", "fc"): ("BERT", "77.7 73.6 80.3", "BLINK", "59.8 60.1 57.7"),
    ("human", "sf"): ("BART", "83.9 85.0 83.5", "BLINK", "34.4 38.2 32.6"),
    ("human", "qa"): ("BERT", "71.4 77.7 83.0", "BLINK", "27.5 33.8 22.3"),
    ("nonhuman", "fc"): ("BERT", "66.6 63.9 69.5", "DPR", "60.9 61.4 60.4"),
    ("nonhuman", "sf"): ("BART", "82.1 80.1 84.3", "DPR", "18.6 18.6 18.6"),
    ("nonhuman", "qa"): ("BERT", "83.5 85.1 81.8", "DPR", "26.0 31.3 20.4"),
}
COLUMNS = (
    "sets",
    "task",
    "reader",
    "passages",
    "learned of the names",
    "All",
    "Head",
    "Tail",
    "paper: All",
    "paper: Head",
    "paper: Tail",
)


def table(work: Path, out: Path) -> None:
    from whichone.benchmarks.benchmark import Benchmark

    rows: list[dict[str, str]] = []
    scored = {
        name: _scored(Benchmark.open(work / "tested" / name), work, out, name)
        for name in ("amber", "wikipedia")
    }
    for (sets, task), (reader, oracle, system, retrieved) in PAPER.items():
        for passages, figures in (("gold", oracle), (f"{DEPTH} of {system}'s", retrieved)):
            row = (sets, task, reader, passages, "no weights here", "", "", "", *figures.split())
            rows.append(dict(zip(COLUMNS, row, strict=True)))
        rows += _rows(scored["amber"], sets, task)
    for task in MEASURES:
        rows += _rows(scored["wikipedia"], "wikipedia", task)
    with (out / "table-7.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print(out / "table-7.csv", len(rows))


def _scored(benchmark: Any, work: Path, out: Path, name: str) -> dict[tuple[str, str], Any]:
    """By what is shown and what was learned: the mean over seeds of every query's own measure."""
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import Scores, score_answers
    from whichone.runs.read import run_reader
    from whichone.runs.run import Run
    from whichone.runs.shown import Setting

    measures = parse_measures(sorted({*MEASURES.values()}))
    results = {}
    for label, learned in LEARNED.items():
        if name == "wikipedia" and label != "none":
            continue
        for setting in SHOWN:
            place = work / "runs" / f"{name}-{setting}"
            run = None if setting == "gold" else Run.open(place) if place.exists() else None
            if setting != "gold" and run is None:
                continue
            many = []
            for seed, said in enumerate(_said(benchmark, out, name, setting, learned.split("|"))):
                at = out / "scored" / f"{name}-{setting}-{label}-{seed}-{len(said)}".replace(" ", "-")
                shown = Setting(passages="gold" if run is None else "retrieved", depth=DEPTH)
                answers = run_reader(Said(said), benchmark, at, shown, run=run)
                held = score_answers(answers, benchmark, measures).values
                asked = np.array([q.id in said for q in benchmark.queries])
                own = np.array([MEASURES[q.task] for q in benchmark.queries])
                chosen = np.full(len(asked), np.nan)
                for measure, values in held.items():
                    chosen = np.where(own == measure, values, chosen)
                many.append(np.where(asked, chosen, np.nan))
            if many:
                first = parse_measures(["amber_f1"])
                values = np.nanmean(many, 0)
                results[setting, label] = Scores(
                    setting, benchmark.id, benchmark.queries, first, {"amber_f1": values}
                )
    return results


class Said:
    """What was answered elsewhere, as a reader."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said

    def describe(self) -> dict[str, Any]:
        return {"reader": "said", "answers": sorted((k, str(v["text"])) for k, v in self.said.items())}

    def read(self, tasks: Any) -> Any:
        from whichone.records import Answer

        for task in tasks:
            said = self.said.get(task.question.id, {"text": None, "place": None})
            place = said["place"]
            passages = () if place is None else (task.passages[place].id,)
            yield Answer(question=task.question.id, text=said["text"], passages=passages)


def _said(benchmark: Any, out: Path, name: str, setting: str, learned: list[str]) -> list[dict[str, Any]]:
    """By query, one each seed; of two halves the reader's that has not learned of the query's name.

    What a reader did not come to the end of is left out.
    """
    from whichone.training.held_out import name_of, share_of

    half = {q.id: "half a" if share_of(name_of(q)) < HELD_OUT else "half b" for q in benchmark.queries}
    results: list[dict[str, Any]] = [{} for _ in SEEDS]
    for kind, tasks in KINDS.items():
        wanted = {q.id for q in benchmark.queries if q.task in tasks}
        by_part: list[list[dict[str, Any]]] = []
        for part in learned:
            files = sorted(out.glob(f"answers-{kind}-{part.replace(' ', '-')}-*-{name}.jsonl.gz"))
            each = [{r["id"]: r for r in _lines(file) if r["setting"] == setting} for file in files]
            whole = [said for said in each if said.keys() >= wanted]
            by_part.append([{i: r for i, r in said.items() if half[i] != part} for said in whole])
        for result, parts in zip(results, zip(*by_part, strict=False), strict=False):
            for said in parts:
                result |= said
    return [result for result in results if result]


def _lines(file: Path) -> Iterator[Any]:
    """Of a file whose writer was stopped what there is."""
    with contextlib.suppress(EOFError, json.JSONDecodeError), gzip.open(file, "rt") as held:
        for line in held:
            yield json.loads(line)


def _rows(scored: dict[tuple[str, str], Any], sets: str, task: str) -> list[dict[str, str]]:
    from whichone.measures.scores import slice_scores, subset

    rows = []
    for (setting, label), scores in scored.items():
        cells = []
        for roles in (("head", "tail", None, ""), ("head",), ("tail",)):
            part = subset(
                scores,
                lambda q, roles=roles: (
                    q.task == task
                    and (sets == "wikipedia" or q.attributes["collection"] == sets)
                    and q.role in roles
                ),
            )
            found = slice_scores(part)[0][1]["amber_f1"] if len(part.queries) else None
            known = found is not None and found.value is not None and found.low is not None
            cells.append(
                f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]" if known else ""
            )
        if any(cells):
            row = (sets, task, "MiniLM", SHOWN[setting], label, *cells, "", "", "")
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows
