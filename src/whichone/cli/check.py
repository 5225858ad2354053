"""`whichone check`: the gate for CI."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import (
    Words,
    chosen_judge,
    json_option,
    judge_options,
    moved_benchmark_option,
    seed_option,
)


@click.command()
@click.argument("run", type=click.Path())
@click.option("--max-tail-gap", type=float, help="Head minus tail accuracy at 1, at most.")
@click.option(
    "--max-confusion", type=float, help="Share of queries where a namesake ranks first, at most."
)
@click.option("--max-tail-confusion", type=float, help="The same among tail queries.")
@click.option(
    "--max-not-found", type=float, help="Share where neither gold nor a namesake is found, at most."
)
@click.option("--min-accuracy", type=float, help="Accuracy at 1, at least.")
@click.option("--min-tail-accuracy", type=float, help="The same among tail queries.")
@click.option(
    "--max-answered-for-namesake", type=float, help="Answers: a namesake's value given, at most."
)
@click.option("--min-answer-accuracy", type=float, help="Answers: right ones, at least.")
@click.option("--max-wrong-actions", type=float, help="Tasks: acted on somebody else, at most.")
@click.option(
    "--floor/--no-floor",
    default=True,
    show_default=True,
    help="Fail a search that is worse than BM25 over the same corpus.",
)
@click.option(
    "--baseline", type=click.Path(), help="An older run: a significant paired regression fails."
)
@click.option(
    "--by",
    type=Words(),
    default="",
    help="Check in every slice by columns or attributes of the queries: benchmark, role.",
)
@click.option("--strict", is_flag=True, help="Undecided fails too.")
@moved_benchmark_option
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write a JUnit file.")
@click.option("--markdown", type=click.Path(dir_okay=False), help="Also write Markdown.")
@judge_options
@seed_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    baseline: str | None,
    floor: bool,
    by: tuple[str, ...],
    strict: bool,
    benchmark: tuple[str, ...],
    junit: str | None,
    markdown: str | None,
    judge: str | None,
    endpoint: str | None,
    outcome_words: str | None,
    seed: int,
    as_json: bool,
    **budgets: Any,
) -> None:
    """Fail when a RUN or a folder of answers is worse than its budgets, or than an older one.

    Without any option a search fails when it finds gold in under half of the questions, is significantly
    worse than BM25 over the same corpus, serves the most popular bearers more than 0.25 better than the
    others, or gives no result to most questions. A budget fails when the whole interval is beyond it, or
    when no question can measure it; when the budget is inside the interval the verdict is undecided,
    which exits 0, or 1 with --strict. The ten worst mistakes are printed.

    \b
    whichone check RUN
    whichone check RUN --max-tail-gap 0.15 --max-confusion 0.2
    whichone check RUN --baseline LAST_RUN --junit whichone.xml
    whichone check RUN --by benchmark --max-confusion 0.4
    whichone check ANSWERS --max-answered-for-namesake 0.05 --min-answer-accuracy 0.7
    """
    from pathlib import Path

    from whichone.cli.output import emit_json, emit_table
    from whichone.measures.gate import Budgets, describe, figures_line, gate_folder
    from whichone.measures.worst import mistake_rows
    from whichone.progress import talk
    from whichone.report import gate

    with chosen_judge(judge, endpoint, outcome_words) as judging:
        report = gate_folder(
            run,
            Budgets.of(budgets),
            benchmark=benchmark or None,
            baseline=baseline,
            floor=floor,
            strict=strict,
            seed=seed,
            judge=judging,
            by=by,
        )
    if junit:
        Path(junit).write_bytes(gate.junit(report))
    if markdown:
        Path(markdown).write_text(gate.markdown(report), "utf-8")
    if as_json:
        emit_json({"verdict": report.verdict, "exit_code": report.exit_code, "report": report})
    else:
        emit_table(describe(report), title=f"{report.system}: {report.verdict}")
        click.echo(figures_line(report))
        if report.worst:
            emit_table(mistake_rows(report.worst), title="the worst mistakes")
    for warning in report.warnings:
        talk(f"whichone: {warning}")
    ctx.exit(report.exit_code)
