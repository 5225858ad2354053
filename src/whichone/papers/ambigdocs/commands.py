"""The commands of AmbigDocs."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from whichone.chat.endpoint import EndpointOptions, open_endpoint
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit, emit_benchmark, emit_json, emit_table
from whichone.errors import UsageError
from whichone.files.lines import write_rows
from whichone.options import Argument, EngineOptions, Existing, Json, Option, PerQuery, Place, Places
from whichone.papers.ambigdocs.build_ambigdocs import AmbigDocsOptions, BuilderModels, build_ambigdocs
from whichone.papers.ambigdocs.score_file import ScorePlan, score_file
from whichone.progress import talk


@command("ambigdocs")
def score_ambigdocs_command(
    predictions: Places,
    *,
    plan: ScorePlan,
    report: Annotated[
        str | None,
        Option("Also write one page about all files, named MODEL--MODE.json, to this .html.", kind="written"),
    ] = None,
    per_query: PerQuery = None,
    as_json: Json = False,
) -> None:
    """Score AmbigDocs predictions: five categories, recalls, knowledge precision.

    PREDICTIONS are files, or folders that `whichone read` has made. A predictions file contains the questions of AmbigDocs with `gen_answer` and `docs`, the passages
    that were shown; `span_predictions` (a reader's spans) and `wrong_answers` (RAMDocs) are used
    where they are there.

    \b
    whichone score ambigdocs predictions.json --json --per-query lines.jsonl
    whichone score ambigdocs predictions.json --rules published
    whichone score ambigdocs tiny--zero-shot.json tiny--few-shot.json --report answers.html
    """
    if per_query is not None and len(predictions) > 1:
        raise UsageError("--per-query writes the lines of one predictions file")
    results = {}
    for place in predictions:
        results[place], lines = score_file(place, plan)
    if per_query is not None:
        write_rows(per_query, lines)
    if report is not None:
        from whichone.papers.ambigdocs.ambigdocs_report import places_page

        places_page(predictions, plan.scoring_rules(), plan.benchmark).write(Path(report))
    if as_json:
        emit_json(results if len(results) > 1 else results[predictions[0]])
    for place, result in results.items() if not as_json else ():
        _tables(place, result)


def _tables(place: str, result: dict[str, Any]) -> None:
    rows = [{"measure": name, **value} for name, value in result["measures"].items()]
    emit_table(rows, title=f"{place}: {result['scored']} questions, documents: {result['documents']}")
    emit_table([{"category": name, **value} for name, value in result["categories"].items()])
    noted = [{"note": k, "count": len(v) if isinstance(v, list) else v} for k, v in result["notes"].items()]
    emit_table([row for row in noted if row["count"]], columns=["note", "count"])
    for name, means in result.get("means_within_categories", {}).items():
        rows = [{"measure": k, **v} for k, v in means.items() if k != "n"]
        emit_table(rows, title=f"{name}: {means['n']} questions")
    if others := result.get("threshold_sensitivity"):
        emit_table([{"threshold": k, "changed": v["changed"], **v["categories"]} for k, v in others.items()])
    if agreement := result.get("agreement"):
        kappa = {f"kappa {k}": v for k, v in agreement["kappa"].items()}
        emit_table([{"questions": agreement["questions"], "agree": agreement["agree"], **kappa}])
        emit_table([{"people": name, **row} for name, row in agreement["confusion"].items()])
    if "semantic" in result:
        emit_table([{k: v for k, v in result["semantic"].items() if k != "examples"}])


@command(makes="benchmark")
@corpus_option
def build_ambigdocs_command(
    kb: Place,
    benchmark: Place,
    *,
    options: AmbigDocsOptions,
    models: BuilderModels,
    engine: EngineOptions,
    as_json: Json = False,
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
    if (models.endpoint is None) != (models.model is None):
        raise UsageError("--endpoint and --model belong together")
    if models.endpoint is None:
        created, funnel = build_ambigdocs(kb, benchmark, options, engine)
    else:
        from whichone.papers.ambigdocs.model_builder import Roles, build_with_models

        with ExitStack() as stack:
            opened = []  # models that have answered one question
            for name in filter(None, (models.model, models.judge_model)):
                asked = EndpointOptions(url=models.endpoint, model=name, concurrency=models.concurrency)
                opened.append(stack.enter_context(open_endpoint(asked, models.cache)))
                opened[-1].probe()
            writer, judge = opened[0], opened[-1]
            talk(f"passages of the bearers go to {models.endpoint}")
            created, funnel = build_with_models(
                kb,
                benchmark,
                Roles(writer, writer, judge),
                options,
                models=models,
                description={"writer": writer.describe(), "judge": judge.describe()},
                engine=engine,
            )
    rows = [{"step": step, "count": count} for step, count in funnel.items()]
    document = {"id": created.id, "path": benchmark, "funnel": funnel}
    emit(document, as_json, rows, title=f"{benchmark}: {created.id}")


@command(makes="benchmark")
@gold_outside_option
@corpus_option
def import_ambigdocs_command(
    files: Annotated[tuple[str, ...], Argument("exists")],
    benchmark: Place,
    *,
    passages: Annotated[
        str | None, Option("psgs_w100.tsv, to check pids against and fill missing texts from.", kind="exists")
    ] = None,
    corpus_pages: Annotated[
        Literal["gold", "titles"],
        Option("The gold passages, or all passages of the bearers' pages in --passages.", flags=("--pages",)),
    ] = "gold",
    dry_run: Annotated[bool, Option("Read and check the files, write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Import AmbigDocs FILES (train.json, dev.json, test.json) into BENCHMARK.

    \b
    whichone import ambigdocs train.json dev.json test.json BENCH --passages psgs_w100.tsv
    whichone import ambigdocs test.json BENCH --corpus CORPUS
    """
    from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs

    created, counts = import_ambigdocs(
        files, None if dry_run else benchmark, passage_file=passages, corpus=corpus_pages
    )
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['documents']} documents, {counts['documents_without_answer']} without an answer")
    emit_benchmark(created, as_json)


@command(makes="benchmark")
@gold_outside_option
@corpus_option
def import_ramdocs_command(
    file: Existing,
    benchmark: Place,
    *,
    dry_run: Annotated[bool, Option("Read and check the file, write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Import a RAMDocs FILE (JSON lines) into BENCHMARK.

    Its documents have no titles: a "correct" document belongs to the bearer whose gold answer it
    has, any other document to none.

    \b
    whichone import ramdocs RAMDocs_test.jsonl BENCH
    """
    from whichone.papers.ambigdocs.import_ambigdocs import import_ramdocs

    created, counts = import_ramdocs(file, None if dry_run else benchmark)
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['bearers_without_document']} bearers have no document of their own")
    emit_benchmark(created, as_json)
