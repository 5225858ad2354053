"""`whichone train retriever`: make an encoder better at telling namesakes apart."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import Words, json_option, seed_option
from whichone.errors import UsageError


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="SOURCE... OUT")
@click.option(
    "--checkpoint", required=True, help="A sentence-transformers folder or name to start from."
)
@click.option(
    "--preset", default="default", show_default=True, help="default, eq-finetune or eq-scratch."
)
@click.option(
    "--negatives",
    type=Words(),
    default="bm25,namesake",
    show_default=True,
    help="Kinds of wrong passages, or none.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "only-questions", "only-passages"]),
    default="both",
    show_default=True,
)
@click.option(
    "--held-out", default=0.2, show_default=True, help="Share of names that are never seen."
)
@click.option(
    "--test",
    multiple=True,
    type=click.Path(),
    help="A benchmark whose names must not be learned from.",
)
@click.option(
    "--drop-leaks", is_flag=True, help="Leave out examples whose names stand in the test data."
)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens a text may have.")
@click.option("--hard", type=int, help="Wrong passages of each kind an example brings.")
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    places: tuple[str, ...],
    checkpoint: str,
    preset: str,
    negatives: tuple[str, ...],
    mode: str,
    held_out: float,
    test: tuple[str, ...],
    drop_leaks: bool,
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Train a bi-encoder on benchmarks or example files (SOURCE) into the folder OUT.

    Wrong passages come from the batch, from BM25, and from the other bearers of the name. Stopped and
    started again it goes on from its last checkpoint. OUT/best is a sentence-transformers folder.

    \b
    whichone train retriever BENCH OUT --checkpoint all-MiniLM-L6-v2
    """
    from whichone.cli.output import emit_json
    from whichone.training.retriever import train_retriever
    from whichone.training.settings import preset as settings_of

    *sources, out = places
    if not sources:
        raise UsageError(
            "sources first, then the folder to write", hint="whichone train retriever SOURCE... OUT"
        )
    kinds = () if negatives == ("none",) else negatives
    settings = settings_of(preset, kinds=kinds, mode=mode, seed=seed, **changes)
    trained = train_retriever(
        sources,
        out,
        checkpoint=checkpoint,
        settings=settings,
        held_out=held_out,
        test=test,
        drop_leaks=drop_leaks,
        device=device,
    )
    if as_json:
        emit_json(trained)
        return
    click.echo(
        f"{out}: {trained.epochs} epochs, {trained.steps} steps, loss {trained.losses[-1]:.4f}, "
        f"held-out names {max(trained.held_out, default=float('nan')):.3f}"
    )
