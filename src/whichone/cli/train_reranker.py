"""`whichone train reranker`: a cross-encoder that puts the right bearer first."""

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
    help="What to start from: a cross-encoder, or any encoder, which gets a new head.",
)
@click.option("--preset", default="re-ranker", show_default=True)
@click.option(
    "--others", type=int, help="Right passages of the batch's others shown as wrong. [default: 3]"
)
@training_options
def command(
    checkpoint: str,
    preset: str,
    device: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Train a cross-encoder on SOURCEs into the folder OUT; OUT/best is what re-ranking takes.

    Sources, wrong passages, splits and the refusal of leaks are those of `train retriever`.

    \b
    whichone train reranker BENCH OUT --checkpoint all-MiniLM-L6-v2
    whichone retrieve BENCH RERANKED --retriever rerank -o run=RUN -o model=OUT/best
    """
    from whichone.training.train_encoders import Start, train_reranker

    plan, out = plan_of(values)
    trained = train_reranker(
        plan,
        out,
        start=Start(checkpoint),
        settings=settings_of(preset, values),
        device=device,
    )
    tell(out, trained, as_json)
