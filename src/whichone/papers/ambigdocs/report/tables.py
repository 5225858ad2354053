"""AmbigDocs' tables: models and modes, differences between modes, and who gets answered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whichone.measures.comparison import holm, permutation_p
from whichone.measures.intervals import Estimate, cluster_sums, interval, interval_note
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Category, Mention
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules
from whichone.papers.ambigdocs.scores.score import MEASURES, PredictionScore
from whichone.papers.ambigdocs.scores.summary import (
    category_values,
    clusters,
    estimates,
    measure_values,
    score_all,
)
from whichone.report.page import Cell, Table
from whichone.runs.run import Answers

SHOWN = MEASURES
COMPARED = ("answer_recall", "entity_recall", "entity_answer_recall", "disambig_f1")
INTERVALS = f"Percent with {interval_note('shared name')}."


@dataclass(frozen=True)
class AmbigSystem:
    """One model in one mode: what it said, and how that scores."""

    model: str
    mode: str
    predictions: Sequence[Prediction]
    scores: Sequence[PredictionScore]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.mode}" if self.mode else self.model

    @property
    def clusters(self) -> list[str]:
        return clusters(self.predictions)


def system_of(
    place: str | Path, predictions: Sequence[Prediction], rules: Rules = DEFAULT
) -> AmbigSystem:
    """A system named after its file, `MODEL--MODE.json` or `MODEL.json`, or by its answers folder."""
    model, mode = _folder_name(place) if Path(place).is_dir() else _file_name(place)
    return AmbigSystem(model, mode, predictions, score_all(predictions, rules))


def _file_name(place: str | Path) -> tuple[str, str]:
    stem = Path(place).name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    model, _, mode = stem.partition("--")
    return model, mode


def _folder_name(place: str | Path) -> tuple[str, str]:
    """The model, else the reader; what it was shown, and with which prompt."""
    description = Answers.open(place).description
    reader, setting = description.get("reader", {}), description.get("setting", {})
    model = (
        reader.get("model") or reader.get("function") or reader.get("reader") or Path(place).name
    )
    shown = setting.get("passages", "gold")
    return str(model), ", ".join(str(part) for part in (shown, reader.get("prompt")) if part)


def distinctly_named(
    systems: Sequence[AmbigSystem], places: Sequence[str | Path]
) -> list[AmbigSystem]:
    """Systems of one name get the name of their file or folder beside it: each keeps its own figures."""
    names = [system.name for system in systems]
    return [
        replace(system, model=f"{system.model} ({Path(place).name})")
        if names.count(system.name) > 1
        else system
        for system, place in zip(systems, places, strict=True)
    ]


def measures_table(systems: Sequence[AmbigSystem]) -> Table:
    """Models x modes with every measure."""
    estimate_list = [estimates(s.scores, s.clusters) for s in systems]
    shown = [m for m in SHOWN if any(row[m].n for row in estimate_list)]
    return Table(
        key="ambigdocs-measures",
        title="Recalls, precision and exact match",
        columns=("model", "mode", "questions", *(m.replace("_", " ") for m in shown)),
        rows=[
            (s.model, s.mode, len(s.scores), *(row[m] if row[m].n else None for m in shown))
            for s, row in zip(systems, estimate_list, strict=True)
        ],
        note=INTERVALS,
    )


def categories_table(systems: Sequence[AmbigSystem]) -> Table:
    """Models x modes with the share of each category."""
    rows: list[tuple[Cell, ...]] = []
    for s in systems:
        figures = estimates(s.scores, s.clusters)
        rows.append((s.model, s.mode, *(figures[c.value] for c in Category)))
    return Table(
        key="ambigdocs-categories",
        title="Categories of answers",
        columns=("model", "mode", *(c.value for c in Category)),
        rows=rows,
        note=INTERVALS,
    )


def mode_differences(systems: Sequence[AmbigSystem], *, seed: int = 0) -> Table | None:
    """For each model, every later mode against every earlier one, paired by question.

    With the files in the order zero-shot, few-shot this is what the examples gain.
    """
    pairs = [
        (a, b)
        for a, b in itertools.combinations(systems, 2)
        if a.model == b.model and a.mode != b.mode
    ]
    rows: list[list[Cell]] = []
    ps: list[float] = []
    for a, b in pairs:
        for what in (*COMPARED, *(c.value for c in Category)):
            difference, p = paired_difference(a, b, what, seed=seed)
            if difference.n:
                rows.append([a.model, f"{b.mode} − {a.mode}", what.replace("_", " "), difference])
                ps.append(p)
    if not rows:
        return None
    for row, p, corrected in zip(rows, ps, holm(ps), strict=True):
        row += [f"{p:.4f}", f"{corrected:.4f}{'*' if corrected < 0.05 else ''}"]
    return Table(
        key="ambigdocs-modes",
        title="Paired differences between modes",
        columns=("model", "modes", "measure", "difference", "p", "p (Holm)"),
        rows=rows,
        note=f"{INTERVALS} p from a permutation test that swaps the modes of whole names.",
    )


def paired_difference(
    a: AmbigSystem, b: AmbigSystem, what: str, *, seed: int = 0
) -> tuple[Estimate, float]:
    """b minus a over the questions that both answered, and its p."""
    values_a, values_b = _values(a, what), _values(b, what)
    names = {s.qid: name for s, name in zip(a.scores, a.clusters, strict=True)}
    both = [
        qid
        for qid in values_a
        if qid in values_b and not np.isnan([values_a[qid], values_b[qid]]).any()
    ]
    if not both:
        return Estimate(None, None, None, 0), 1.0
    differences = np.array([values_b[qid] - values_a[qid] for qid in both])
    groups = np.array([names[qid] for qid in both])
    sums, _ = cluster_sums(differences, groups)
    return interval(differences, groups, bounds=(-1, 1)), permutation_p(sums, seed=seed)


def _values(system: AmbigSystem, what: str) -> dict[str, float]:
    if what in MEASURES:
        values = measure_values(system.scores, what)
    else:
        values = category_values(system.scores, Category(what))
    return {score.qid: value for score, value in zip(system.scores, values, strict=True)}


def bearer_counts(systems: Sequence[AmbigSystem]) -> list[int]:
    """How many bearers questions are scored on, each number once."""
    return sorted({len(s.bearers) for system in systems for s in system.scores if s.bearers})


def by_number_of_bearers(systems: Sequence[AmbigSystem]) -> Table:
    """Category shares by how many bearers a question was scored on."""
    rows: list[tuple[Cell, ...]] = []
    for system in systems:
        names = system.clusters
        for number in bearer_counts([system]):
            chosen = [n for n, s in enumerate(system.scores) if len(s.bearers) == number]
            scores = [system.scores[n] for n in chosen]
            figures = estimates(scores, [names[n] for n in chosen])
            shares = (figures[c.value] for c in Category)
            rows.append((system.model, system.mode, number, len(scores), *shares))
    return Table(
        key="ambigdocs-bearers",
        title="Categories by number of bearers",
        columns=("model", "mode", "bearers", "questions", *(c.value for c in Category)),
        rows=rows,
        note=INTERVALS,
    )


def by_popularity(systems: Sequence[AmbigSystem]) -> Table | None:
    """Are the famous ones the ones that get answered? Mentions by popularity rank in the question.

    None where no popularity is known.
    """
    rows: list[tuple[Cell, ...]] = []
    for system in systems:
        ranked = ranked_mentions(system)
        for rank in sorted(ranked):
            mentions = ranked[rank]
            names = [name for name, _ in mentions]
            shares = [interval([float(m is kind) for _, m in mentions], names) for kind in Mention]
            label = "most popular" if rank == 1 else f"number {rank}"
            rows.append((system.model, system.mode, label, len(mentions), *shares))
    if not rows:
        return None
    return Table(
        key="ambigdocs-popularity",
        title="Who gets answered, by popularity among the bearers of the question",
        columns=("model", "mode", "bearer", "n", *(f"answer {m.value}" for m in Mention)),
        rows=rows,
        note=f"{INTERVALS} Paired: answered beside its own name; unpaired: answered without it.",
    )


def ranked_mentions(system: AmbigSystem) -> dict[int, list[tuple[str, Mention]]]:
    """For every popularity rank the bearers that have it: their name and how they are answered."""
    ranked_by_place: dict[int, list[tuple[str, Mention]]] = {}
    for score, name in zip(system.scores, system.clusters, strict=True):
        known = [(b.popularity, b) for b in score.bearers if b.popularity is not None]
        if len(known) < 2:
            continue
        known.sort(key=lambda pair: -pair[0])
        for rank, (_, bearer) in enumerate(known, 1):
            ranked_by_place.setdefault(rank, []).append((name, bearer.mention))
    return ranked_by_place
