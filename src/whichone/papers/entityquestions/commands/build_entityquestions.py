"""`whichone build entityquestions`: simple questions about the facts of a knowledge base."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import (
    Words,
    corpus_option,
    engine_options,
    json_option,
    memory_option,
    seed_option,
)


@click.command()
@makes("benchmark")
@click.argument("kb", type=click.Path())
@click.argument("benchmark", type=click.Path())
@click.option(
    "--relations",
    type=click.Path(exists=True),
    default=None,
    help="A TOML file of relations and questions instead of the published 24.",
)
@click.option("--only", type=Words(), default="", help="Only these relations: P19,P26.")
@click.option("--language", default="en", show_default=True, help="Language of names and answers.")
@click.option(
    "--frequency",
    type=click.Choice(["links", "views", "sitelinks"]),
    default="links",
    show_default=True,
    help="How often a subject is met: links to its page, page views, or sitelinks.",
)
@click.option(
    "--least-facts",
    type=float,
    default=None,
    help="A relation needs more facts than this; below 1 a share of all. Default: 2000, in a small "
    "knowledge base one in a thousand of its pages.",
)
@click.option("--least-answers", default=10, show_default=True, help="Different answers at least.")
@click.option("--test", default=1000, show_default=True, help="Test facts a relation at most.")
@click.option("--dev", default=1000, show_default=True, help="Dev facts a relation at most.")
@click.option("--train", default=8000, show_default=True, help="Training facts at most.")
@click.option(
    "--train-scope",
    type=click.Choice(["triples", "subjects"]),
    default="triples",
    show_default=True,
    help="Whose tokens training facts must not share with the test set.",
)
@click.option(
    "--tokeniser",
    type=click.Choice(["drqa", "blanks"]),
    default="drqa",
    show_default=True,
    help="What a token is.",
)
@click.option("--stop-words", type=click.Path(exists=True), default=None, help="One a line.")
@click.option("--trex", type=click.Path(exists=True), multiple=True, help="Evidence from T-REx.")
@click.option("--buckets", type=Words(), default="", help="Draw bucket sets of these: P19,P170.")
@click.option(
    "--train-entities",
    type=click.Path(exists=True),
    default=None,
    help='Ids or names, one a line: the entities of "train ent".',
)
@click.option(
    "--train-questions",
    type=click.Path(exists=True),
    default=None,
    help='Questions in which the entities of "train ent" are looked for by name.',
)
@click.option("--reworded", is_flag=True, help="Ask in other words where the relation has some.")
@click.option(
    "--wording",
    type=click.Choice(["clean", "published"]),
    default="clean",
    show_default=True,
    help="Ask only of types that the question fits, or of all that have the relation, as in the release.",
)
@click.option("--words", default=100, show_default=True, help="Words a passage.")
@engine_options
@memory_option
@seed_option
@json_option
@corpus_option
def command(
    kb: str,
    benchmark: str,
    test: int,
    dev: int,
    train: int,
    engine: str,
    master: str | None,
    memory: str,
    as_json: bool,
    **values: object,
) -> None:
    """Make EntityQuestions from a knowledge base KB; the criteria's numbers are printed.

    \b
    whichone build entityquestions KB BENCH
    whichone build entityquestions KB BENCH --only P19,P106 --buckets P19 --seed 1
    whichone build entityquestions KB BENCH --wording published
    whichone build entityquestions KB BENCH --engine spark --master spark://host:7077
    """
    import msgspec

    from whichone.cli.output import emit_json, emit_table
    from whichone.papers.entityquestions.build import BuildOptions, build_entityquestions

    sizes = {"test": test, "dev": dev, "train": train}
    options = msgspec.convert({**values, "sizes": sizes}, BuildOptions)
    built = build_entityquestions(
        kb, benchmark, options, memory=memory, engine=engine, master=master
    )
    relations = [msgspec.to_builtins(count) for count in built.relations]
    if as_json:
        emit_json(
            {
                "id": built.benchmark.id,
                "path": benchmark,
                "relations": relations,
                "steps": built.steps,
                "train": built.train,
            }
        )
        return
    emit_table(relations, title=f"{benchmark}: {built.benchmark.id}")
    emit_table(built.steps)
