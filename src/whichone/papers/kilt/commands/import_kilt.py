"""`whichone import kilt`: KILT's published files, or one's own task in its format."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, gold_outside_option, json_option, on_error_option


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
def command(
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
    from whichone.cli.output import emit_json, emit_table
    from whichone.corpus.passage_files import PassageFields
    from whichone.papers.kilt.import_files import Plan, import_kilt, read_kilt, summary

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
