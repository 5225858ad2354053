"""Systems scored on KILT's files: a folder of gold, a folder of predictions for each system."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.lines import read_json_lines
from whichone.measures.intervals import Estimate, interval
from whichone.papers.kilt.datasets import Dataset, dataset_and_split
from whichone.papers.kilt.scores.evaluate import Evaluation, evaluate
from whichone.papers.kilt.scores.scoring import PARTS, Part, Settings
from whichone.progress import talk

DEPTHS = (1, 5)
DESCRIPTION = "system.toml"


class System(msgspec.Struct, frozen=True):
    """A folder of predictions; what `system.toml` in it says about the system."""

    name: str
    folder: Path
    kind: str = ""
    parameters: str = ""
    index: str = ""


class Scored(msgspec.Struct, frozen=True):
    """One system on one split of one dataset."""

    system: System
    dataset: Dataset
    split: str
    gold: Path
    guess: Path
    values: dict[str, Estimate]
    """By the official names; a part that was not predicted is not there."""


def open_system(folder: str | Path) -> System:
    """A system by its folder; `system.toml` may give name, kind, parameters and index."""
    path = Path(folder)
    if not path.is_dir():
        raise Missing("no such folder of predictions", where=str(path))
    described: dict[str, str] = {}
    if (path / DESCRIPTION).exists():
        try:
            described = tomllib.loads((path / DESCRIPTION).read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"no TOML: {error}", file=path / DESCRIPTION) from None
    known = {f: str(described[f]) for f in ("kind", "parameters", "index") if f in described}
    return System(str(described.get("name", path.resolve().name)), path, **known)


def score_systems(gold: str | Path, systems: Sequence[System]) -> list[Scored]:
    """Every prediction file whose gold is there, by dataset and split."""
    golds = _by_dataset(Path(gold))
    if not golds:
        raise UsageError(
            "no gold file of KILT in it", where=str(gold), hint="such as nq-dev-kilt.jsonl"
        )
    scores = []
    for system in systems:
        for key, (dataset, guess) in _by_dataset(system.folder).items():
            if key not in golds:
                talk(f"{guess}: there is no gold for {' '.join(key)}")
                continue
            file = golds[key][1]
            values = _values(file, guess)
            scores.append(Scored(system, dataset, key[1], file, guess, values))
    if not scores:
        raise UsageError("no prediction file has the name of a gold file", where=str(gold))
    return scores


def _by_dataset(folder: Path) -> dict[tuple[str, str], tuple[Dataset, Path]]:
    files = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if dataset_split := dataset_and_split(path):
            files[dataset_split[0].name, dataset_split[1]] = (dataset_split[0], path)
    return files


def _values(gold: Path, guess: Path) -> dict[str, Estimate]:
    answered, ranked = _predicted(guess)
    part: tuple[Part, ...] = tuple(
        name for name, given in zip(PARTS, (answered, ranked), strict=True) if given
    )
    if not part:
        talk(f"{guess}: its predictions have neither an answer nor a ranking")
        return {}
    scored = evaluate(gold, guess, Settings(DEPTHS, ("wikipedia_id",), part), on_error="skip")
    if scored.problems:
        first = scored.problems[0]
        talk(f"{guess}: {len(scored.problems)} records are odd, the first: {first.reason}")
    clusters = _clusters(gold, scored)
    values = {}
    for name, column in scored.columns.items():
        numbers = np.asarray(column, dtype=np.float64)
        values[name] = interval(numbers, clusters)
    if not ranked:
        values = {n: v for n, v in values.items() if not n.startswith(("KILT-", "Rprec", "recall"))}
    return values


def _predicted(guess: Path) -> tuple[bool, bool]:
    """Whether any prediction has an answer of its own, and any a ranking.

    KILT's retrieval driver writes the gold answers beside a ranking: those are nobody's predictions.
    """
    empty, answered, ranked = True, False, False
    for _, record in read_json_lines(guess):
        empty = False
        outputs = record.get("output") if isinstance(record, dict) else None
        listed = [o for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
        answered = answered or (len(listed) == 1 and "answer" in listed[0])
        ranked = ranked or any(output.get("provenance") for output in listed)
        if answered and ranked:
            break
    if empty:
        raise BadInput("there are no predictions", file=guess)
    return answered, ranked


def _clusters(gold: Path, scored: Evaluation) -> list[str]:
    """What resampling draws together: the first gold page, else the record itself."""
    pages: dict[str, str] = {}
    for _, record in read_json_lines(gold):
        own = str(record.get("id")).strip()
        named = [
            str(entry.get("wikipedia_id"))
            for output in record.get("output", ())
            for entry in output.get("provenance") or ()
        ]
        pages[own] = min(named, default=f"id {own}")
    return [pages.get(identity, identity) for identity in scored.ids]
