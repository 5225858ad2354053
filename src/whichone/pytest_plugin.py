"""A fixture for test suites: `namesake_gate(search, budgets={"max_confusion": 0.2})`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def namesake_gate(tmp_path: Path) -> Callable[..., Any]:
    """Asks every question of a benchmark and checks what came back; its report can be printed.

    Budgets are those of `whichone check`: max_confusion, max_tail_gap, min_accuracy, ..., in `budgets` or as
    arguments of their own (`max_confusion=0.2`). `strict` fails
    on undecided ones too. `baseline` is the folder of an older run, or a search to compare with.
    `floor=False` leaves out the comparison with BM25 over the same corpus; `margin` is how much worse is accepted.
    """
    from whichone.api import evaluate
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.measures.budgets import Budgets, GateOptions
    from whichone.measures.gate import gate_run
    from whichone.runs.run import Run

    def gate(
        search: Any,
        benchmark: Any = "builtin/amber",
        *,
        budgets: dict[str, float] | None = None,
        baseline: Any = None,
        floor: bool = True,
        strict: bool = False,
        margin: float = GateOptions().margin,
        **options: Any,
    ) -> Any:
        named = {n: options.pop(n) for n in list(options) if n.startswith(("max_", "min_"))}
        wanted = Budgets.of({**(budgets or {}), **named})
        opened = Benchmark.open(benchmark)
        evaluate(search, opened, run=tmp_path / "run", **options)
        if baseline is not None and not isinstance(baseline, str | Path):
            evaluate(baseline, opened, run=tmp_path / "baseline", **options)
            baseline = tmp_path / "baseline"
        old = None if baseline is None else str(baseline)
        how = GateOptions(baseline=old, floor=floor, strict=strict, margin=margin)
        report = gate_run(Run.open(tmp_path / "run"), opened, wanted, how)
        if report.exit_code:
            lines = [f"{c.name}: {c.message}" for c in report.checks if c.verdict != "passed"]
            lines += [f"  {mistake}" for mistake in report.worst]
            pytest.fail("\n".join([f"the gate {report.verdict}:", *lines]), pytrace=False)
        return report

    return gate
