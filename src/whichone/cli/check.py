"""`whichone check`: the gate for CI."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option, seed_option


@click.command()
@click.argument("run", type=click.Path())
@click.option("--max-tail-gap", type=float, help="Head minus tail accuracy at 1, at most.")
@click.option(
    "--max-confusion", type=float, help="Share of queries where a namesake ranks first, at most."
)
@click.option("--max-tail-confusion", type=float, help="The same among tail queries.")
@click.option("--min-accuracy", type=float, help="Accuracy at 1, at least.")
@click.option("--min-tail-accuracy", type=float, help="The same among tail queries.")
@click.option(
    "--baseline", type=click.Path(), help="An older run: a significant paired regression fails."
)
@click.option("--strict", is_flag=True, help="Undecided fails too.")
@click.option("--benchmark", default=None, help="Where the benchmark lies now, if it was moved.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write a JUnit file.")
@click.option("--markdown", type=click.Path(dir_okay=False), help="Also write Markdown.")
@seed_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    baseline: str | None,
    strict: bool,
    benchmark: str | None,
    junit: str | None,
    markdown: str | None,
    seed: int,
    as_json: bool,
    **budgets: Any,
) -> None:
    """Fail when a RUN is worse than its budgets, or than an older run.

    A budget fails when the interval's near end lies beyond it; when the budget lies inside the interval
    the verdict is undecided, which exits 0, or 1 with --strict. Where more than half of the questions
    failed or got no result, the gate fails whatever the budgets say.

    \b
    whichone check RUN --max-tail-gap 0.15 --max-confusion 0.2
    whichone check RUN --baseline LAST_RUN --junit whichone.xml
    """
    from pathlib import Path

    from whichone.cli.output import emit_json, emit_table
    from whichone.measures.gate import MEASURES, Budgets, check_budgets, describe
    from whichone.measures.score import score_folder
    from whichone.progress import talk
    from whichone.report import gate

    scores = score_folder(run, MEASURES, benchmark=benchmark)
    old = score_folder(baseline, MEASURES, benchmark=benchmark) if baseline else None
    report = check_budgets(scores, Budgets(**budgets), baseline=old, strict=strict, seed=seed)
    if junit:
        Path(junit).write_bytes(gate.junit(report))
    if markdown:
        Path(markdown).write_text(gate.markdown(report), "utf-8")
    if as_json:
        emit_json({"verdict": report.verdict, "exit_code": report.exit_code, "report": report})
    else:
        emit_table(describe(report), title=f"{report.system}: {report.verdict}")
    for warning in report.warnings:
        talk(f"whichone: {warning}")
    ctx.exit(report.exit_code)
