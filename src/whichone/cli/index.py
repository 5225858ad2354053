"""`whichone index`: an index of a corpus, complete in its folder."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, names_of
from whichone.errors import UsageError


@click.command()
@makes("index")
@click.argument("corpus", type=click.Path())
@click.argument("index", type=click.Path())
@click.option(
    "--retriever",
    default="bm25",
    show_default=True,
    shell_complete=names_of("retrievers"),
    help="What is to search it (see `whichone list retrievers`).",
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the retriever, such as k1=1.2.",
)
@json_option
def command(
    corpus: str, index: str, retriever: str, options: tuple[str, ...], as_json: bool
) -> None:
    """Index CORPUS (a corpus, or a benchmark's folder) for a retriever into the folder INDEX.

    The folder is complete: it can be copied to another machine and searched there.

    \b
    whichone index CORPUS INDEX --retriever namesake -o encoder=none
    whichone search INDEX "Where was John Bell born?"
    whichone retrieve BENCH RUN --index INDEX
    """
    from whichone import registry
    from whichone.cli.output import emit_json
    from whichone.cli.retrieve import parse_options
    from whichone.runs.run import open_corpus

    kind = registry.find("retrievers", retriever)
    if not hasattr(kind, "build"):
        raise UsageError(
            f"{retriever} has no index of its own",
            hint="bm25, tfidf, dense, late, sparse, namesake, title-lookup and popular have",
        )
    built_index = kind.build(open_corpus(corpus), index, **parse_options(options))
    described = built_index.describe()
    close = getattr(built_index, "close", None)
    if callable(close):
        close()
    if as_json:
        emit_json({"index": index, **described})
    else:
        click.echo(f"{index}: {retriever} over {corpus}")
