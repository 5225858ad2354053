"""`whichone train retriever`: make an encoder better at telling namesakes apart."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.again import makes
from whichone.cli.training_options import plan_of, settings_of, tell, training_options


@click.command()
@makes("places", decides=False)
@click.option(
    "--checkpoint",
    required=True,
    help="What to start from: a sentence-transformers or DPR folder, a package, a name, a DPR file.",
)
@click.option("--passage-checkpoint", help="The passage encoder, where it is another one (DPR).")
@click.option("--base", help="The BERT folder that a checkpoint file of DPR's own belongs to.")
@click.option(
    "--preset",
    default="default",
    show_default=True,
    help="default, dpr, eq-finetune or eq-scratch.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "only-questions", "only-passages"]),
    default="both",
    show_default=True,
    help="Which encoders learn.",
)
@click.option(
    "--kind",
    type=click.Choice(["dense", "late", "sparse"]),
    default="dense",
    show_default=True,
    help="One vector a passage, one a token (ColBERT), or weights of words (SPLADE).",
)
@click.option(
    "--size", type=int, help="late: numbers a token has, where it starts anew. [default: 128]"
)
@click.option("--flops", type=float, help="sparse: how much many words cost. [default: 0.0003]")
@click.option(
    "--per",
    type=click.Choice(["relation"]),
    help="With --mode only-questions: a question encoder for each relation beside the joint one.",
)
@training_options
def command(
    checkpoint: str,
    passage_checkpoint: str | None,
    base: str | None,
    kind: Any,
    preset: str,
    per: str | None,
    device: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Train a retriever on SOURCEs into the folder OUT; OUT/best is what `retrieve` takes.

    A SOURCE is a benchmark (its training split, where it has one), a knowledge base, or a file: DPR's
    json, KILT's jsonl, EntityQuestions' json, examples of a training. Wrong passages come from the
    batch, from BM25, and from the other bearers of the name. Stopped and started again it goes on
    from its last checkpoint.

    \b
    whichone train retriever BENCH OUT --checkpoint all-MiniLM-L6-v2
    whichone train retriever nq-train-kilt.jsonl OUT --knowledge KB --checkpoint all-MiniLM-L6-v2
    whichone train retriever BENCH OUT --checkpoint FOLDER --mode only-questions --per relation
    whichone train retriever nq.json OUT --checkpoint dpr.cp --base BERT --preset eq-finetune
    whichone train retriever BENCH OUT --checkpoint bert-base-uncased --preset dpr
    whichone retrieve BENCH RUN --retriever dense --encoder OUT/best
    whichone train retriever BENCH OUT --kind late --checkpoint all-MiniLM-L6-v2
    whichone retrieve BENCH RUN --retriever late -o model=OUT/best
    """
    from whichone.training.train_encoders import Start, train_retriever

    plan, out = plan_of(values)
    trained = train_retriever(
        plan,
        out,
        start=Start(checkpoint, passage_checkpoint, base),
        settings=settings_of(preset, values),
        kind=kind,
        per_relation=per is not None,
        device=device,
    )
    tell(out, trained, as_json)
