"""`whichone score`: measures over a run, or over files of a known format."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli import Verbs
from whichone.cli.options import (
    Measures,
    Words,
    chosen_judge,
    json_option,
    judge_options,
    moved_benchmark_option,
    per_query_option,
)


class Score(Verbs):
    """A first word that names a format means files, anything else a folder."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            args = [folder.name or "", *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "RUN"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of a folder, then the formats of files."""
        click.Command.format_options(folder, ctx, formatter)
        self.format_commands(ctx, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return folder if cmd_name == folder.name else super().get_command(ctx, cmd_name)


@click.command(name="RUN")
@click.argument("run", type=click.Path())
@click.option(
    "--measures",
    type=Measures(),
    default="",
    help="Such as acc@1,confused@20 of a run, em,f1 of answers; else the usual ones of its kind.",
)
@click.option(
    "--by",
    type=Words(),
    default="",
    help="Slice by columns or attributes of the queries: role,relation.",
)
@moved_benchmark_option
@judge_options
@per_query_option
@json_option
def folder(
    run: str,
    measures: tuple[str, ...],
    by: tuple[str, ...],
    benchmark: tuple[str, ...],
    judge: str | None,
    endpoint: str | None,
    outcome_words: str | None,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score a RUN (or ANSWERS) folder, or files of a format: `whichone score kilt --help`.

    \b
    whichone score RUN --measures acc@1,acc@5,acc@20 --by dataset,shared_name --json
    whichone score ANSWERS --measures em,f1,answered_for_namesake --by role
    whichone score ANSWERS --judge my-model --endpoint http://127.0.0.1:8000/v1
    """
    from whichone.cli.output import emit_json, emit_table, write_rows
    from whichone.measures.intervals import cluster_note
    from whichone.measures.scores import score_folder, slice_rows
    from whichone.progress import talk

    with chosen_judge(judge, endpoint, outcome_words) as judging:
        scores = score_folder(run, measures, benchmark=benchmark or None, judge=judging)
    if per_query:
        write_rows(per_query, list(scores.rows()))
    rows = slice_rows(scores, by)
    if as_json:
        emit_json(rows)
        return
    shown: list[dict[str, Any]] = [
        {key: _shown(value) for key, value in row.items()} for row in rows
    ]
    emit_table(shown, title=f"{scores.system} on {scores.benchmark}")
    click.echo(cluster_note(scores.queries))
    for caution in scores.cautions():
        talk(f"whichone: {caution}")


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        if value["value"] is None:
            return "-"
        spread = f" [{value['low']:.3f}, {value['high']:.3f}]" if value["low"] is not None else ""
        return f"{value['value']:.3f}{spread} n={value['n']} in {value['clusters']}"
    return "-" if value is None else str(value)


command = Score(name="score", prefix="score ", help=folder.help)
