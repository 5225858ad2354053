"""The commands of AmbER."""

from typing import Annotated

import click
from msgspec import to_builtins

from whichone import options
from whichone.cli.click_options import command, corpus_option, gold_outside_option
from whichone.cli.printing import emit, emit_json, emit_table
from whichone.errors import GateFailed, UsageError
from whichone.files.lines import write_rows
from whichone.papers.amber.amber_files import AmberImport, import_amber, table_4
from whichone.papers.amber.amber_scores import AmberScoring, evaluate_amber
from whichone.papers.amber.build_amber import AmberOptions, How, build_collections, explain_in
from whichone.papers.amber.instantiate import TASKS


@command(makes="bench")
@corpus_option
def build_amber_command(
    kb: options.Place,
    bench: Annotated[str | None, options.Argument()] = None,
    *,
    collection: Annotated[
        tuple[str, ...],
        options.Option(
            "human, nonhuman, places, or a TOML file of your own; repeated, one benchmark of all."
        ),
    ],
    explain: Annotated[
        str | None,
        options.Option(
            "Show what each filter removed; with a name, draw that name and write nothing. Put it last.",
            metavar="[NAME]",
            bare="",
        ),
    ] = None,
    plan: AmberOptions,
    engine: options.EngineOptions,
    as_json: options.Json = False,
) -> None:
    """Make AmbER sets of a knowledge base KB and write them to the folder BENCH.

    Names shared by several entities, head and tail by popularity, facts that only one bearer has and
    that its page states, and queries for question answering, slot filling and fact checking.

    \b
    whichone build amber KB BENCH --collection human
    whichone build amber KB BENCH --collection nonhuman --rules published --explain
    whichone build amber KB BENCH --collection human --collection nonhuman
    whichone build amber KB BENCH --collection human --corpus CORPUS
    whichone build amber KB --collection human --explain "Abe Lincoln"
    """
    from whichone.corpus.cut import Cut
    from whichone.papers.amber.collection import load_collection
    from whichone.papers.amber.one_name import print_figure
    from whichone.progress import talk

    if (unknown := [task for task in plan.tasks if task not in TASKS]) or not plan.tasks:
        raise UsageError(f"there is no task {', '.join(unknown)!r}", hint="qa, sf or fc")
    chosen = [load_collection(name) for name in collection]
    rules = plan.chosen_rules()
    how: How = {
        "popularity": plan.popularity, "language": plan.language, "properties": plan.properties,
        "engine": engine,
    }  # fmt: skip
    if explain:
        figures = explain_in(kb, explain, chosen, rules, **how)
        if as_json:
            emit_json(figures[0] if len(figures) == 1 else figures)
        for figure in () if as_json else figures:
            print_figure(figure)
        return
    if bench is None:
        raise UsageError("BENCH is missing: where to write the benchmark")
    cut = Cut(way=plan.passages, size=plan.passage_size)
    benchmark, accounts = build_collections(
        kb, bench, chosen, rules, tasks=plan.tasks, extent=plan.pages, cut=cut, **how
    )
    for remark in dict.fromkeys(remark for account in accounts for remark in account.remarks):
        talk(remark)
    counts = benchmark.folder.manifest.counts
    whole = {"account": accounts[0]} if len(accounts) == 1 else {"accounts": accounts}
    numbers = {k: v for k, v in counts.items() if isinstance(v, int | float)}
    rows = [{"what": k.replace("_", " "), "": v} for k, v in numbers.items()]
    emit({"benchmark": benchmark.id, **counts, **whole}, as_json, rows, title=benchmark.id)
    for made_of, account in zip(chosen, accounts, strict=True) if explain is not None and not as_json else ():
        rows = [
            {"filter": s.name, "of": s.unit, "kept": s.kept, "removed": s.removed,
             "examples of the removed": "; ".join(s.examples[:3])}
            for s in account.steps
        ]  # fmt: skip
        emit_table(rows, title=made_of.name if len(chosen) > 1 else None)


@command(makes="bench")
@gold_outside_option
def import_amber_command(
    files: options.Places,
    bench: options.Place,
    *,
    plan: AmberImport,
    released: Annotated[
        bool, options.Option("Compare the counts with the paper's Table 4; 1 where one differs.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make a benchmark BENCH of amber_sets.jsonl FILES, or of folders with qa, sf and fc in them.

    The files name pages but hold no text: with --corpus or --knowledge they can be searched. Pages are
    found by id, else by title.

    \b
    whichone import amber OUT/qa/amber_sets.jsonl BENCH
    whichone import amber OUT BENCH --collection human --knowledge KB
    whichone import amber data/human data/nonhuman BENCH --corpus CORPUS
    whichone import amber human nonhuman BENCH --released        after whichone fetch amber
    """
    created = import_amber(files, bench, plan)
    counts = {"benchmark": created.id, **created.folder.manifest.counts}
    rows = table_4(created) if released else []
    shown = [{"what": key.replace("_", " "), "": value} for key, value in counts.items()]
    emit({**counts, **({"table_4": rows} if released else {})}, as_json, shown)
    if released and not as_json:
        emit_table(rows, title="Table 4")
    if different := [row for row in rows if row["is"] != "equal"]:
        raise GateFailed(f"{len(different)} counts differ from the paper's Table 4", where=bench)


@command("amber")
def score_amber_command(
    sets: options.Place,
    predictions: options.Place,
    *,
    plan: AmberScoring,
    per_query: options.PerQuery = None,
    as_json: options.Json = False,
) -> None:
    """Score PREDICTIONS for the AmbER sets in SETS, in percent as the paper prints them.

    PREDICTIONS: the released form, KILT's, a TREC run, or a run folder.

    \b
    whichone score amber qa/amber_sets.jsonl predictions.jsonl -k 1,5,20 --json
    """
    result = evaluate_amber(sets, predictions, plan)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    for skipped in result.skipped:
        click.echo(f"skipped: {skipped}", err=True)
    if per_query:
        write_rows(per_query, result.rows)
    scores = {str(k): to_builtins(value) for k, value in result.scores.items()}
    emit(scores, as_json, [{"k": int(k), **values} for k, values in scores.items()])
