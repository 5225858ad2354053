"""`whichone import longmemeval`: questions about earlier chats as a benchmark."""

from __future__ import annotations

from typing import Literal

import click

from whichone.cli.options import corpus_option, gold_outside_option, json_option
from whichone.cli.printing import makes


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("benchmark", type=click.Path())
@click.option("--member", help="The file to read, where an archive contains several.")
@click.option(
    "--unit",
    type=click.Choice(["round", "session"]),
    default="round",
    show_default=True,
    help="What a passage is: a user's turn with its reply, or a whole session.",
)
@click.option("--dated", is_flag=True, help="Put the day of the question behind it, for readers.")
@click.option("--called", default="longmemeval", show_default=True, help="The benchmark's name.")
@gold_outside_option
@json_option
@corpus_option
def command(
    file: str,
    benchmark: str,
    member: str | None,
    unit: Literal["round", "session"],
    dated: bool,
    called: str,
    as_json: bool,
) -> None:
    """Import LongMemEval's FILE (.json, or a .zip, .whl or .tar.gz that contains it) into BENCHMARK.

    A session is a page, gold is the sessions that the answer rests on, and `question_type` and
    `abstention` can be sliced by.

    \b
    whichone import longmemeval longmemeval_oracle.json BENCH
    whichone score RUN --measures recall@5 --by question_type
    """
    from whichone.cli.printing import emit_benchmark
    from whichone.papers.longmemeval.import_files import import_longmemeval

    created = import_longmemeval(
        file, benchmark, member=member, unit=unit, dated=dated, name=called
    )
    emit_benchmark(created, as_json)
