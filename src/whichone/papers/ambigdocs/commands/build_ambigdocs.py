"""`whichone build ambigdocs`: questions about several bearers of one name, with a model or without."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

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
from whichone.errors import UsageError


@click.command()
@makes("benchmark")
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
    "--pages",
    "corpus_pages",
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
@click.option(
    "--entailment",
    default="rule",
    show_default=True,
    metavar="rule|none|MODEL",
    help="Does a passage state the fact? By rule (English), by an NLI model's folder or name, or not asked.",
)
@click.option("--endpoint", default=None, help="Build as the paper does, with a model at this URL.")
@click.option(
    "--model", default=None, help="Its name: writes, answers, and judges if no other does."
)
@click.option("--judge-model", default=None, help="Another model at the endpoint, to judge.")
@click.option("--concurrency", default=4, show_default=True, help="Names worked on at a time.")
@click.option("--cache", default=None, help="File of calls already made, or none; default: yours.")
@engine_options
@memory_option
@seed_option
@json_option
@corpus_option
def command(
    kb: str,
    benchmark: str,
    endpoint: str | None,
    model: str | None,
    judge_model: str | None,
    concurrency: int,
    cache: str | None,
    engine: str,
    master: str | None,
    memory: str,
    as_json: bool,
    corpus_pages: str,
    **values: Any,
) -> None:
    """Make AmbigDocs questions from a knowledge base KB.

    Without an endpoint no model is asked: a property that at least two bearers of a name have is
    asked for under that name by a template; each bearer's own value is its answer, if a passage of
    its page states it (--entailment). With an endpoint questions are written, answered and judged by a model, as
    in the paper. The funnel is printed.

    \b
    whichone build ambigdocs KB BENCH
    whichone build ambigdocs KB BENCH --properties P19,P106 --seed 1
    whichone build ambigdocs KB BENCH --entailment NLI_MODEL
    whichone build ambigdocs KB BENCH --engine spark --master spark://host:7077
    whichone build ambigdocs KB BENCH --endpoint http://127.0.0.1:8000/v1 --model NAME
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.papers.ambigdocs.build_benchmark import build_ambigdocs, build_options
    from whichone.papers.ambigdocs.funnel import rows

    options = build_options(corpus=corpus_pages, **values)
    if (endpoint is None) != (model is None):
        raise UsageError("--endpoint and --model belong together")
    if endpoint is None or model is None:
        created, funnel = build_ambigdocs(
            kb, benchmark, options, memory=memory, engine=engine, master=master
        )
    else:
        from whichone.papers.ambigdocs.build_with_models import build_with_models
        from whichone.papers.ambigdocs.generate import roles_of
        from whichone.progress import talk

        with ExitStack() as stack:
            writer = _open(stack, endpoint, model, concurrency, cache)
            judge = (
                _open(stack, endpoint, judge_model, concurrency, cache) if judge_model else writer
            )
            talk(f"passages of the bearers go to {endpoint}")
            created, funnel = build_with_models(
                kb,
                benchmark,
                roles_of(writer, judge=judge),
                options,
                concurrency=concurrency,
                description={"writer": writer.describe(), "judge": judge.describe()},
                memory=memory,
                engine=engine,
                master=master,
            )
    if as_json:
        emit_json({"id": created.id, "path": benchmark, "funnel": funnel})
    else:
        emit_table(rows(funnel), title=f"{benchmark}: {created.id}")


def _open(stack: ExitStack, url: str, model: str, concurrency: int, cache: str | None) -> Any:
    """A model that has answered one question."""
    from whichone.chat.endpoint import EndpointOptions, open_endpoint

    options = EndpointOptions(url=url, model=model, concurrency=concurrency)
    opened = stack.enter_context(open_endpoint(options, cache))
    opened.probe()
    return opened
