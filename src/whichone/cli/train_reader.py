"""`whichone train reader`: readers on KILT-format data, by the papers' presets."""

from __future__ import annotations

from typing import Any, Literal

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, seed_option
from whichone.errors import UsageError


@click.command()
@makes("places", decides=False)
@click.argument("places", nargs=-1, required=True, metavar="BENCH... OUT")
@click.option("--kind", type=click.Choice(["extractive", "seq2seq", "claims"]), required=True)
@click.option(
    "--checkpoint",
    required=True,
    help="RoBERTa-large, BART-base and BERT-base in AmbER; any HuggingFace folder or name.",
)
@click.option("--preset", default="amber-reader", show_default=True)
@click.option(
    "--held-out",
    default=0.2,
    show_default=True,
    help="Share of names that are never seen; 0 learns from all.",
)
@click.option(
    "--negatives",
    type=click.Choice(["bm25", "tfidf", "namesake"]),
    default="bm25",
    show_default=True,
    help="Whose best wrong page is shown as one without an answer; AmbER's paper: tfidf.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Learn this task only (qa or sf; fc); the reader then answers no other.",
)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens a text may have.")
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    places: tuple[str, ...],
    kind: Literal["extractive", "seq2seq", "claims"],
    checkpoint: str,
    preset: str,
    held_out: float,
    negatives: Literal["bm25", "tfidf", "namesake"],
    tasks: tuple[str, ...],
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Train a reader on benchmarks into the folder OUT; OUT/model is a HuggingFace checkpoint.

    Each query teaches its gold passage, and the best wrong page's passage as one without an answer
    ("none", NEUTRAL). Stopped and started again it goes on from its last checkpoint.

    \b
    whichone train reader BENCH OUT --kind claims --checkpoint bert-base-uncased
    whichone train reader BENCH OUT --kind seq2seq --task sf --negatives tfidf --held-out 0 --checkpoint facebook/bart-base
    """
    from whichone.cli.output import emit_json
    from whichone.training.reader import train_reader
    from whichone.training.settings import preset as settings_of

    *sources, out = places
    if not sources:
        raise UsageError(
            "benchmarks first, then the folder to write", hint="whichone train reader BENCH... OUT"
        )
    settings = settings_of(preset, seed=seed, **changes)
    trained = train_reader(
        sources,
        out,
        kind=kind,
        checkpoint=checkpoint,
        settings=settings,
        held_out=held_out,
        negatives=negatives,
        tasks=tasks,
        device=device,
    )
    if as_json:
        emit_json(
            {
                "out": out,
                "epochs": trained.epochs,
                "steps": trained.steps,
                "losses": trained.losses,
            }
        )
    else:
        click.echo(
            f"{out}/model: {trained.epochs} epochs, {trained.steps} steps,"
            f" loss {trained.losses[-1]:.4f}"
        )
