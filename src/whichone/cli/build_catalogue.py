"""`whichone build catalogue`: questions and tasks about the namesakes of any catalogue."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, json_option, seed_option


@click.command("catalogue")
@makes("bench")
@click.argument("kb", type=click.Path(exists=True))
@click.argument("bench", type=click.Path())
@click.option(
    "--tasks",
    default="qa",
    show_default=True,
    help="qa (questions), act (tasks to carry out), fc (claims), with commas between.",
)
@click.option("--attribute", "attributes", multiple=True, help="Ask only for this one; repeatable.")
@click.option(
    "--underspecified",
    type=float,
    default=0.0,
    show_default=True,
    help="Share of questions that do not say which one is meant, so that asking back is right.",
)
@click.option(
    "--shared-answers", is_flag=True, help="Keep questions whose answer a namesake shares, marked."
)
@click.option("--limit", type=int, default=None, help="At most so many, drawn by name.")
@click.option(
    "--wordings", type=click.Path(exists=True), default=None, help="A file of wordings of your own."
)
@click.option(
    "--called", default=None, help="The benchmark's name; the catalogue's when not given."
)
@click.option(
    "--language", default="", help="Of the questions; that of the knowledge base when not given."
)
@click.option(
    "--examples", "shown", type=int, default=0, help="Print so many questions drawn at random."
)
@seed_option
@json_option
@corpus_option
def command(
    kb: str,
    bench: str,
    tasks: str,
    attributes: tuple[str, ...],
    underspecified: float,
    shared_answers: bool,
    limit: int | None,
    wordings: str | None,
    called: str | None,
    language: str,
    shown: int,
    seed: int,
    as_json: bool,
) -> None:
    """Make questions about the namesakes of a knowledge base KB and write them to the folder BENCH.

    Who is meant is said by an attribute, described in other words, denied by what the namesake is, or left
    out: a search that only compares words does not get all of them.

    \b
    whichone build catalogue KB BENCH --examples 30
    whichone build catalogue KB BENCH --underspecified 0.5
    whichone build catalogue KB TASKS --tasks act --limit 2000
    """
    from whichone.benchmarks.catalogue_build import (
        CatalogueOptions,
        build_catalogue,
        examples,
    )
    from whichone.cli.output import emit_benchmark, emit_table

    options = CatalogueOptions(
        tasks=tuple(t.strip() for t in tasks.split(",") if t.strip()),
        attributes=attributes,
        underspecified=underspecified,
        shared_answers=shared_answers,
        limit=limit,
        seed=seed,
        language=language,
    )
    created = build_catalogue(kb, bench, options, wordings=wordings, called=called)
    emit_benchmark(created, as_json)
    if shown and not as_json:
        emit_table(examples(created, shown, seed))
