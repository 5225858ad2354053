"""`whichone build amber`: AmbER sets from a knowledge base."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import Words, corpus_option, engine_options, json_option, memory_option
from whichone.errors import UsageError


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
def command(
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
    from typing import Any, cast

    from whichone.cli.output import emit_json, emit_table
    from whichone.corpus.cut import Cut
    from whichone.papers.amber.build import explain_in
    from whichone.papers.amber.builtin import build_collections
    from whichone.papers.amber.collection import load_collection
    from whichone.papers.amber.figure import print_figure
    from whichone.papers.amber.instantiate import TASKS
    from whichone.papers.amber.rules import rules_called
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
