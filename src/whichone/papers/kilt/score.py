"""`whichone.score_kilt`: the official KILT scores from Python."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from whichone.errors import WhichoneError
from whichone.files.lines import write_json_lines
from whichone.papers.kilt.scores.evaluate import Rules, evaluate
from whichone.papers.kilt.scores.headline import headline, headline_of_file
from whichone.papers.kilt.scores.order import check_order
from whichone.papers.kilt.scores.scoring import PARTS, Part, Settings

Records = str | Path | Iterable[Mapping[str, Any]]


def score_kilt(
    guess: Records,
    gold: Records,
    *,
    ks: Sequence[int] = (1, 5, 10, 20),
    rank_keys: Sequence[str] = ("wikipedia_id",),
    rules: Rules = "default",
    only: Part | None = None,
    dataset: str | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    any_order: bool = False,
) -> dict[str, Any]:
    """The scores of predictions on gold, from files of JSON lines or from records.

    The result is what `whichone score kilt --json` prints: `downstream`, `kilt` and `retrieval` under
    the official names, and beside them `headline`, `records`, `warnings` and `skipped`. Files that look
    swapped are refused unless `any_order` is set.
    """
    with tempfile.TemporaryDirectory() as folder:
        predictions = _file(guess, Path(folder) / "guess")
        wanted = _file(gold, Path(folder) / "gold")
        settings = Settings(tuple(ks), tuple(rank_keys), (only,) if only else PARTS)
        try:
            if not any_order:
                check_order(predictions, wanted)
            result = evaluate(wanted, predictions, settings, rules=rules, on_error=on_error)
        except WhichoneError as error:  # records have no file that a user could open
            error.message = error.message.replace(f"{folder}/", "the records of ")
            error.where = (error.where or "").replace(f"{folder}/", "the records of ") or None
            raise
        known = headline(dataset) if dataset else headline_of_file(wanted)
        return result.document(known)


def _file(records: Records, place: Path) -> Path:
    if isinstance(records, str | Path):
        return Path(records)
    write_json_lines(place, records)
    return place
