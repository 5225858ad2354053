"""`whichone train retriever` and `reranker`: from data and a checkpoint to a model that tells namesakes apart."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.progress import talk
from whichone.records import grouped
from whichone.retrieval.dense.dpr import RELATIONS, ROUTES, learned_routes
from whichone.training.examples import Example
from whichone.training.trainer import Start, Trained, TrainingSettings, begin, save_model, write_account
from whichone.training.training_data import LearningPlan, training_data

if TYPE_CHECKING:
    from whichone.training.encoder_trainings import EncoderTraining

_Kind = Literal["dense", "late", "sparse"]


def train_retriever(
    plan: LearningPlan,
    out: str | Path,
    *,
    start: Start,
    settings: TrainingSettings,
    kind: _Kind,
    per_relation: bool = False,
    device: str | None = None,
) -> Trained:
    """A bi-encoder, or a late-interaction or learned sparse model, of the same examples.

    `training.json` names what is never learned from; `OUT/best` is the model.
    """
    if per_relation and (kind != "dense" or settings.mode != "only-questions"):
        raise UsageError(
            "an encoder for each relation on one index leaves the passages as they are",
            hint="add --mode only-questions, which a dense model has",
        )
    if kind != "dense" and (settings.mode != "both" or start.passages or start.base):
        raise UsageError(
            f"a {kind} model is one model for questions and passages",
            hint="leave out --mode, --per, --passage-checkpoint and --base",
        )
    return _trained(kind, plan, out, start, settings, device, per_relation=per_relation)


def train_reranker(
    plan: LearningPlan,
    out: str | Path,
    *,
    start: Start,
    settings: TrainingSettings,
    device: str | None = None,
) -> Trained:
    """A cross-encoder; `OUT/best` is what `retrieve --retriever rerank -o model=` takes."""
    return _trained("cross", plan, out, start, settings, device)


def _trained(
    kind: _Kind | Literal["cross"],
    plan: LearningPlan,
    out: str | Path,
    start: Start,
    settings: TrainingSettings,
    device: str | None,
    *,
    per_relation: bool = False,
) -> Trained:
    folder, device = begin(out, device, start)
    from whichone.training import encoder_trainings as made

    data = training_data(plan, settings, folder / "sources")
    place = folder / "joint" if per_relation else folder
    classes: dict[str, type[EncoderTraining]] = {
        "dense": made.BiEncoderTraining,
        "late": made.LateTraining,
        "sparse": made.SparseTraining,
        "cross": made.CrossEncoderTraining,
    }
    training = classes[kind](start, data.learn, data.watch, place, settings, device=device)
    trained = training.run()
    description: dict[str, Any] = {"kind": kind}
    if per_relation:
        description["relations"] = train_per_relation(settings, data.learn, data.watch, folder, start, device)
    account = {
        "start": start,
        "identity": training.identity,
        **msgspec.structs.asdict(trained),
        **description,
    }
    write_account(folder, account, trained, data.learn, data.taken, data.never_seen)
    return trained


# A question encoder for each relation beside the joint one, all on one fixed index.
# EntityQuestions, section 5: with a passage encoder that stays as it is, specialised question encoders
# come near to BM25. The passages' vectors are made once and asked by all of them.


LEAST_WATCHED = 20  # Held-out examples of a relation at least; by fewer its training is not stopped early


def train_per_relation(
    settings: TrainingSettings,
    learn: Sequence[Example],
    watch: Sequence[Example],
    folder: Path,
    start: Start,
    device: str | None,
) -> dict[str, Any]:
    """Train them into `folder/relations`, and put all together as `folder/best`; what each came to."""
    from whichone.training.encoder_trainings import BiEncoderTraining

    by_relation = grouped((example.relation, example) for example in learn)
    by_relation.pop("", None)
    chosen = {r: held for r, held in by_relation.items() if len(held) >= settings.batch}
    if few := sorted(set(by_relation) - set(chosen)):
        talk(f"too few examples for an encoder of their own, left to the joint one: {', '.join(few)}")
    if not chosen:
        raise BadInput(
            f"no relation has {settings.batch} examples",
            hint="a smaller --batch, or data whose questions have a relation",
        )
    description: dict[str, Any] = {}
    for relation, examples in sorted(chosen.items()):
        here = folder / RELATIONS / folder_name(relation)
        held_out = [e for e in watch if e.relation == relation]
        held_out = held_out if len(held_out) >= LEAST_WATCHED else []
        talk(f"{relation}: {len(examples)} examples, {len(held_out)} to stop by")
        there = {n.kind for e in examples for n in e.negatives}  # kinds of wrong passages that it has
        kinds = tuple(kind for kind in settings.kinds if kind in there or "given" in there)
        fitting = msgspec.structs.replace(settings, kinds=kinds)
        training = BiEncoderTraining(start, examples, held_out, here, fitting, device=device)
        training.keeps = ("questions",)
        trained = training.run()
        kept = {name: getattr(trained, name) for name in ("steps", "losses", "held_out")}
        description[relation] = {"examples": len(examples), **kept}
    save_model(partial(_assemble, folder, learn, sorted(chosen)), folder / "best")
    return description


def folder_name(relation: str) -> str:
    """A relation as a folder's name: `P19`, `place of birth`."""
    return re.sub(r"[^\w .-]", "_", relation).strip(" .") or "_"


def _assemble(folder: Path, learn: Sequence[Example], relations: Sequence[str], best: Path) -> None:
    """The fixed passages, the joint questions, each relation's, and how questions find them."""
    _linked(folder / "joint" / "best", best)
    for name in map(folder_name, relations):
        _linked(folder / RELATIONS / name / "best" / "questions", best / RELATIONS / name)
    asked = [(e.question, e.name, folder_name(e.relation)) for e in learn if e.relation in relations]
    learned_routes(asked).save(best / ROUTES)


def _linked(source: Path, target: Path) -> None:
    """The same files in another place, without taking room twice where the disk can do that."""

    def link(a: str, b: str) -> None:
        try:
            os.link(a, b)
        except OSError:
            shutil.copy2(a, b)

    shutil.copytree(source, target, copy_function=link)
