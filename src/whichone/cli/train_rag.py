"""`whichone train rag`: a question encoder and a generator, together, over a fixed index."""

from __future__ import annotations

from typing import Any, Literal

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, seed_option
from whichone.cli.training_options import data_options, plan_of


@click.command()
@makes("places", decides=False)
@data_options
@click.option("--checkpoint", help="A RAG checkpoint in Hugging Face's format to go on from.")
@click.option("--question-encoder", help="Or DPR's question encoder, or a pair's folder, with ...")
@click.option("--generator", help="... a BART or T5 checkpoint.")
@click.option(
    "--passage-encoder", help="Whose vectors are the index, and stay; the pair's other half."
)
@click.option(
    "--marginal",
    type=click.Choice(["sequence", "token"]),
    help="RAG-Sequence or RAG-Token; else what the checkpoint is, or sequence.",
)
@click.option("--documents", default=5, show_default=True, help="Documents a question.")
@click.option(
    "--reencode",
    type=click.Choice(["step", "epoch", "never"]),
    default="step",
    show_default=True,
    help="How often questions are encoded anew to find their documents.",
)
@click.option("--preset", default="rag", show_default=True)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens of a document with its question.")
@click.option("--per-source", type=int, help="Draw so many examples of each dataset an epoch.")
@click.option("--every", type=int, help="Steps between checkpoints.")
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    checkpoint: str | None,
    question_encoder: str | None,
    generator: str | None,
    passage_encoder: str | None,
    marginal: Literal["sequence", "token"] | None,
    documents: int,
    reencode: Literal["step", "epoch", "never"],
    preset: str,
    device: str | None,
    seed: int,
    as_json: bool,
    **values: Any,
) -> None:
    """Train RAG on SOURCEs into the folder OUT; OUT/model is a RAG checkpoint of Hugging Face's.

    Every question's likelihood is summed over the documents that its encoder finds, so that the
    encoder learns which documents help. The passages' vectors stay as they are.

    \b
    whichone train rag BENCH OUT --question-encoder PAIR --generator BART
    whichone train rag BENCH OUT --checkpoint RAG --passage-encoder FOLDER --marginal token
    whichone read BENCH ANSWERS --reader rag --passages none -o model=OUT/model
    """
    from whichone.cli.training_options import tell
    from whichone.training.train_rag import RagOptions, RagStart, train_rag
    from whichone.training.trainer import preset as settings_of

    plan, out = plan_of(values)
    trained = train_rag(
        plan,
        out,
        start=RagStart(
            checkpoint=checkpoint,
            question_encoder=question_encoder,
            generator=generator,
            passage_encoder=passage_encoder,
            marginal=marginal,
        ),
        settings=settings_of(preset, seed=seed, **values),
        options=RagOptions(documents=documents, reencode=reencode),
        device=device,
    )
    tell(out, trained, as_json, model="model")
