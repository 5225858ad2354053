"""The commands that make benchmarks of people of one name."""

from pathlib import Path
from typing import Annotated, Any

import click
from msgspec.structs import asdict

from whichone.cli.click_options import command, corpus_option
from whichone.cli.printing import emit_benchmark
from whichone.errors import UsageError
from whichone.options import Json, Option, Place, Places
from whichone.papers.people.build_people import PeopleBuild, PeopleOptions, build_people, keep_knowledge

INVENTORS = "inventors"


def with_knowledge(made: click.Command) -> click.Command:
    """A second output, by the same rule as the first: made where it is missing, kept where it is the same."""
    build = made.callback

    def both(knowledge: str | None, **values: Any) -> None:
        if knowledge and Path(knowledge).resolve() == Path(values["benchmark"]).resolve():
            raise UsageError("this is both BENCHMARK and the knowledge base", where=knowledge)
        if build is not None:
            build(**values)
        if knowledge:
            documents = values.get("documents") or [values["file"] or INVENTORS]
            recipe, without = values.get("recipe") or INVENTORS, values["without"]
            keep_knowledge(documents, knowledge, recipe, without=without, overwrite=values["overwrite"])

    said = (
        "Keep a knowledge base there too: the people with the values of their documents, as an operator has them"
        " (of inventors PatentsView's, without the labels by hand)."
    )
    made.callback = both
    made.params.insert(-2, click.Option(["--knowledge"], type=click.Path(), help=said))
    return made


@with_knowledge
@command(makes="benchmark")
@corpus_option
def build_people_command(
    documents: Places,
    benchmark: Place,
    *,
    recipe: Annotated[
        str | None,
        Option(
            "What the columns of DOCUMENTS mean and how people are asked about: a TOML file; or inventors.",
            metavar="inventors|FILE",
        ),
    ] = None,
    options: PeopleBuild,
    as_json: Json = False,
) -> None:
    """Make BENCHMARK from DOCUMENTS that belong to people of one name: tickets, letters, patents.

    DOCUMENTS are tables (JSON lines, CSV or Parquet) with the ids of their owners and the names as they are written on
    them. Who is meant is said by a value that no other bearer of the name has, and something else is asked.

    \b
    whichone build people tickets.jsonl TICKETS --recipe tickets.toml
    whichone build people letters.jsonl drafts.jsonl LETTERS --recipe letters.toml --knowledge KB
    whichone build people inventors INVENTORS
    """
    if recipe is None and documents != (INVENTORS,):
        raise UsageError(
            "what do the columns of the documents mean?",
            hint="--recipe FILE.toml says it; docs/inventors.md has an example",
        )
    emit_benchmark(build_people(documents, benchmark, recipe or INVENTORS, options), as_json)


@with_knowledge
@command(makes="benchmark")
@corpus_option
def build_inventors_command(
    benchmark: Place,
    *,
    file: Annotated[
        str | None,
        Option(
            "The archive, where it is not the one that `whichone fetch inventors` brought.", kind="exists"
        ),
    ] = None,
    options: PeopleOptions,
    as_json: Json = False,
) -> None:
    """Make BENCHMARK from PatentsView's inventors: real people of one name, part labelled by hand.

    The same as `whichone build people inventors BENCHMARK`.

    \b
    whichone fetch inventors
    whichone build inventors INVENTORS
    whichone retrieve INVENTORS RUN --retriever bm25
    whichone score RUN --measures acc@1,confused@20 --by clue,role,label

    \b
    whichone build inventors INVENTORS --knowledge KB
    whichone retrieve INVENTORS RUN --retriever namesake -o knowledge=KB
    """
    emit_benchmark(build_people([file or INVENTORS], benchmark, INVENTORS, **asdict(options)), as_json)
