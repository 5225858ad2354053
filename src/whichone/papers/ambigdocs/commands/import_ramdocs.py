"""`whichone import ramdocs`: AmbigDocs questions among noise and misinformation."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, gold_outside_option, json_option


@click.command()
@makes("benchmark")
@click.argument("file", type=click.Path(exists=True))
@click.argument("benchmark", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Read and check the file, write nothing.")
@gold_outside_option
@json_option
@corpus_option
def command(file: str, benchmark: str, dry_run: bool, as_json: bool) -> None:
    """Import a RAMDocs FILE (JSON lines) into BENCHMARK.

    Its documents have no titles: a "correct" document belongs to the bearer whose gold answer it
    has, any other document to none.

    \b
    whichone import ramdocs RAMDocs_test.jsonl BENCH
    """
    from whichone.cli.output import emit_benchmark, emit_json
    from whichone.papers.ambigdocs.ramdocs import import_ramdocs
    from whichone.progress import talk

    created, counts = import_ramdocs(file, None if dry_run else benchmark)
    if created is None:
        emit_json(counts)
        return
    talk(f"{counts['bearers_without_document']} bearers have no document of their own")
    emit_benchmark(created, as_json)
