"""Which of two KILT files is the gold: the official programs score swapped files without a word."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import UsageError
from whichone.files.lines import NOT_JSON, read_lines

_LOOKED_AT = 200


def signs_of_gold(records: Iterable[Any]) -> frozenset[str]:
    """What gold has and predictions may lack: inputs, several answers, titles and BLEU of evidence, hidden outputs."""
    signs: set[str] = set()
    for record in records:
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("input"), str):
            signs.add("input")
        if "output" not in record:
            signs.add("records without output")
        outputs = record.get("output")
        listed = [o for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
        if sum("answer" in output for output in listed) > 1:
            signs.add("several answers")
        keys = {key for output in listed for entry in _entries(output) for key in entry}
        signs |= {"bleu_score"} & keys
        signs |= {"titles of pages"} if "title" in keys else set()
    return frozenset(signs)


def _entries(output: dict[str, Any]) -> list[dict[str, Any]]:
    listed = output.get("provenance")
    return [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []


def swapped(guess: str | Path, gold: str | Path) -> str | None:
    """Why the files look swapped: the predictions have all that marks gold in the gold file, and more.

    Compressed files and plain ones are looked at; what cannot be read is left to the scorer.
    """
    if Path(guess).is_fifo() or Path(gold).is_fifo():
        return None  # reading would use it up
    theirs, ours = signs_of_gold(_first(guess)), signs_of_gold(_first(gold))
    if not theirs > ours:
        return None
    more = ", ".join(sorted(theirs - ours))
    return f"the files look swapped: {guess} has {more} as gold has, {gold} has not"


def check_order(guess: str | Path, gold: str | Path) -> None:
    """Stops where two files that were named by their order alone look swapped."""
    if reason := swapped(guess, gold):
        raise UsageError(
            reason,
            hint=f"the predictions come first, then the gold: {gold} {guess}; or say which is which "
            f"with --gold and --guess",
        )


def _first(path: str | Path) -> Iterable[Any]:
    for _, line in islice(read_lines(path), _LOOKED_AT):
        try:
            yield msgspec.json.decode(line)
        except NOT_JSON:
            continue
