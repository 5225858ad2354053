"""A question encoder for each relation beside the joint one, all on one fixed index.

EntityQuestions, section 5: with a passage encoder that stays as it is, specialised question encoders
come near to BM25. The passages' vectors are made once and asked by all of them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.progress import talk
from whichone.retrieval.dense.dpr import RELATIONS, ROUTES, learned_routes
from whichone.training.bi_encoder import BiEncoderTraining
from whichone.training.examples import Example
from whichone.training.settings import Settings
from whichone.training.start import Start

LEAST_WATCHED = 20
"""Held-out examples of a relation at least; by fewer its training is not stopped early."""


def train_per_relation(
    joint: BiEncoderTraining,
    learn: Sequence[Example],
    watch: Sequence[Example],
    folder: Path,
    start: Start,
    device: str | None,
) -> dict[str, Any]:
    """Train them into `folder/relations`, and put all together as `folder/best`; what each came to."""
    settings = joint.settings
    by_relation = _by_relation(learn)
    chosen = {r: held for r, held in by_relation.items() if len(held) >= settings.batch}
    few = sorted(set(by_relation) - set(chosen))
    if few:
        talk(
            f"too few examples for an encoder of their own, left to the joint one: {', '.join(few)}"
        )
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
        training = BiEncoderTraining(
            start, examples, held_out, here, _fitting(settings, examples), device=device
        )
        training.towers.saves_fixed = False
        trained = training.run()
        description[relation] = {
            "examples": len(examples),
            "steps": trained.steps,
            "losses": trained.losses,
            "held_out": trained.held_out,
        }
    _assemble(folder, learn, sorted(chosen))
    return description


def folder_name(relation: str) -> str:
    """A relation as a folder's name: `P19`, `place of birth`."""
    return re.sub(r"[^\w .-]", "_", relation).strip(" .") or "_"


def _fitting(settings: Settings, examples: Sequence[Example]) -> Settings:
    """The same settings, less the kinds of wrong passages that no example of the relation has."""
    held = {n.kind for e in examples for n in e.negatives}
    kinds = tuple(k for k in settings.kinds if k in held or "given" in held)
    return msgspec.structs.replace(settings, kinds=kinds)


def _by_relation(examples: Sequence[Example]) -> dict[str, list[Example]]:
    by_relation: dict[str, list[Example]] = {}
    for example in examples:
        if example.relation:
            by_relation.setdefault(example.relation, []).append(example)
    return by_relation


def _assemble(folder: Path, learn: Sequence[Example], relations: Sequence[str]) -> None:
    """`best`: the fixed passages, the joint questions, each relation's, and how questions find them."""
    beside, best = folder / ".best.partial", folder / "best"
    shutil.rmtree(beside, ignore_errors=True)
    _linked(folder / "joint" / "best", beside)
    for relation in relations:
        name = folder_name(relation)
        _linked(folder / RELATIONS / name / "best" / "questions", beside / RELATIONS / name)
    asked = [
        (e.question, e.name, folder_name(e.relation)) for e in learn if e.relation in relations
    ]
    learned_routes(asked).save(beside / ROUTES)
    shutil.rmtree(best, ignore_errors=True)
    beside.rename(best)


def _linked(source: Path, target: Path) -> None:
    """The same files in another place, without taking room twice where the disk can do that."""

    def link(a: str, b: str) -> None:
        try:
            os.link(a, b)
        except OSError:
            shutil.copy2(a, b)

    shutil.copytree(source, target, copy_function=link)
