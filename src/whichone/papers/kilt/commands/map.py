"""`whichone map`: a dataset's evidence onto a snapshot."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, on_error_option, seed_option


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
def command(
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

    from whichone.cli.output import emit_json, emit_table
    from whichone.papers.kilt.convert.original import Original
    from whichone.papers.kilt.mapping.map_task import discarded_by_split
    from whichone.papers.kilt.mapping.plan import MapPlan
    from whichone.papers.kilt.report.mapping import map_tasks

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
