"""Options that the verbs of training share: data, what must not be learned, how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whichone.cli.options import Words, json_option, seed_option
from whichone.errors import UsageError

if TYPE_CHECKING:
    from whichone.training.trainer import Settings, Trained
    from whichone.training.training_data import Plan

F = TypeVar("F", bound=Callable[..., Any])

_DATA = (
    click.argument("places", nargs=-1, required=True, metavar="SOURCE... OUT"),
    click.option(
        "--passages",
        type=click.Path(),
        help="The corpus of sources that contain none (KILT, EntityQuestions): .jsonl, .tsv, BEIR.",
    ),
    click.option("--knowledge", type=click.Path(), help="Or a knowledge base as their corpus."),
    click.option(
        "--corpus",
        type=click.Path(exists=True),
        help="Or a corpus that exists (`whichone corpus`); one for all sources.",
    ),
    click.option(
        "--held-out",
        default=0.2,
        show_default=True,
        help="Share of names never seen, of a benchmark without a training split.",
    ),
    click.option(
        "--test",
        multiple=True,
        type=click.Path(),
        help="A benchmark whose names must not be learned from.",
    ),
    click.option(
        "--drop-leaks", is_flag=True, help="Leave out examples that share a name with test data."
    ),
    click.option(
        "--disjoint",
        type=click.Choice(["splits", "names", "tokens"]),
        default="splits",
        show_default=True,
        help="What training and test may not share: names, but within a relation in a benchmark's own "
        "splits (splits), names everywhere (names), or no word of a name either (tokens).",
    ),
    click.option(
        "--learn-from-dev",
        is_flag=True,
        help="Learn from records marked dev or test as well; without it they are refused.",
    ),
    click.option(
        "--similar",
        is_flag=True,
        help="Learn from reworded questions (EntityQuestions' FT w/ similar).",
    ),
    click.option(
        "--relation",
        "relations",
        multiple=True,
        help="Of questions that have a relation, learn from this one's alone: P19. Several may be named.",
    ),
)
_TRAINING = (
    click.option(
        "--negatives",
        type=Words(),
        help="Kinds of wrong passages: bm25, namesake, given (DPR's own), or none."
        " [default: bm25,namesake; the preset dpr: bm25]",
    ),
    click.option("--epochs", type=int),
    click.option("--batch", type=int),
    click.option("--learning-rate", type=float),
    click.option("--longest", type=int, help="Tokens a text may have."),
    click.option("--hard", type=int, help="Wrong passages of each kind an example brings."),
    click.option(
        "--per-source",
        type=int,
        help="Draw so many examples of each SOURCE an epoch, a batch of one, in turn.",
    ),
    click.option(
        "--patience", type=int, help="Epochs without gain on held-out names until it stops."
    ),
    click.option(
        "--every",
        type=int,
        help="Steps between checkpoints, beside those at the end of every epoch and at a signal to stop.",
    ),
    click.option("--device", default=None, help="cuda or cpu; cuda where there is one."),
    seed_option,
    json_option,
)


def training_options(function: F) -> F:
    """All of them, in this order in the help."""
    for option in reversed((*_DATA, *_TRAINING)):
        function = option(function)
    return function


def data_options(function: F) -> F:
    """The options of what is learned from alone."""
    for option in reversed(_DATA):
        function = option(function)
    return function


def plan_of(values: dict[str, Any]) -> tuple[Plan, str]:
    """The data that was asked for, and the folder to write; taken out of `values`."""
    from whichone.training.training_data import Corpus, Plan

    *sources, out = values.pop("places")
    if not sources:
        raise UsageError("sources first, then the folder to write", hint="SOURCE... OUT")
    corpus = Corpus(
        passages=values.pop("passages"),
        knowledge=values.pop("knowledge"),
        folder=values.pop("corpus"),
    )
    corpus.check()
    plan = Plan(
        sources=tuple(sources),
        corpus=corpus,
        held_out=values.pop("held_out"),
        test=values.pop("test"),
        drop_leaks=values.pop("drop_leaks"),
        disjoint=values.pop("disjoint"),
        similar=values.pop("similar"),
        learn_from_dev=values.pop("learn_from_dev"),
        relations=values.pop("relations"),
    )
    return plan, out


def settings_of(preset: str, values: dict[str, Any]) -> Settings:
    """The preset's settings with what is left of `values` changed in them."""
    from whichone.training.trainer import preset as named

    negatives = values.pop("negatives")
    kinds = None if not negatives else () if negatives == ("none",) else negatives
    return named(preset, kinds=kinds, **values)


def tell(out: str, trained: Trained, as_json: bool, model: str = "best") -> None:
    import msgspec

    from whichone.cli.output import emit_json

    if as_json:
        emit_json({**msgspec.structs.asdict(trained), "folder": out})
        return
    last = f"loss {trained.losses[-1]:.4f}" if trained.losses else "no epoch was finished"
    watched = f", held-out names {max(trained.held_out):.3f}" if trained.held_out else ""
    click.echo(f"{out}/{model}: {trained.epochs} epochs, {trained.steps} steps, {last}{watched}")
