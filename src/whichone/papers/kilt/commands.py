"""The commands of KILT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whichone.cli.options import (
    Words,
    corpus_option,
    gold_outside_option,
    json_option,
    k_option,
    on_error_option,
    per_query_option,
    seed_option,
)
from whichone.cli.printing import makes
from whichone.errors import GateFailed, UsageError

if TYPE_CHECKING:
    from whichone.papers.kilt.evaluate import Evaluation


# `whichone score kilt`: the official KILT scores of a prediction file.


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
def score_kilt_command(
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
    from whichone.papers.kilt.evaluate import check_order, evaluate, swapped
    from whichone.papers.kilt.kilt_scoring import PARTS, Settings, headline, headline_of_file

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
        from whichone.cli.printing import write_rows

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
    from whichone.cli.printing import emit_json, emit_table

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
    from whichone.cli.printing import emit_json, emit_table

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


# `whichone import kilt`: KILT's published files, or one's own task in its format.


@click.command()
@makes("bench")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.argument("bench", type=click.Path())
@click.option("--dataset", default=None, help="Of all files; else recognised by their names.")
@click.option(
    "--task",
    type=click.Choice(["fc", "el", "sf", "qa", "dialogue"]),
    default=None,
    help="Of files that are none of the eleven datasets.",
)
@click.option("--split", type=click.Choice(["train", "dev", "test"]), default=None)
@click.option("--knowledge", type=click.Path(exists=True), default=None, help="A knowledge base.")
@click.option(
    "--passages", type=click.Path(exists=True), default=None, help="A file of your own passages."
)
@click.option("--page-field", default=None, help="Field of the passages that contains the page id.")
@click.option(
    "--words", default=100, show_default=True, help="Words a passage; 0 keeps pages whole."
)
@click.option(
    "--originals",
    multiple=True,
    type=click.Path(exists=True),
    help="TriviaQA's own files or archive, for its questions.",
)
@click.option("--dry-run", is_flag=True, help="Read and check everything, write nothing.")
@on_error_option
@gold_outside_option
@json_option
@corpus_option
def import_kilt_command(
    files: tuple[str, ...],
    bench: str,
    dataset: str | None,
    task: str | None,
    split: str | None,
    knowledge: str | None,
    passages: str | None,
    page_field: str | None,
    words: int,
    originals: tuple[str, ...],
    dry_run: bool,
    on_error: str,
    as_json: bool,
) -> None:
    """Make a benchmark BENCH of KILT FILES; `whichone export BENCH OUT --format kilt` gives them back.

    Without a corpus it can be scored, not searched. With one, each query says whose page its gold
    is and whether another entity shares the name.

    \b
    whichone import kilt nq-dev-kilt.jsonl BENCH --knowledge KB
    whichone import kilt triviaqa-dev_id-kilt.jsonl BENCH --originals triviaqa-unfiltered.tar.gz
    whichone import kilt my-task.jsonl BENCH --task qa --knowledge KB --dry-run
    """
    from whichone.cli.printing import emit_json, emit_table
    from whichone.corpus.passage_files import PassageFields
    from whichone.papers.kilt.import_kilt import Plan, import_kilt, read_kilt, summary

    plan = Plan(
        dataset=dataset,
        task=task,
        split=split,
        originals=originals,
        knowledge=knowledge,
        passages=passages,
        passage_fields=PassageFields(page=page_field),
        words=words,
        on_error=on_error,
    )
    if dry_run:
        read, corpus = read_kilt(files, plan)
        document = {**summary(read, corpus), "problems": corpus.problems}
        document["bad_lines"] = [str(error) for part in read for error in part.bad]
    else:
        created = import_kilt(files, bench, plan)
        document = {"benchmark": created.id, **created.folder.manifest.counts}
    if as_json:
        emit_json(document)
    else:
        emit_table([{"what": key.replace("_", " "), "": value} for key, value in document.items()])


# `whichone map`: a dataset's evidence onto a snapshot.


@click.command()
@makes("out", plain=True)
@click.argument("tasks", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.argument("base", metavar="KB", type=click.Path(exists=True))
@click.argument("out", type=click.Path())
@click.option(
    "--dataset", default=None, help="One of KILT's eleven; else recognised by the file's name."
)
@click.option(
    "--task", type=click.Choice(["fc", "el", "sf", "qa", "dialogue"]), default=None,
    help="Entity linking (el) maps by page, the others by span.",
)  # fmt: skip
@click.option("--split", type=click.Choice(["train", "dev", "test"]), default=None)
@click.option(
    "--original",
    default=None,
    help="The tasks are the original files of this dataset: fever, nq, hotpotqa, ...",
)
@click.option(
    "--extra",
    multiple=True,
    type=click.Path(exists=True),
    help="With --original: FEVER's wiki-pages, WNED's RawText.",
)
@seed_option
@click.option(
    "--from",
    "old",
    type=click.Path(exists=True),
    default=None,
    help="A KILT file without texts: the knowledge base that its places are of.",
)
@click.option(
    "--rules",
    type=click.Choice(["paper", "published"]),
    default="paper",
    show_default=True,
    help="What the paper says, or what the released program does.",
)
@click.option(
    "--tokenizer", type=click.Choice(["words", "spacy"]), default="words", show_default=True
)
@click.option("--threshold", default=0.5, show_default=True, help="Least BLEU in dev and test.")
@click.option("--figure", type=click.Path(), default=None, help="Draw Figure 5: .svg, .pdf, .png.")
@on_error_option
@json_option
def map_command(
    tasks: tuple[str, ...],
    base: str,
    out: str,
    dataset: str | None,
    task: str | None,
    split: str | None,
    original: str | None,
    extra: tuple[str, ...],
    seed: int,
    old: str | None,
    rules: str,
    tokenizer: str,
    threshold: float,
    figure: str | None,
    on_error: str,
    as_json: bool,
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
    from pathlib import Path

    from whichone.cli.printing import emit_json, emit_table
    from whichone.papers.kilt.evidence_text import Original
    from whichone.papers.kilt.kilt_file_tables import map_tasks
    from whichone.papers.kilt.map_task import MapPlan, discarded_by_split

    plan = MapPlan(
        dataset=dataset,
        task=task,
        split=split,
        rules=rules,  # type: ignore[arg-type]
        tokenizer=tokenizer,
        threshold=threshold,
        on_error=on_error,
        old=old,
    )
    files = Original(
        files=[Path(task) for task in tasks],
        extra=[Path(path) for path in extra],
        split=split or "dev",
        seed=seed,
    )
    accounts = map_tasks(tasks, base, out, plan, figure, (original, files) if original else None)
    if as_json:
        emit_json(
            {
                "tasks": [account.document() for account in accounts],
                "splits": discarded_by_split(accounts),
            }
        )
        return
    shown = ("file", "split", "records", "kept", "discarded", "outputs_dropped", "pages_not_found")
    emit_table([{key: a.document()[key] for key in shown} for a in accounts])


# `whichone score kilt-tables`: the KILT paper's tables over prediction files.


@click.command("kilt-tables")
@makes("out", plain=True)
@click.argument("gold", type=click.Path(exists=True, file_okay=False))
@click.argument("systems", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.argument("out", type=click.Path())
@json_option
def score_kilt_tables_command(gold: str, systems: tuple[str, ...], out: str, as_json: bool) -> None:
    """Tables 2 to 5 and 7 to 17 of the KILT paper for SYSTEMS, as a page OUT.html.

    GOLD is a folder of KILT files, each system a folder of prediction files with the same names
    (nq-dev-kilt.jsonl). A system.toml beside them may give name, kind, parameters and index.

    \b
    whichone score kilt-tables gold predictions/bart predictions/rag kilt.html
    """
    from whichone.cli.printing import emit_json
    from whichone.papers.kilt.kilt_file_tables import kilt_report

    if not out.endswith((".html", ".htm")):
        raise UsageError("the page to write comes last and ends in .html", where=out)
    written = kilt_report(gold, systems, out)
    if as_json:
        emit_json({"written": [str(path) for path in written]})
    else:
        click.echo(f"{out} ({len(written) - 1} tables beside it)")
