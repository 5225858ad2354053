"""Wizard of Wikipedia: each grounded turn of the wizard, with the conversation before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whichone.errors import BadInput
from whichone.files.json_records import array_records
from whichone.papers.kilt.convert.original import Original, made_id, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

NOTHING = "no_passages_used"


def convert_wow(original: Original) -> Iterator[TaskRecord]:
    """Turns without a chosen sentence are left out; no topic is given. Dev and test are the unseen
    splits (`valid_topic_split.json`, `test_topic_split.json`)."""
    for file in original.files:
        for number, dialog in enumerate(array_records(file, dict[str, Any]), 1):
            try:
                yield from _turns(dialog, number, original)
            except (KeyError, TypeError, AttributeError) as error:
                raise BadInput(
                    f"not a dialogue of Wizard of Wikipedia: {error!r}", file=file, line=number
                ) from None


def _turns(dialog: Mapping[str, Any], number: int, original: Original) -> Iterator[TaskRecord]:
    history: list[str] = []
    whole = made_id("wow", *(turn["text"] for turn in dialog["dialog"]))
    for place, turn in enumerate(dialog["dialog"]):
        if turn["speaker"].endswith("Wizard"):
            chosen = _chosen(turn)
            if not history:
                original.left_out["turns that open a conversation"] += 1
            elif chosen is None:
                original.left_out["turns without provenance"] += 1
            else:
                output = TaskOutput(turn["text"], (sentence(*chosen),))
                yield TaskRecord(f"{whole}_{place}", "\n".join(history), (output,), number)
        history.append(turn["text"])


def _chosen(turn: Mapping[str, Any]) -> tuple[str, str] | None:
    """Title and sentence that the wizard says it used."""
    checked = turn.get("checked_sentence") or {}
    text = next(iter(checked.values()), NOTHING)
    if text == NOTHING or not text.strip():
        return None
    passage = turn.get("checked_passage") or {}
    title = next(iter(passage.values()), None) or next(iter(checked), "")
    return str(title).replace("_", " "), text
