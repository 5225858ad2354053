"""`whichone experiment`: benchmarks x retrievers x readers x settings from one file."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--out", type=click.Path(), default=None, help="Folder of the cells.")
@click.option("--dry-run", is_flag=True, help="Show what would run, with estimated time and cost.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    default=None,
    help="Write a report of this experiment's own cells, a page for each benchmark.",
)
@json_option
def command(file: str, out: str | None, dry_run: bool, report: str | None, as_json: bool) -> None:
    """Do everything that FILE (TOML) crosses, each cell into a folder of its own.

    Cells that are done are not done again; killed and started again it goes on per question. Any
    cells can be set side by side with `whichone compare`, and put into one `whichone report`.

    \b
    whichone experiment study.toml --dry-run
    whichone experiment study.toml --report study.html
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.errors import BadInput
    from whichone.experiment import execute as experiment
    from whichone.progress import talk

    if dry_run:
        planned = experiment.dry_run(file, out)
        if as_json:
            emit_json(planned)
            return
        trainings = [row for row in planned if row["kind"] == "training"]
        cells = [row for row in planned if row["kind"] != "training"]
        if trainings:
            rows = [{"training": row["name"], "status": row["status"]} for row in trainings]
            emit_table(rows, title=f"{file}: what is trained first")
        if cells:
            emit_table([_planned(row) for row in cells], title=f"{file}: what would run")
            click.echo(_total(cells))
        else:
            click.echo("which cells there are is known when the models are trained")
        return
    results = experiment.run_experiment(file, out)
    if as_json:
        emit_json(results)
    else:
        for kind in ("run", "answers"):
            rows = [_shown(r) for r in results if r.kind == kind]
            if rows:
                emit_table(rows, columns=list(dict.fromkeys(c for r in rows for c in r)))
    if report:
        for page in experiment.report_experiment(results, report):
            talk(f"the page: {page}")
    failed = [r for r in results if r.status == "failed"]
    if failed:
        raise BadInput(
            f"{len(failed)} of {len(results)} cells failed",
            hint="fix it and start again: cells that are done are not done again",
        )


def _planned(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "benchmark": row["benchmark"],
        "cell": row["name"],
        "status": row["status"],
        "questions": row["questions"],
        "time": f"{_time(row['seconds'])} ({row['basis']})" if row["questions"] else "",
        "tokens": row["tokens"] if row["questions"] else None,
        "cost": row["cost"] if row["questions"] else None,
    }


def _total(planned: list[dict[str, Any]]) -> str:
    left = [row for row in planned if row["status"] != "done"]
    cost = sum(row["cost"] or 0.0 for row in left)
    unpriced = sum(row["tokens"] is not None and row["cost"] is None for row in left)
    usage_text = (
        f"{len(left)} of {len(planned)} cells to do, about {_time(sum(r['seconds'] for r in left))}"
    )
    if cost:
        usage_text += f", about {cost:.4f} in money"
    if unpriced:
        usage_text += (
            f"; {unpriced} cells without prices (price_prompt and price_completion in options)"
        )
    return usage_text


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _shown(result: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": result.benchmark,
        "cell": result.name,
        "status": result.status,
    }
    for name, estimate in result.measures.items():
        row[name] = "-" if estimate["value"] is None else f"{estimate['value']:.3f}"
    return row
