"""`whichone score kilt`: the official KILT scores of a prediction file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whichone.cli.options import (
    Words,
    json_option,
    k_option,
    on_error_option,
    per_query_option,
)
from whichone.errors import GateFailed, UsageError

if TYPE_CHECKING:
    from whichone.papers.kilt.scores.evaluate import Evaluation


@click.command("kilt")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--gold", type=click.Path(), help="The gold file, where it is named.")
@click.option("--guess", type=click.Path(), help="The predictions, where they are named.")
@k_option("1,5,10,20", "--ks")
@click.option(
    "--rank-keys",
    type=Words(),
    default="wikipedia_id",
    show_default=True,
    help="Provenance fields that make a result: wikipedia_id,start_paragraph_id.",
)
@click.option(
    "--rules",
    type=click.Choice(["default", "published"]),
    default="default",
    show_default=True,
    help="published: the official programs to the letter; docs/kilt-scores.md lists what differs.",
)
@click.option(
    "--only",
    type=click.Choice(["downstream", "retrieval"]),
    default=None,
    help="Score one of the two: answers and KILT scores, or rankings.",
)
@click.option(
    "--dataset", default=None, help="Such as nq; recognised by the gold file's name if it can be."
)
@click.option(
    "--check",
    is_flag=True,
    help="Only check the predictions, for a test file without answers too; exit 1 if anything is odd.",
)
@click.option(
    "--workers", type=click.IntRange(1), default=None, help="Processes; by itself 1 to 8."
)
@on_error_option
@per_query_option
@json_option
def command(
    files: tuple[str, ...],
    gold: str | None,
    guess: str | None,
    depths: tuple[int, ...],
    rank_keys: tuple[str, ...],
    rules: Any,
    only: Any,
    dataset: str | None,
    check: bool,
    workers: int | None,
    on_error: Any,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score predictions against gold, both in KILT's JSON lines (also .gz, .bz2, .zst).

    FILES are two, in the order of the official programs: the predictions, then the gold. Files that
    look swapped are refused; --gold and --guess name them in any order, and what looks swapped is a warning then.

    \b
    whichone score kilt predictions.jsonl nq-dev-kilt.jsonl --json
    whichone score kilt --gold gold.jsonl --guess guess.jsonl -k 1,5
    whichone score kilt guess.jsonl nq-test_without_answers-kilt.jsonl --check
    """
    from whichone.papers.kilt.scores.evaluate import evaluate
    from whichone.papers.kilt.scores.headline import headline, headline_of_file
    from whichone.papers.kilt.scores.order import check_order, swapped
    from whichone.papers.kilt.scores.scoring import PARTS, Settings

    if files and not (gold or guess) and len(files) == 2:
        guess, gold = files
        check_order(guess, gold)
    elif files or not (gold and guess):
        raise UsageError(
            "two files are scored: the predictions, then the gold",
            hint="whichone score kilt GUESS.jsonl GOLD.jsonl, or --gold GOLD.jsonl --guess GUESS.jsonl",
        )
    elif reason := swapped(guess, gold):
        click.echo(f"warning: {reason}", err=True)
    if not rank_keys:
        raise UsageError("--rank-keys is empty", hint="such as --rank-keys wikipedia_id")
    marked = headline(dataset) if dataset else headline_of_file(gold)
    settings = Settings(depths, rank_keys, (only,) if only else PARTS, without_gold=check)
    result = evaluate(gold, guess, settings, rules=rules, on_error=on_error, workers=workers)
    _say(result)
    if per_query:
        from whichone.cli.output import write_rows

        write_rows(per_query, result.rows())
    document = result.document(marked)
    if check:
        _print_check(document, as_json)
    else:
        _print_scores(document, as_json)


def _say(result: Evaluation) -> None:
    for finding in result.findings:
        examples = ", ".join(finding.examples)
        click.echo(f"warning: {finding.message} ({finding.count:,} records: {examples})", err=True)
    for problem in result.problems[:5]:
        named = f" (id {problem.id})" if problem.id is not None else ""
        click.echo(f"skipped: {problem.file}:{problem.line}: {problem.reason}{named}", err=True)
    if len(result.problems) > 5:
        click.echo(f"skipped: {len(result.problems):,} in all; --json lists them", err=True)


def _print_check(document: dict[str, Any], as_json: bool) -> None:
    from whichone.cli.output import emit_json, emit_table

    summary = {name: document[name] for name in ("records", "warnings", "skipped")}
    if as_json:
        emit_json(summary)
    elif summary["warnings"]:
        emit_table([{"code": w["code"], "records": w["count"]} for w in summary["warnings"]])
    odd = len(summary["warnings"]) + summary["skipped"]["count"]
    if odd:
        raise GateFailed(f"{odd} kinds of things in the predictions need a look")
    click.echo("nothing odd in the predictions", err=True)


def _print_scores(document: dict[str, Any], as_json: bool) -> None:
    from whichone.cli.output import emit_json, emit_table

    if as_json:
        emit_json(document)
        return
    marks = (document["headline"] or {}).values()
    for part in ("downstream", "kilt", "retrieval"):
        scores = document[part]
        if scores is None:
            click.echo(f"{part}: not scored", err=True)
            continue
        emit_table(
            [
                {"metric": name, "value": value, "": "the paper's" if name in marks else ""}
                for name, value in scores.items()
            ],
            title=part,
        )
