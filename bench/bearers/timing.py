"""What reading ten bearers costs, by the clock and in CPU time, beside the untuned model of 12 layers."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from bearers.training import TEACHER, questions, text_of

BEARERS, ASKED, AGAIN = 10, 20, 3


def time_readers(work: Path, out: Path, models: Path) -> None:
    """The least of several readings of each question, since others may use the cores; medians over questions."""
    from whichone.retrieval.onnx_model import OnnxCrossEncoder

    asked, passages = questions(work, "48k")
    shared = [q for q in asked if q["bearers"]][:ASKED]
    lists = [[(q["q"], text_of(passages[n])) for n in (q["bearers"] + q["bm25"])[:BEARERS]] for q in shared]
    folders = [models / TEACHER, *sorted(out.glob("namesake-reader-*-layers"))]
    first: tuple[float, float] | None = None
    for folder in folders:
        for longest in (128, 64, 48, 32):
            model = OnnxCrossEncoder(folder, longest=longest)
            if model.describe()["longest"] != longest:
                continue
            clock, cpu = measured(model, lists)
            first = first or (clock, cpu)
            print(
                f"| {folder.name} | {longest} | {clock:.0f} | {cpu:.0f} | {clock / first[0]:.2f} |",
                flush=True,
            )


def measured(model: Any, lists: list[list[tuple[str, str]]]) -> tuple[float, float]:
    """Milliseconds by the clock and of CPU time for a list of pairs."""
    model.scores(lists[0])
    best: list[tuple[float, float]] = []
    for pairs in lists:
        tries = []
        for _ in range(AGAIN):
            clock, cpu = time.perf_counter(), time.process_time()
            model.scores(pairs)
            tries.append((time.perf_counter() - clock, time.process_time() - cpu))
        best.append(min(tries))
    return tuple(1_000 * statistics.median(values) for values in zip(*best, strict=True))  # type: ignore[return-value]
