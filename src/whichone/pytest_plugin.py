"""A fixture for test suites: `namesake_gate(search, budgets={"max_confusion": 0.2})`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def namesake_gate() -> Callable[..., Any]:
    """Asks every question of a benchmark and checks budgets; the report it returns can be printed.

    Budgets are those of `whichone check`: max_confusion, max_tail_gap, min_accuracy, ... `strict` fails
    on undecided ones too.
    """
    from whichone.api import evaluate
    from whichone.measures.gate import Budgets, check_budgets

    def gate(
        search: Any,
        benchmark: Any = "builtin/amber",
        *,
        strict: bool = False,
        budgets: dict[str, float],
        **options: Any,
    ) -> Any:
        result = evaluate(search, benchmark, **options)
        report = check_budgets(result.scores, Budgets(**budgets), strict=strict)
        if report.exit_code:
            told = "; ".join(
                f"{c.name}: {c.message}" for c in report.checks if c.verdict != "passed"
            )
            pytest.fail(f"the gate {report.verdict}: {told}", pytrace=False)
        return report

    return gate
