"""The commands of AmbER."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import (
    Words,
    corpus_option,
    engine_options,
    gold_outside_option,
    json_option,
    k_option,
    memory_option,
    on_error_option,
    per_query_option,
)
from whichone.cli.printing import makes
from whichone.errors import UsageError

# `whichone build amber`: AmbER sets from a knowledge base.


@click.command()
@makes("bench")
@click.argument("kb", type=click.Path())
@click.argument("bench", type=click.Path(), required=False)
@click.option(
    "--collection",
    required=True,
    multiple=True,
    help="human, nonhuman, places, or a TOML file of your own; repeated, one benchmark of all.",
)
@click.option(
    "--rules", type=click.Choice(["paper", "published"]), default="paper", show_default=True,
    help="The paper's rules, or exactly what the released program does.",
)  # fmt: skip
@click.option("--gap", type=float, default=None, help="Smallest lead of the head, such as 0.1.")
@click.option(
    "--gap-scale",
    type=click.Choice(["views", "log10"]),
    default=None,
    help="What the lead is measured on.",
)
@click.option(
    "--gap-denominator",
    type=click.Choice(["tail", "mean"]),
    default=None,
    help="What the lead is divided by.",
)
@click.option(
    "--wording", type=click.Choice(["clean", "published"]), default=None,
    help="Clean English, or the released templates with their mistakes; clean unless --rules published.",
)  # fmt: skip
@click.option(
    "--popularity", type=click.Choice(["views", "sitelinks", "links", "none"]), default=None,
    help="What makes a head; the collection says, views if it does not.",
)  # fmt: skip
@click.option(
    "--min-name-share", type=float, default=None, metavar="SHARE",
    help="Only names that this share of the links to a bearer use, such as 0.01.",
)  # fmt: skip
@click.option(
    "--properties", type=Words(), default="", metavar="auto|P,P,...",
    help="Instead of the collection's: those that are selective and stated in pages, or these.",
)  # fmt: skip
@click.option(
    "--language", default="en", show_default=True, help="Language of names and templates."
)
@click.option(
    "--tasks",
    type=Words(),
    default="qa,sf,fc",
    show_default=True,
    help="Tasks to make queries for.",
)
@click.option(
    "--pages", type=click.Choice(["all", "sets", "none"]), default="all", show_default=True,
    help="Passages of all pages, of the bearers' pages only, or none.",
)  # fmt: skip
@click.option(
    "--passages", "way", type=click.Choice(["words", "pages", "kilt", "tokens"]), default="words",
    show_default=True, help="How pages are cut.",
)  # fmt: skip
@click.option(
    "--passage-size", type=int, default=100, show_default=True, help="Words or tokens of a passage."
)
@engine_options
@memory_option
@click.option(
    "--explain", is_flag=False, flag_value="", default=None, metavar="[NAME]",
    help="Show what each filter removed; with a name, draw that name and write nothing. Put it last.",
)  # fmt: skip
@json_option
@corpus_option
def build_amber_command(
    kb: str,
    bench: str | None,
    collection: tuple[str, ...],
    rules: str,
    gap: float | None,
    gap_scale: str | None,
    wording: str | None,
    gap_denominator: str | None,
    popularity: str | None,
    min_name_share: float | None,
    properties: tuple[str, ...],
    language: str,
    tasks: tuple[str, ...],
    pages: str,
    way: str,
    passage_size: int,
    engine: str,
    master: str | None,
    memory: str,
    explain: str | None,
    as_json: bool,
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
    from typing import cast

    from whichone.cli.printing import emit_json, emit_table
    from whichone.corpus.cut import Cut
    from whichone.papers.amber.build_amber import build_collections, explain_in
    from whichone.papers.amber.collection import load_collection, rules_called
    from whichone.papers.amber.instantiate import TASKS
    from whichone.papers.amber.one_name import print_figure
    from whichone.progress import talk

    unknown = [task for task in tasks if task not in TASKS]
    if unknown or not tasks:
        raise UsageError(f"there is no task {', '.join(unknown)!r}", hint="qa, sf or fc")
    chosen = [load_collection(name) for name in collection]
    rule_set = rules_called(
        rules,
        gap=gap,
        gap_scale=gap_scale,
        wording=wording,
        gap_denominator=gap_denominator,
        min_name_share=min_name_share,
    )
    options: dict[str, Any] = {
        "popularity": popularity,
        "language": language,
        "memory": memory,
        "engine": engine,
        "master": master,
        "properties": properties,
    }
    if explain:
        figures = explain_in(kb, explain, chosen, rule_set, **options)
        if as_json:
            emit_json(figures[0] if len(figures) == 1 else figures)
        for figure in () if as_json else figures:
            print_figure(figure)
        return
    if bench is None:
        raise UsageError("BENCH is missing: where to write the benchmark")
    cut = Cut(way=cast("Any", way), size=passage_size)
    benchmark, accounts = build_collections(
        kb, bench, chosen, rule_set, tasks=tasks, extent=cast("Any", pages), cut=cut, **options
    )
    for remark in dict.fromkeys(remark for account in accounts for remark in account.remarks):
        talk(remark)
    statistics = benchmark.folder.manifest.counts
    if as_json:
        whole = {"account": accounts[0]} if len(accounts) == 1 else {"accounts": accounts}
        emit_json({"benchmark": benchmark.id, **statistics, **whole})
        return
    shown = {k: v for k, v in statistics.items() if isinstance(v, int | float)}
    emit_table([{"what": k.replace("_", " "), "": v} for k, v in shown.items()], title=benchmark.id)
    for made_of, account in zip(chosen, accounts, strict=True) if explain is not None else ():
        rows = [
            {"filter": s.name, "of": s.unit, "kept": s.kept, "removed": s.removed,
             "examples of the removed": "; ".join(s.examples[:3])}
            for s in account.steps
        ]  # fmt: skip
        emit_table(rows, title=made_of.name if len(chosen) > 1 else None)


# `whichone import amber`: released AmbER files as a benchmark.


@click.command()
@makes("bench")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.argument("bench", type=click.Path())
@click.option(
    "--task",
    type=click.Choice(["qa", "sf", "fc"]),
    default=None,
    help="Of all files; else recognised by folder name or content.",
)
@click.option(
    "--collection",
    multiple=True,
    help="What to call the collection, of all FILES or of each; else recognised by folder names and properties.",
)
@click.option(
    "--corpus",
    type=click.Path(exists=True),
    help="The corpus to ask: its folder, or a benchmark's.",
)
@click.option("--knowledge", type=click.Path(exists=True), help="A knowledge base to ask instead.")
@click.option(
    "--words", default=100, show_default=True, help="Words a passage of it; 0: whole pages."
)
@click.option(
    "--source", default="enwiki", show_default=True, help="Source that page ids belong to."
)
@gold_outside_option
@json_option
def import_amber_command(
    files: tuple[str, ...],
    bench: str,
    task: str | None,
    collection: tuple[str, ...],
    corpus: str | None,
    knowledge: str | None,
    words: int,
    source: str,
    as_json: bool,
) -> None:
    """Make a benchmark BENCH of amber_sets.jsonl FILES, or of folders with qa, sf and fc in them.

    The files name pages but hold no text: with --corpus or --knowledge they can be searched. Pages are
    found by id, else by title.

    \b
    whichone import amber OUT/qa/amber_sets.jsonl BENCH
    whichone import amber OUT BENCH --collection human --knowledge KB
    whichone import amber data/human data/nonhuman BENCH --corpus CORPUS
    """
    from whichone.cli.printing import emit_json, emit_table
    from whichone.papers.amber.amber_files import import_amber

    created = import_amber(
        list(files), bench, task=task, collection=collection or None, source=source,
        corpus=corpus, knowledge=knowledge, words=words,
    )  # fmt: skip
    counts = {"benchmark": created.id, **created.folder.manifest.counts}
    if as_json:
        emit_json(counts)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in counts.items()])


# `whichone score amber`: AmbER's retrieval scores of a prediction file.


@click.command("amber")
@click.argument("sets", type=click.Path())
@click.argument("predictions", type=click.Path())
@k_option("1,5,20")
@on_error_option
@per_query_option
@json_option
def score_amber_command(
    sets: str,
    predictions: str,
    depths: tuple[int, ...],
    on_error: Any,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score PREDICTIONS for the AmbER sets in SETS, in percent as the paper prints them.

    PREDICTIONS: the released form, KILT's, a TREC run, or a run folder.

    \b
    whichone score amber qa/amber_sets.jsonl predictions.jsonl -k 1,5,20 --json
    """
    from msgspec import to_builtins

    from whichone.cli.printing import emit_json, emit_table, write_rows
    from whichone.papers.amber.amber_scores import evaluate_amber

    result = evaluate_amber(sets, predictions, depths, on_error)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    for skipped in result.skipped:
        click.echo(f"skipped: {skipped}", err=True)
    if per_query:
        write_rows(per_query, result.rows)
    scores = {str(k): to_builtins(value) for k, value in result.scores.items()}
    if as_json:
        emit_json(scores)
    else:
        emit_table([{"k": int(k), **values} for k, values in scores.items()])
