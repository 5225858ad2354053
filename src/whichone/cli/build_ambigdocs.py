"""`whichone build ambigdocs`: questions about several bearers of one name, made without a model."""

from __future__ import annotations

import click

from whichone.cli.options import Words, json_option, seed_option


@click.command()
@click.argument("kb", type=click.Path())
@click.argument("benchmark", type=click.Path())
@click.option(
    "--names",
    type=click.Choice(["auto", "disambiguation", "shared"]),
    default="auto",
    show_default=True,
    help="Names from disambiguation pages, or those that entities share; auto: the first there are.",
)
@click.option("--properties", type=Words(), default="", help="Ask only for these: P106,P19.")
@click.option("--language", default="en", show_default=True, help="Language of names and answers.")
@click.option("--words", default=100, show_default=True, help="Words a passage.")
@click.option(
    "--corpus",
    type=click.Choice(["all", "bearers"]),
    default="all",
    show_default=True,
    help="Passages of all articles, or only of the bearers' pages.",
)
@click.option(
    "--templates",
    type=click.Path(exists=True),
    default=None,
    help="A TOML file of questions by property, beside those of EntityQuestions.",
)
@click.option("--memory", default="2GB", show_default=True, help="Memory of the engine.")
@seed_option
@json_option
def command(
    kb: str,
    benchmark: str,
    names: str,
    properties: tuple[str, ...],
    language: str,
    words: int,
    corpus: str,
    templates: str | None,
    memory: str,
    seed: int,
    as_json: bool,
) -> None:
    """Make AmbigDocs questions from a knowledge base KB, without any model.

    A property that at least two bearers of a name have is asked for under that name; each bearer's
    own value is its answer, if a passage of its page states it. The funnel is printed.

    \b
    whichone build ambigdocs KB BENCH
    whichone build ambigdocs KB BENCH --properties P19,P106 --seed 1
    """
    from whichone.benchmarks.ambigdocs.build_benchmark import build_ambigdocs, build_options
    from whichone.benchmarks.ambigdocs.funnel import rows
    from whichone.cli.output import emit_json, emit_table

    options = build_options(
        names=names,
        properties=properties,
        language=language,
        words=words,
        corpus=corpus,
        templates=templates,
        seed=seed,
    )
    made, funnel = build_ambigdocs(kb, benchmark, options, memory=memory)
    if as_json:
        emit_json({"id": made.id, "path": benchmark, "funnel": funnel})
    else:
        emit_table(rows(funnel), title=f"{benchmark}: {made.id}")
