"""`whichone read`: let a reader answer a benchmark's questions."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import BenchmarkName, json_option, names_of, seed_option
from whichone.cli.printing import makes
from whichone.errors import UsageError


@click.command()
@makes("answers", decides=False)
@click.argument("benchmark", type=BenchmarkName(), nargs=-1, required=True, metavar="BENCHMARK...")
@click.argument("answers", type=click.Path())
@click.option(
    "--reader",
    default="llm",
    show_default=True,
    shell_complete=names_of("readers"),
    help="Its name (see `whichone list readers`), or module:function of your own.",
)
@click.option(
    "--passages",
    type=click.Choice(["gold", "retrieved", "gold+retrieved", "none", "other-bearer"]),
    default="gold",
    show_default=True,
    help="What the reader is shown.",
)
@click.option("--run", type=click.Path(), default=None, help="The run whose passages are shown.")
@click.option("--depth", type=int, default=None, help="At most so many passages; 20, AmbigDocs 5.")
@click.option(
    "--shuffled/--ranked",
    default=None,
    help="A seeded order of its own for each question, or by rank; AmbigDocs: shuffled.",
)
@click.option(
    "--page-passages",
    default=1,
    show_default=True,
    help="How many passages represent a page, if the run returned pages; 0: all.",
)
@click.option(
    "--endpoint", default=None, envvar="WHICHONE_ENDPOINT", help="Such as http://HOST/v1."
)
@click.option(
    "--model",
    default=None,
    envvar="WHICHONE_MODEL",
    help="The endpoint's name for it; else a checkpoint.",
)
@click.option(
    "--prompt", default=None, help="zero-shot, few-shot, which-one, one-by-one or a file."
)
@click.option("--concurrency", type=int, default=None, help="Calls at once; 16 when not given.")
@click.option("--cache", default=None, help="File of calls already made, or none.")
@click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the reader."
)
@click.option("--name", default=None, help="The system's name in tables.")
@click.option(
    "--limit",
    type=int,
    default=None,
    help="Ask only so many questions, of names drawn by --seed, all tasks of a name together.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Ask questions of this task only, such as qa, sf or fc; may be given several times.",
)
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="skip",
    show_default=True,
    help="Keep a failing question as a failure, scored as wrong; or stop.",
)
@click.option(
    "--retry", is_flag=True, help="In finished answers: ask again what failed or came back empty."
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    help="Ask everything so many times, past the cache, and count the questions whose answers differ.",
)
@seed_option
@json_option
def read_command(
    benchmark: tuple[str, ...],
    answers: str,
    reader: str,
    passages: str,
    run: str | None,
    depth: int | None,
    shuffled: bool | None,
    page_passages: int,
    endpoint: str | None,
    model: str | None,
    prompt: str | None,
    concurrency: int | None,
    cache: str | None,
    options: tuple[str, ...],
    name: str | None,
    limit: int | None,
    tasks: tuple[str, ...],
    on_error: str,
    retry: bool,
    repeat: int,
    seed: int,
    as_json: bool,
) -> None:
    """Let a reader answer every question of BENCHMARK and keep what it says in ANSWERS.

    Several benchmarks over one corpus, or a folder that contains them, are read together.

    Killed and started again, it goes on after the last answer. A key for the endpoint is taken from
    WHICHONE_API_KEY or OPENAI_API_KEY, and is never written anywhere. A reader is asked the tasks that
    it can do; with --task it is asked those only.

    \b
    whichone read BENCH ANSWERS --passages gold --endpoint http://127.0.0.1:8000/v1 --model NAME
    whichone read BENCH ANSWERS --passages retrieved --run RUN --reader my_package.rag:answer
    whichone read BENCH ANSWERS --passages other-bearer --reader kb-lookup
    whichone read BENCH ANSWERS --task sf --reader seq2seq --model FOLDER
    whichone read AMBER_H AMBER_N ANSWERS --passages retrieved --run RUN --reader extractive
    whichone read BENCH ANSWERS --endpoint http://127.0.0.1:8000/v1 --model NAME --retry
    """
    from whichone.cli.printing import emit_json
    from whichone.runs.read import read_repeatedly

    flags = {
        "endpoint": endpoint,
        "model": model,
        "prompt": prompt,
        "concurrency": concurrency,
        "cache": cache,
    }
    given = {key: value for key, value in flags.items() if value is not None}
    if reader != "llm":
        given = {key: value for key, value in given.items() if _typed(key)}
        stray = [key for key in given if key != "model"]
        if stray:
            raise UsageError(f"--{stray[0]} is for the reader llm, not for {reader}")
    if limit is not None and limit < 1:
        raise UsageError("--limit must be at least 1")
    answer_run, differing = read_repeatedly(
        benchmark,
        answers,
        repeat,
        reader=reader,
        options={**given, **parse_options(options)},
        passages=passages,
        depth=depth,
        shuffled=shuffled,
        page_passages=page_passages,
        seed=seed,
        run=run,
        name=name,
        limit=limit,
        tasks=tasks,
        on_error=on_error,
        retry=retry,
    )
    counts, details = answer_run.folder.manifest.counts, answer_run.folder.manifest.made
    if as_json:
        document = {"answers": answers, "name": answer_run.name, "counts": counts, "made": details}
        emit_json({**document, **({"repeated": differing} if differing else {})})
        return
    counts_text = ", ".join(
        f"{value:,} {key.replace('_', ' ')}" for key, value in counts.items() if value
    )
    click.echo(
        f"{answers}: {answer_run.name}, {counts_text}; p50 {details.get('latency_p50', 0):.3f} s"
    )
    if differing:
        click.echo(
            f"asked {differing['times']} times: {differing['differing']:,} of {differing['questions']:,} questions"
            " were answered differently"
        )


def _typed(key: str) -> bool:
    """Whether an option appears on the command line; the environment's are for the reader llm."""
    source = click.get_current_context().get_parameter_source(key)
    return source is click.core.ParameterSource.COMMANDLINE


# `whichone index`: an index of a corpus, complete in its folder.


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
def index_command(
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
    from whichone.cli.printing import emit_json
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


# `whichone retrieve`: run a retriever over a benchmark.


@click.command()
@makes("run", decides=False)
@click.argument("benchmark", type=BenchmarkName(), nargs=-1, required=True, metavar="BENCHMARK...")
@click.argument("run", type=click.Path())
@click.option(
    "--retriever",
    default="bm25",
    show_default=True,
    shell_complete=names_of("retrievers"),
    help="Its name (see `whichone list retrievers`), or module:function of your own.",
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the retriever, such as k1=1.2.",
)
@click.option(
    "--encoder",
    default=None,
    metavar="PATH|NAME|PACKAGE",
    help="The encoder of dense and namesake; the same as -o encoder=. `none` uses words only.",
)
@click.option(
    "--model",
    default=None,
    metavar="FOLDER|FILE.onnx|NAME",
    help="The model of rerank, late, sparse and blink; the same as -o model=.",
)
@click.option("-k", default=100, show_default=True, help="How many passages a question.")
@click.option(
    "--returns",
    type=click.Choice(["page", "passage"]),
    default=None,
    help="What your function's ids are.",
)
@click.option(
    "--index",
    "index",
    type=click.Path(),
    default=None,
    help="One finished index (`whichone index`) to ask; it says which retriever it is. With lucene: a folder of Lucene's.",
)
@click.option("--name", default=None, help="The system's name in tables.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Stop at a failing question, or keep it as a failure, scored as wrong.",
)
@click.option("--timeout", type=float, default=None, help="Seconds that one block may take.")
@click.option(
    "--block", default=256, show_default=True, help="Questions asked at once and kept together."
)
@json_option
def retrieve_command(
    benchmark: tuple[str, ...],
    run: str,
    retriever: str,
    options: tuple[str, ...],
    encoder: str | None,
    model: str | None,
    k: int,
    returns: str | None,
    index: str | None,
    name: str | None,
    on_error: str,
    timeout: float | None,
    block: int,
    as_json: bool,
) -> None:
    """Ask every question of BENCHMARK and keep the rankings in RUN.

    Several benchmarks over one corpus, or a folder that contains them, give one run, in which every
    question has its benchmark's name before its id; tables have a column `benchmark`. Killed and
    started again, it goes on after the last finished block.

    \b
    whichone retrieve BENCH RUN --retriever bm25 -o k1=1.2 -o b=0.75
    whichone retrieve BENCH RUN --retriever namesake --encoder none
    whichone retrieve BENCH RUN --retriever rerank -o run=FIRST --model FOLDER/model.onnx
    whichone retrieve BENCH RUN --retriever my_package.search:search
    whichone retrieve BENCH RUN --retriever lucene --index FOLDER
    whichone retrieve AMBER_H AMBER_N RUN && whichone score RUN --by benchmark,role
    """
    from whichone.cli.printing import emit_json
    from whichone.runs.retrieve import retrieve

    if k < 1 or block < 1:
        raise UsageError("-k and --block must be at least 1")
    named = {"encoder": encoder, "model": model}
    finished_run = retrieve(
        benchmark,
        run,
        retriever=retriever,
        options={**parse_options(options), **{n: v for n, v in named.items() if v}},
        k=k,
        returns=returns,
        index=index,
        name=name,
        on_error=on_error,
        timeout=timeout,
        block=block,
    )
    counts, details = finished_run.folder.manifest.counts, finished_run.folder.manifest.made
    if as_json:
        emit_json({"run": run, "name": finished_run.name, "counts": counts, "made": details})
        return
    click.echo(
        f"{run}: {finished_run.name}, {counts['questions']:,} questions, {counts['failures']:,} failures, "
        f"{counts['empty']:,} without result; p50 {details.get('latency_p50', 0) * 1000:.1f} ms, "
        f"p95 {details.get('latency_p95', 0) * 1000:.1f} ms"
    )


def parse_options(options: tuple[str, ...]) -> dict[str, str]:
    parsed = {}
    for option in options:
        key, sign, value = option.partition("=")
        if not sign:
            raise UsageError(f"{option!r} is not KEY=VALUE", hint="write it as -o k1=1.2")
        parsed[key.replace("-", "_")] = value
    return parsed


# `whichone search`: ask an index one question.


@click.command()
@click.argument("index", type=click.Path())
@click.argument("question")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1), help="How many passages.")
@json_option
def search_command(index: str, question: str, k: int, as_json: bool) -> None:
    """Search the folder INDEX for QUESTION and show the passages, with what speaks for whom.

    \b
    whichone search INDEX "Where was John Bell born?"
    whichone search INDEX "Who leads Payroll?" -k 3 --json
    """
    from whichone.cli.printing import emit_json
    from whichone.corpus.corpus import Corpus
    from whichone.records import Question
    from whichone.retrieval.indexes import CORPUS, open_index_folder

    retriever = open_index_folder(index)
    corpus = Corpus.open(f"{index}/{CORPUS}")
    look_up = getattr(retriever, "passage", None)
    asked = Question(id="asked", text=question)
    (ranking,) = retriever.search([asked], k)
    back = retriever.resolve(asked).question if hasattr(retriever, "resolve") else None
    scores = ranking.scores or (None,) * len(ranking.passages)
    results = [
        {"rank": rank, "score": score, **_shown(look_up, corpus, identity)}
        for rank, (identity, score) in enumerate(zip(ranking.passages, scores, strict=True), 1)
    ]
    if as_json:
        emit_json(
            {
                "question": question,
                "results": results,
                "notes": dict(ranking.notes),
                "question_back": back,
            }
        )
        return
    for result in results:
        score = "" if result["score"] is None else f"  {result['score']:.3f}"
        click.echo(f"{result['rank']:>3}{score}  {result['title']}  ({result['id']})")
        click.echo(f"     {result['text'][:200]}")
    for name in ranking.notes.get("names", ()):
        _show_bearers(name)
    if back:
        click.echo(f"\nthe question does not say who is meant; ask back: {back}")
    if not results:
        click.echo("nothing was found")


def _shown(look_up: Any, corpus: Any, identity: str) -> dict[str, str]:
    """A passage, or the first passage of a page; an index that was added to looks up its own."""
    if look_up is not None:
        passage = look_up(identity)
        return {"id": identity, "title": passage.title, "text": passage.text}
    place = identity if identity in corpus else corpus.passages_of(identity)[0]
    passage = corpus.passage(place)
    return {"id": identity, "title": passage.title, "text": passage.text}


def _show_bearers(name: dict[str, Any]) -> None:
    click.echo(f"\n{name['name']}: {name['bearers']} pages have this name")
    for bearer in name["candidates"]:
        click.echo(f"  {bearer['title']}")
        for speaks in bearer.get("for", ()):
            click.echo(f"    + {speaks}")
        for speaks in bearer.get("against", ()):
            click.echo(f"    - {speaks}")


# `whichone work`: let an agent work on a benchmark's questions or tasks.


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
def work_command(
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
    from whichone.cli.printing import emit_json
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
