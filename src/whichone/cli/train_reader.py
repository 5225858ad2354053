"""`whichone train reader`: readers on KILT-format data, by the papers' presets."""

from __future__ import annotations

from typing import Any, Literal

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option, seed_option
from whichone.cli.training_options import data_options, plan_of


@click.command()
@makes("places", decides=False)
@click.option(
    "--kind", type=click.Choice(["extractive", "seq2seq", "claims", "dpr"]), required=True
)
@click.option(
    "--checkpoint",
    required=True,
    help="RoBERTa-large, BART-base and BERT-base in AmbER; any HuggingFace folder or name.",
)
@click.option(
    "--context",
    type=click.Choice(["none", "gold", "retrieved"]),
    help="seq2seq: passages before the question, for every task (BART, T5, BART + DPR); "
    "without it one passage at a time, wrong ones as none (AmbER).",
)
@click.option(
    "--depth", default=3, show_default=True, help="With --context: at most so many passages."
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(),
    help="With --context retrieved: a run over a SOURCE; BM25 where there is none.",
)
@click.option(
    "--prefix", default="", help="seq2seq: text before every input; {task} is the task's name."
)
@click.option("--preset", default="amber-reader", show_default=True)
@data_options
@click.option(
    "--negatives",
    type=click.Choice(["bm25", "tfidf", "namesake", "kilt"]),
    default="bm25",
    show_default=True,
    help="Whose best wrong page is shown as one without an answer; AmbER's paper: tfidf; KILT's claims: "
    "kilt, BM25's and another passage of the gold pages.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Learn this task only; the reader then answers no other.",
)
@click.option("--base", help="dpr: the BERT folder that a file of DPR's own belongs to.")
@click.option("--hard", type=int, help="dpr: wrong passages a question is shown.")
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens a text may have.")
@click.option(
    "--per-source",
    type=int,
    help="Draw so many examples of each SOURCE an epoch, a batch of one, in turn.",
)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def command(
    kind: Literal["extractive", "seq2seq", "claims", "dpr"],
    checkpoint: str,
    context: Literal["none", "gold", "retrieved"] | None,
    depth: int,
    runs: tuple[str, ...],
    prefix: str,
    preset: str,
    base: str | None,
    negatives: Literal["bm25", "tfidf", "namesake", "kilt"],
    tasks: tuple[str, ...],
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Train a reader on SOURCEs into the folder OUT; OUT/model is a HuggingFace checkpoint.

    Each query teaches its gold passage, and the best wrong page's passage as one without an answer
    ("none", NEUTRAL). With --context all tasks are learned as text to be written: question answering,
    slot filling, fact checking, entity linking and dialogue. Stopped and started again it goes on from its last checkpoint.

    \b
    whichone train reader BENCH OUT --kind claims --checkpoint bert-base-uncased
    whichone train reader BENCH OUT --kind seq2seq --task sf --negatives tfidf --held-out 0 --checkpoint facebook/bart-base
    whichone train reader BENCH OUT --kind dpr --checkpoint bert-base-uncased
    whichone train reader BENCH OUT --kind seq2seq --context none --checkpoint FOLDER
    whichone train reader A B OUT --kind seq2seq --context retrieved --depth 3 --run RUN --checkpoint FOLDER
    """
    from whichone.cli.output import emit_json
    from whichone.training.train_readers import Shown, train_reader
    from whichone.training.trainer import preset as settings_of

    plan, out = plan_of(changes)
    if kind == "dpr":
        from whichone.cli.training_options import tell
        from whichone.training.train_readers import train_dpr_reader

        chosen = "dpr-reader" if preset == "amber-reader" else preset
        created = train_dpr_reader(
            plan,
            out,
            checkpoint=checkpoint,
            base=base,
            settings=settings_of(chosen, seed=seed, **changes),
            device=device,
        )
        tell(out, created, as_json, model="model")
        return
    settings = settings_of(preset, seed=seed, **changes)
    trained = train_reader(
        plan,
        out,
        kind=kind,
        checkpoint=checkpoint,
        settings=settings,
        negatives=negatives,
        tasks=tasks,
        shown=Shown(context=context, depth=depth, runs=runs, prefix=prefix),
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
