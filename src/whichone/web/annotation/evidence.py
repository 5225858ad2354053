"""What a person says of a question's passages: enough evidence or not, and the words that contain it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from whichone.errors import BadInput
from whichone.web.annotation.evidence_tasks import Task


class Judged(msgspec.Struct, frozen=True):
    """What one person said of one passage."""

    enough: bool
    span: str = ""


class Annotation(msgspec.Struct, frozen=True):
    """What one person said of one task."""

    passages: dict[str, Judged]
    other: str = ""
    """Other evidence, pasted, where no passage has enough."""
    reason: str = ""


def check_annotation(task: Task, said: Annotation, texts: Mapping[str, str]) -> None:
    """Every passage judged; a span in each that has enough; evidence or a reason where none has."""
    asked = {p.id for p in task.passages}
    if said.passages.keys() != asked:
        raise BadInput("say of every passage whether it has enough evidence")
    for identity, judged in said.passages.items():
        if not judged.enough:
            continue
        span = " ".join(judged.span.split())
        if not span:
            raise BadInput(
                "mark the words that contain the evidence in each passage that has enough"
            )
        if span not in " ".join(texts.get(identity, "").split()):
            raise BadInput(f"these words are not in the passage: {span[:80]}")
    if not any(j.enough for j in said.passages.values()) and not (
        said.other.strip() or said.reason.strip()
    ):
        raise BadInput(
            "where no passage has enough, paste other evidence, or say why there is none"
        )
