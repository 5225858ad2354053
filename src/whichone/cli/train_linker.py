"""`whichone train linker`: BLINK, a linker of two stages, from hyperlinks."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, seed_option
from whichone.errors import UsageError


@click.command()
@makes("places", decides=False)
@click.argument("places", nargs=-1, required=True, metavar="LINKS... OUT")
@click.option(
    "--corpus",
    required=True,
    type=click.Path(exists=True, file_okay=False),
    help="The corpus whose pages are the entities: title and first passage describe each.",
)
@click.option(
    "--checkpoint", required=True, help="A BERT to start from: bert-large-uncased in the paper."
)
@click.option(
    "--held-out",
    multiple=True,
    type=click.Path(exists=True),
    help="Files of the same kind to watch; the best epoch there is kept.",
)
@click.option("--candidates", default=64, show_default=True, help="Entities for the second stage.")
@click.option("--cross-batch", default=2, show_default=True, help="Mentions a batch of that stage.")
@click.option(
    "--cross-epochs",
    type=click.IntRange(min=1),
    help="Epochs of that stage, which costs as much more as it has candidates. [default: as --epochs]",
)
@click.option(
    "--learn-from-dev",
    is_flag=True,
    help="Learn from files and benchmarks marked dev or test as well; without it they are refused.",
)
@click.option("--preset", default="blink", show_default=True)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    places: tuple[str, ...],
    corpus: str,
    checkpoint: str,
    held_out: tuple[str, ...],
    candidates: int,
    cross_batch: int,
    cross_epochs: int | None,
    learn_from_dev: bool,
    preset: str,
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Train BLINK's two stages on LINKS into the folder OUT; OUT/model is what `--retriever blink` takes.

    LINKS are KILT's entity-linking files, such as those that `export --format kilt-el` writes from the
    hyperlinks of a knowledge base, folders of them, or benchmarks with marked mentions. The bi-encoder learns a mention
    against the other entities of its batch, the cross-encoder against the bi-encoder's best. Stopped and
    started again it goes on from its last checkpoint.

    \b
    whichone export KB links --format kilt-el
    whichone train linker links OUT --corpus CORPUS --checkpoint bert-large-uncased \\
        --held-out links/blink-dev-kilt.jsonl
    whichone retrieve BENCH RUN --retriever blink -o model=OUT/model -o mentions=spacy
    """
    from whichone.cli.output import emit_json
    from whichone.training.train_linker import train_linker
    from whichone.training.trainer import preset as settings_of

    *sources, out = places
    if not sources:
        raise UsageError(
            "files of mentions first, then the folder to write",
            hint="whichone train linker LINKS... OUT",
        )
    trained = train_linker(
        sources,
        out,
        corpus=corpus,
        checkpoint=checkpoint,
        settings=settings_of(preset, seed=seed, **changes),
        held_out=held_out,
        candidates=candidates,
        cross_batch=cross_batch,
        cross_epochs=cross_epochs,
        learn_from_dev=learn_from_dev,
        device=device,
    )
    if as_json:
        stages = {
            name: {"epochs": t.epochs, "steps": t.steps, "losses": t.losses, "held_out": t.held_out}
            for name, t in trained.items()
        }
        emit_json({"out": out, "stages": stages})
        return
    for name, t in trained.items():
        watched = f", held-out mentions {max(t.held_out):.3f}" if t.held_out else ""
        click.echo(f"{out}/{name}: {t.epochs} epochs, loss {t.losses[-1]:.4f}{watched}")
    click.echo(f"{out}/model: --retriever blink -o model={out}/model")
