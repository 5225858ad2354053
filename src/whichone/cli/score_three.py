"""`whichone score three`: AmbER's Table 8, the choice among three bearers' pages."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import BenchmarkName, json_option, seed_option


@click.command("three")
@click.argument("benchmark", type=BenchmarkName())
@click.argument("places", nargs=-1, type=click.Path(), metavar="[RUN|ANSWERS]...")
@click.option(
    "--retriever",
    "retrievers",
    multiple=True,
    metavar='"NAME [KEY=VALUE...]"',
    help="Search the three pages of each item alone with this retriever; may be repeated.",
)
@click.option(
    "--fewer",
    type=click.Choice(["skip", "pad"]),
    default="skip",
    show_default=True,
    help="Names with fewer than three bearers: leave them out, or add pages of other names.",
)
@click.option("--most", type=click.IntRange(1), default=None, help="A seeded sample of so many.")
@click.option(
    "--items",
    "items_file",
    type=click.Path(dir_okay=False),
    default=None,
    help="Also write the items, one row each; .jsonl, .csv or .parquet by suffix.",
)
@click.option(
    "--study",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="answers.csv of a user study in `whichone serve`: the human row.",
)
@seed_option
@json_option
def command(
    benchmark: str,
    places: tuple[str, ...],
    retrievers: tuple[str, ...],
    fewer: Any,
    most: int | None,
    items_file: str | None,
    study: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Which of three bearers' pages is the right one? The user study of AmbER's Table 8.

    Each question comes with its gold page and the pages of two namesakes. A RUN chooses the page that
    it ranks best among the three. ANSWERS, of a reader that was shown gold, give the exact match.

    \b
    whichone score three builtin/amber RUN_A RUN_B ANSWERS_GOLD
    whichone score three builtin/amber --retriever bm25 --retriever "namesake encoder=none"
    """
    import msgspec

    from whichone.cli.output import emit_json, emit_table, write_rows
    from whichone.report.three_choice import three_choice_scores, three_document, three_rows

    rows, opened, choices = three_choice_scores(
        benchmark, places, retrievers, fewer=fewer, most=most, seed=seed, study=study
    )
    if items_file:
        write_rows(items_file, msgspec.to_builtins(choices.items))
    if as_json:
        emit_json(three_document(rows, opened, choices))
        return
    emit_table(three_rows(rows), title=f"three pages to choose from, on {opened.id}")
    skipped_text = ", ".join(f"{n:,} {why}" for why, n in choices.skipped.items() if n)
    click.echo(f"{len(choices.items):,} items; left out: {skipped_text or 'none'}", err=True)
