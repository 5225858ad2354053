"""The commands that Inventors brings."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta

from whichone.cli.options import corpus_option, own_options
from whichone.cli.printing import emit_benchmark, makes
from whichone.errors import UsageError
from whichone.options import Json, Option, Seed


def with_knowledge(function: Callable[..., None]) -> Callable[..., None]:
    """A second output, by the same rule as the first: made where it is missing, kept where it is the same."""

    @click.option(
        "--knowledge",
        type=click.Path(),
        help="Keep a knowledge base there too: PatentsView's inventors with owners, fields, towns and co-inventors of "
        "their patents, without the labels by hand.",
    )
    @functools.wraps(function)
    def command(knowledge: str | None, **values: Any) -> None:
        if knowledge and Path(knowledge).resolve() == Path(values["benchmark"]).resolve():
            raise UsageError("this is both BENCHMARK and the knowledge base", where=knowledge)
        function(**values)
        if knowledge:
            from whichone.papers.people.build_people import keep_knowledge

            keep_knowledge(
                knowledge, file=values["file"], without=values["without"], overwrite=values["overwrite"]
            )

    return command


@click.command()
@with_knowledge
@makes("benchmark")
@click.argument("benchmark", type=click.Path())
@own_options
@corpus_option
def build_inventors_command(
    benchmark: str,
    *,
    file: Annotated[
        str | None,
        Option(
            "The archive, where it is not the one that `whichone fetch inventors` brought.", kind="exists"
        ),
    ] = None,
    most: Annotated[
        int, Option("Questions an inventor at most, each by another clue."), Meta(ge=1, le=4)
    ] = 2,
    without: Annotated[
        str | None,
        Option(
            "A file of people to leave out, one a line: inventor, mention or patent id, or a name.",
            kind="file",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Make BENCHMARK from PatentsView's inventors: real people of one name, part labelled by hand.

    \b
    whichone fetch inventors
    whichone build inventors INVENTORS
    whichone retrieve INVENTORS RUN --retriever bm25
    whichone score RUN --measures acc@1,confused@20 --by clue,role,label

    \b
    whichone build inventors INVENTORS --knowledge KB
    whichone retrieve INVENTORS RUN --retriever namesake -o knowledge=KB
    """
    from whichone.papers.people.build_people import InventorOptions, build_inventors

    options = InventorOptions(most=most, without=without, seed=seed)
    emit_benchmark(build_inventors(benchmark, options, file=file), as_json)
