"""The commands of KILT."""

import pprint
from typing import Annotated, Any

import click
from msgspec.structs import replace

from whichone.cli.click_options import corpus_option, gold_outside_option, own_options
from whichone.cli.printing import emit, emit_json, emit_table, makes
from whichone.errors import GateFailed, UsageError, WhichoneError
from whichone.files.lines import write_rows
from whichone.options import Json, Option, PerQuery
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt, read_kilt, summary
from whichone.papers.kilt.kilt_scoring import KiltSettings
from whichone.papers.kilt.map_task import MapPlan, discarded_by_split


@click.command("kilt")
@click.argument("files", nargs=-1, type=click.Path())
@own_options
def score_kilt_command(
    files: tuple[str, ...],
    *,
    gold: Annotated[str | None, Option("The gold file, where it is named.", kind="path")] = None,
    guess: Annotated[str | None, Option("The predictions, where they are named.", kind="path")] = None,
    settings: KiltSettings,
    per_query: PerQuery = None,
    as_json: Json = False,
) -> None:
    """Score predictions against gold, both in KILT's JSON lines (also .gz, .bz2, .zst).

    FILES are two, in the order of the official programs: the predictions, then the gold. Files that
    look swapped are refused; --gold and --guess name them in any order, and what looks swapped is a warning then.

    \b
    whichone score kilt predictions.jsonl nq-dev-kilt.jsonl --json
    whichone score kilt --gold gold.jsonl --guess guess.jsonl -k 1,5
    whichone score kilt guess.jsonl nq-test_without_answers-kilt.jsonl --check
    whichone score kilt guess.jsonl gold.jsonl --official
    """
    from whichone.papers.kilt.evaluate import check_order, evaluate, swapped
    from whichone.papers.kilt.kilt_scoring import headline

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
    if not settings.rank_keys:
        raise UsageError("--rank-keys is empty", hint="such as --rank-keys wikipedia_id")
    if settings.official:
        _print_official(str(gold), str(guess), settings)
        return
    marked = headline(settings.dataset or None, gold)
    result = evaluate(gold, guess, settings)
    for finding in result.findings:
        records = f"{finding.count:,} records: {', '.join(finding.examples)}"
        click.echo(f"warning: {finding.message} ({records})", err=True)
    for problem in result.problems[:5]:
        named = f" (id {problem.id})" if problem.id is not None else ""
        click.echo(f"skipped: {problem.file}:{problem.line}: {problem.reason}{named}", err=True)
    if len(result.problems) > 5:
        click.echo(f"skipped: {len(result.problems):,} in all; --json lists them", err=True)
    if per_query:
        write_rows(per_query, result.rows())
    document = result.document(marked)
    if settings.check:
        summary = {name: document[name] for name in ("records", "warnings", "skipped")}
        if as_json:
            emit_json(summary)
        elif summary["warnings"]:
            emit_table([{"code": w["code"], "records": w["count"]} for w in summary["warnings"]])
        if odd := len(summary["warnings"]) + summary["skipped"]["count"]:
            raise GateFailed(f"{odd} kinds of things in the predictions need a look")
        click.echo("nothing odd in the predictions", err=True)
    elif as_json:
        emit_json(document)
    else:
        marks = (document["headline"] or {}).values()
        for part in ("downstream", "kilt", "retrieval"):
            if (scores := document[part]) is None:
                click.echo(f"{part}: not scored", err=True)
                continue
            whose = {name: "the paper's" if name in marks else "" for name in scores}
            rows = [{"metric": name, "value": value, "": whose[name]} for name, value in scores.items()]
            emit_table(rows, title=part)


def _print_official(gold: str, guess: str, settings: KiltSettings) -> None:
    """The dictionary that the official program prints; 1 where it would stop with an error."""
    from whichone.papers.kilt.evaluate import evaluate

    alone, workers = settings.only == "retrieval", settings.workers
    settings = replace(settings, check=False, on_error="fail") if alone else KiltSettings(ks=(1, 5))
    try:
        result = evaluate(gold, guess, settings, rules="published", workers=workers)
    except WhichoneError as error:
        raise GateFailed(error.message, where=error.where, hint=error.hint) from error
    odd = {finding.code: finding.count for finding in result.findings}
    size = result.records["gold"]
    if more := odd.get("extra_prediction"):
        click.echo(f"WARNING: DIFFERENT SIZE gold: {size} guess: {size + more}")
    if (scores := result.retrieval) is None or (alone and "no_provenance" in odd):
        raise GateFailed("a prediction has no provenance: the official program stops", where=guess)
    document: dict[str, Any] = scores
    if not alone:
        retrieval = {name: scores[name] for name in ("Rprec", "recall@5")}
        document = {"downstream": result.downstream, "kilt": result.kilt, "retrieval": retrieval}
    click.echo(pprint.pformat(document, indent=4))


@click.command()
@makes("bench")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.argument("bench", type=click.Path())
@own_options
@gold_outside_option
@corpus_option
def import_kilt_command(
    files: tuple[str, ...],
    bench: str,
    *,
    plan: KiltPlan,
    dry_run: Annotated[bool, Option("Read and check everything, write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Make a benchmark BENCH of KILT FILES; `whichone export BENCH OUT --format kilt` gives them back.

    Without a corpus it can be scored, not searched. With one, each query says whose page its gold
    is and whether another entity shares the name.

    \b
    whichone import kilt nq-dev-kilt.jsonl BENCH --knowledge KB
    whichone import kilt triviaqa-dev_id-kilt.jsonl BENCH --originals triviaqa-unfiltered.tar.gz
    whichone import kilt my-task.jsonl BENCH --task qa --knowledge KB --dry-run
    """
    if dry_run:
        read, corpus = read_kilt(files, plan)
        document = {**summary(read, corpus), "problems": corpus.problems}
        document["bad_lines"] = [str(error) for part in read for error in part.bad]
    else:
        created = import_kilt(files, bench, plan)
        document = {"benchmark": created.id, **created.folder.manifest.counts}
    emit(document, as_json)


@click.command()
@makes("out", plain=True)
@click.argument("tasks", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.argument("base", metavar="KB", type=click.Path(exists=True))
@click.argument("out", type=click.Path())
@own_options
def map_command(
    tasks: tuple[str, ...],
    base: str,
    out: str,
    *,
    plan: MapPlan,
    figure: Annotated[str | None, Option("Draw Figure 5: .svg, .pdf, .png.", kind="path")] = None,
    as_json: Json = False,
) -> None:
    """Map the evidence of TASKS onto the knowledge base KB, as KILT records in OUT.

    A task is JSON lines: input, answer and evidence (a text, or a text with the title or address of
    its page); or KILT's shape with `text` in its provenance. OUT is a .jsonl file, or a folder for
    several tasks. Beside it lie NAME.mapping.json (counts, BLEU) and NAME.dropped.jsonl.

    \b
    whichone map my-task.jsonl KB mapped.jsonl
    whichone import kilt mapped.jsonl BENCH --task qa --knowledge KB --dry-run
    whichone map nq-dev-kilt.jsonl NEW_KB nq-dev-new.jsonl --from KB
    whichone map hotpot_dev_distractor_v1.json KB hotpotqa-dev.jsonl --original hotpotqa
    """
    from whichone.papers.kilt.kilt_file_tables import map_tasks

    accounts = map_tasks(tasks, base, out, plan, figure)
    if as_json:
        emit_json(
            {"tasks": [account.document() for account in accounts], "splits": discarded_by_split(accounts)}
        )
        return
    shown = ("file", "split", "records", "kept", "discarded", "outputs_dropped", "pages_not_found")
    emit_table([{key: a.document()[key] for key in shown} for a in accounts])


@click.command("kilt-tables")
@makes("out", plain=True)
@click.argument("gold", type=click.Path(exists=True, file_okay=False))
@click.argument("systems", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.argument("out", type=click.Path())
@own_options
def score_kilt_tables_command(
    gold: str, systems: tuple[str, ...], out: str, *, as_json: Json = False
) -> None:
    """Tables 2 to 5 and 7 to 17 of the KILT paper for SYSTEMS, as a page OUT.html.

    GOLD is a folder of KILT files, each system a folder of prediction files with the same names
    (nq-dev-kilt.jsonl). A system.toml beside them may give name, kind, parameters and index.

    \b
    whichone score kilt-tables gold predictions/bart predictions/rag kilt.html
    """
    from whichone.papers.kilt.kilt_file_tables import kilt_report

    if not out.endswith((".html", ".htm")):
        raise UsageError("the page to write comes last and ends in .html", where=out)
    written = kilt_report(gold, systems, out)
    emit(
        {"written": [str(path) for path in written]}, as_json, f"{out} ({len(written) - 1} tables beside it)"
    )
