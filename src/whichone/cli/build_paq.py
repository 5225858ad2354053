"""`whichone build paq`: a sample of PAQ to train on."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import corpus_option, json_option, memory_option, seed_option


@click.command("paq")
@makes("bench")
@click.argument("metadata", type=click.Path())
@click.argument("passages", type=click.Path())
@click.argument("bench", type=click.Path())
@click.option("--sample", default=100_000, show_default=True, help="How many passages to ask of.")
@click.option("--least", default=3, show_default=True, help="Questions a passage must have.")
@click.option(
    "--distractors", default=100_000, show_default=True, help="Other passages in the corpus."
)
@seed_option
@memory_option
@json_option
@corpus_option
def command(
    metadata: str,
    passages: str,
    bench: str,
    sample: int,
    least: int,
    distractors: int,
    seed: int,
    memory: str,
    as_json: bool,
) -> None:
    """Sample PAQ as the EntityQuestions paper does, over DPR's PASSAGES, into the benchmark BENCH.

    Passages with at least three questions, one question each, split 70/15/15 with no page and no name
    in two parts; `train retriever` learns from the training part.

    \b
    whichone build paq PAQ.metadata.jsonl.gz psgs_w100.tsv BENCH --sample 100000
    whichone train retriever BENCH OUT --checkpoint bert-base-uncased --negatives bm25
    """
    from whichone.benchmarks.open_questions import sample_paq
    from whichone.cli.output import emit_benchmark

    created = sample_paq(
        metadata, passages, bench,
        sample=sample, least=least, distractors=distractors, seed=seed, memory=memory,
    )  # fmt: skip
    emit_benchmark(created, as_json)
