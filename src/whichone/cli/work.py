"""`whichone work`: let an agent work on a benchmark's questions or tasks."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import BenchmarkName, json_option, names_of


@click.command()
@makes("answers", decides=False)
@click.argument("benchmark", type=BenchmarkName(), nargs=-1, required=True, metavar="BENCHMARK...")
@click.argument("answers", type=click.Path())
@click.option(
    "--agent",
    required=True,
    help="module:function of your own, or a plain one to compare with: guess, ask or doubt.",
)
@click.option(
    "--search",
    default="bm25",
    show_default=True,
    shell_complete=names_of("retrievers"),
    help="Its search tool: a retriever's name, or module:function.",
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the search tool, such as encoder=none.",
)
@click.option("--budget", default=10, show_default=True, help="Calls of tools for a question.")
@click.option("--turns", default=0, show_default=True, help="Questions back that end a turn.")
@click.option(
    "--user/--no-user", default=True, show_default=True, help="A simulated user answers questions."
)
@click.option("--name", default=None, help="The system's name in tables.")
@click.option("--limit", type=int, default=None, help="Ask only the first questions.")
@json_option
def command(
    benchmark: tuple[str, ...],
    answers: str,
    agent: str,
    search: str,
    options: tuple[str, ...],
    budget: int,
    turns: int,
    user: bool,
    name: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Let an agent work on every question of BENCHMARK with tools, and keep its ANSWERS and traces.

    \b
    whichone work BENCH ANSWERS --agent my_module:agent --search namesake
    whichone work TASKS ANSWERS --agent guess --search namesake -o encoder=none
    """
    from pathlib import Path

    from whichone.api import answer_by_agent
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.output import emit_json
    from whichone.cli.retrieve import parse_options
    from whichone.runs.agent_runner import named_agent, named_search

    opened = Benchmark.open(benchmark)
    answer_run = answer_by_agent(
        named_agent(agent),
        opened,
        Path(answers),
        search=named_search(search),
        search_options=parse_options(options),
        user="simulated" if user else None,
        budget=budget,
        turns=turns,
        name=name or f"{agent} + {search}",
        on_error="skip",
        limit=limit,
    )
    counts = answer_run.folder.manifest.counts
    if as_json:
        emit_json({"answers": answer_run.name, "counts": counts})
    else:
        summary = ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in counts.items() if v)
        click.echo(f"{answers}: {answer_run.name}: {summary}")
