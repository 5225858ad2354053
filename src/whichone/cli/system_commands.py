"""`whichone read`, `index`, `retrieve`, `search` and `work`: systems that are asked, and their indexes."""

from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta
from msgspec.structs import replace

from whichone.cli.click_options import command, parse_pairs
from whichone.cli.printing import emit, emit_json, in_words
from whichone.errors import UsageError
from whichone.options import AllAsked, Argument, Json, Option, Place
from whichone.runs.run_options import FLAGS, ReadOptions, RetrieveOptions, WorkOptions


@command(makes="answers", decides=False)
def read_command(benchmark: AllAsked, answers: Place, *, plan: ReadOptions, as_json: Json = False) -> None:
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
    from whichone.runs.read import read_repeatedly

    if plan.reader != "llm":
        source = click.get_current_context().get_parameter_source  # the environment's are for the reader llm
        typed = {key for key in FLAGS if source(key) is click.core.ParameterSource.COMMANDLINE}
        if stray := [key for key in FLAGS if key != "model" and key in typed]:
            raise UsageError(f"--{stray[0]} is for the reader llm, not for {plan.reader}")
        plan = replace(plan, **{key: None for key in FLAGS if key not in typed})
    if plan.limit is not None and plan.limit < 1:
        raise UsageError("--limit must be at least 1")
    answer_run, differing = read_repeatedly(benchmark, answers, plan)
    counts, details = answer_run.folder.manifest.counts, answer_run.folder.manifest.made
    if as_json:
        document = {"answers": answers, "name": answer_run.name, "counts": counts, "made": details}
        emit_json({**document, **({"repeated": differing} if differing else {})})
        return
    seconds = details.get("latency_p50", 0)
    click.echo(f"{answers}: {answer_run.name}, {in_words(counts)}; p50 {seconds:.3f} s")
    if differing:
        click.echo(
            f"asked {differing['times']} times: {differing['differing']:,} of {differing['questions']:,} questions"
            " were answered differently"
        )


# `whichone index`: an index of a corpus, complete in its folder.


@command(makes="index")
def index_command(
    corpus: Place,
    index: Place,
    *,
    retriever: Annotated[
        str, Option("What is to search it (see `whichone list retrievers`).", names="retrievers")
    ] = "bm25",
    options: Annotated[
        tuple[str, ...],
        Option(
            "A parameter of the retriever, such as k1=1.2.", flags=("-o", "--option"), metavar="KEY=VALUE"
        ),
    ] = (),
    as_json: Json = False,
) -> None:
    """Index CORPUS (a corpus, or a benchmark's folder) for a retriever into the folder INDEX.

    The folder is complete: it can be copied to another machine and searched there.

    \b
    whichone index CORPUS INDEX --retriever namesake -o encoder=none
    whichone search INDEX "Where was John Bell born?"
    whichone retrieve BENCH RUN --index INDEX
    """
    from whichone import registry
    from whichone.runs.run import open_corpus

    kind = registry.find("retrievers", retriever)
    if not hasattr(kind, "build"):
        raise UsageError(
            f"{retriever} has no index of its own",
            hint="bm25, tfidf, dense, late, sparse, namesake, title-lookup and popular have",
        )
    built_index = kind.build(open_corpus(corpus), index, **parse_pairs(options))
    described = built_index.describe()
    if callable(close := getattr(built_index, "close", None)):
        close()
    emit({"index": index, **described}, as_json, f"{index}: {retriever} over {corpus}")


# `whichone retrieve`: run a retriever over a benchmark.


@command(makes="run", decides=False)
def retrieve_command(
    benchmark: AllAsked, run: Place, *, plan: RetrieveOptions, as_json: Json = False
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
    from whichone.runs.retrieve import retrieve

    if min(plan.k, plan.block, 1 if plan.passages is None else plan.passages) < 1:
        raise UsageError("-k, --passages and --block must be at least 1")
    finished_run = retrieve(benchmark, run, plan)
    counts, details = finished_run.folder.manifest.counts, finished_run.folder.manifest.made
    emit(
        {"run": run, "name": finished_run.name, "counts": counts, "made": details},
        as_json,
        f"{run}: {finished_run.name}, {counts['questions']:,} questions, {counts['failures']:,} failures, "
        f"{counts['empty']:,} without result; p50 {details.get('latency_p50', 0) * 1000:.1f} ms, "
        f"p95 {details.get('latency_p95', 0) * 1000:.1f} ms",
    )


# `whichone search`: ask an index one question.


@command()
def search_command(
    index: Place,
    question: Annotated[str, Argument("text")],
    *,
    k: Annotated[int, Option("How many passages.", flags=("-k",)), Meta(ge=1)] = 5,
    as_json: Json = False,
) -> None:
    """Search the folder INDEX for QUESTION and show the passages, with what speaks for whom.

    \b
    whichone search INDEX "Where was John Bell born?"
    whichone search INDEX "Who leads Payroll?" -k 3 --json
    """
    from whichone.corpus.corpus import Corpus
    from whichone.records import Question
    from whichone.report.show import explained
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
            {"question": question, "results": results, "notes": dict(ranking.notes), "question_back": back}
        )
        return
    for result in results:
        score = "" if result["score"] is None else f"  {result['score']:.3f}"
        click.echo(f"{result['rank']:>3}{score}  {result['title']}  ({result['id']})")
        click.echo(f"     {result['text'][:200]}")
    if ranking.notes.get("names"):
        click.echo("\n".join(explained(dict(ranking.notes))))
    if back:
        click.echo(f"\nthe question does not say who is meant; ask back: {back}")
    if not results:
        click.echo("nothing was found")


def _shown(look_up: Any, corpus: Any, identity: str) -> dict[str, str]:
    """A passage, or the first passage of a page; an index that was added to looks up its own."""
    if look_up is None:
        passage = corpus.passage(identity if identity in corpus else corpus.passages_of(identity)[0])
    else:
        passage = look_up(identity)
    return {"id": identity, "title": passage.title, "text": passage.text}


# `whichone work`: let an agent work on a benchmark's questions or tasks.


@command(makes="answers", decides=False)
def work_command(benchmark: AllAsked, answers: Place, *, plan: WorkOptions, as_json: Json = False) -> None:
    """Let an agent work on every question of BENCHMARK with tools, and keep its ANSWERS and traces.

    \b
    whichone work BENCH ANSWERS --agent my_module:agent --search namesake
    whichone work TASKS ANSWERS --agent guess --search namesake -o encoder=none
    whichone work TASKS ANSWERS --agent guess --guard INDEX
    """
    from whichone.api import answer_by_agent
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.runs.agent_runner import named_agent

    answer_run = answer_by_agent(
        named_agent(plan.agent, plan.guard),
        Benchmark.open(benchmark),
        Path(answers),
        search=plan.search,
        search_options=plan.options,
        user=None if plan.user == "none" else plan.user,
        budget=plan.budget,
        turns=plan.turns,
        name=plan.name or f"{plan.agent} + {plan.search}{' behind a guard' if plan.guard else ''}",
        on_error="skip",
        limit=plan.limit,
    )
    counts = answer_run.folder.manifest.counts
    emit(
        {"answers": answer_run.name, "counts": counts},
        as_json,
        f"{answers}: {answer_run.name}: {in_words(counts)}",
    )
