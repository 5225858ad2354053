"""The development table of `namesake`, as Markdown."""

from __future__ import annotations

import csv
import datetime
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from namesake_fit.model import Case, cross_validate, features_at_hand, meant, was_read
from namesake_fit.model import judge as judged
from whichone.retrieval.namesake.weights import EvidenceModel

DOCS = Path(__file__).resolve().parents[2] / "docs" / "experiments"

HEAD = (
    "| set | questions | BM25 | acc@1 | gold is a candidate | candidates, median and 95 % | wrong above .95 | ECE, by chance | CPU ms, median and 95 % |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def table(cases: Sequence[Case]) -> str:
    """A row a set, of cases that were judged; acc@1 of questions that can be resolved beside, where some cannot."""
    names = list(dict.fromkeys(case.set for case in cases))
    rows = [row(n, [c for c in cases if c.set == n]) for n in names]
    return "\n".join([HEAD, *rows, *([row("all", cases)] if len(names) > 1 else [])])


def print_table(
    cases: Sequence[Case], out: Path | None, *, judge: str | None, shipped: bool, parts: bool = False
) -> None:
    """Cross-validated, or judged by the weights as they are shipped."""
    if shipped:
        fits = EvidenceModel.load().fits
        judged(cases, fits["words"])
        if judge:
            judged([c for c in cases if was_read(c)], fits["reader" if judge == "reader" else "cross"])
    else:
        cross_validate(cases, features_at_hand(judge))
    if parts:
        print(table_of_parts(cases))
    made = f"{table(cases)}\n\n{table_of_labels(cases)}"
    print(made)
    if out is not None:
        out.write_text(made + "\n")


LABELS = "namesake-resolvable.tsv"
DECIDED = ("any", "kind", "text")
"""Labels of questions that decide who is meant; the others are "bare", "open" and "gold"."""


def labels_of_48k() -> dict[str, str]:
    """By the id of a question, whether it can be resolved."""
    with (DOCS / LABELS).open(newline="", encoding="utf-8") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file, delimiter="\t")}


def table_of_labels(cases: Sequence[Case]) -> str:
    """acc@1 on the 48k questions of shared names by whether they can be resolved, and what nobody could pass."""
    labels = labels_of_48k()
    names = [n for n in dict.fromkeys(c.set for c in cases) if n.startswith("48k") and n.endswith("shared")]
    every = sorted(set(labels.values()))
    lines = [f"| set | decided | {' | '.join(every)} | ceiling |", "| --- " * (len(every) + 3) + "|"]
    for name in names:
        own = [c for c in cases if c.set == name and c.id in labels]
        by = {label: [c for c in own if labels[c.id] == label] for label in every}
        decided = [c for label in DECIDED for c in by.get(label, ())]
        cells = [
            f"{rate([first_is_right(c) for c in some])} of {len(some)}" for some in (decided, *by.values())
        ]
        known = sum(labels[c.id] in (*DECIDED, "bare") for c in own)
        bearers = ([n for n in meant(c) if "near" not in c.values[n]] for c in by.get("open", ()))
        chance = sum(1 / max(len(own), 1) for own in bearers)
        cells.append(f"{(known + chance) / max(len(own), 1):.3f}".removeprefix("0"))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) if names else ""


PARTS_ALONE = {
    "words": ("bm25", "level", "rank", "words", "proper", "together"),
    "names": (
        "named", "share", "alone", "loosely", "titled", "bare", "respelt", "longer", "company", "nickname", "near", "contains",
        "unnamed", "extra", "numbered", "qualified", "disambiguation",
    ),
    "what is asked": ("kind", "best_kind", "only_says", "other_kind", "no_kind", "states", "says", "where"),
    "claims": ("claim_first", "claim_owner", "claim_subject", "claim_agent", "claim_unnamed", "claim_level", "claim_kind", "claim_other"),
    "length": ("length",),
    "numbers": ("about", "extreme", "period"),
}  # fmt: skip
"""Features that are one kind of evidence; `attribute`, `denied` and their like are in no benchmark here."""


def table_of_parts(cases: Sequence[Case]) -> str:
    """acc@1 of each part alone, cross-validated as the whole is, and whether the whole is below the best of them."""
    sets = list(dict.fromkeys(case.set for case in cases))
    right = {"BM25": {id(c): float(c.bm25) for c in cases}}
    for part, features in PARTS_ALONE.items():
        cross_validate(cases, features, leads=False)
        right[part] = {id(c): right_of_ties(c) for c in cases}
    cross_validate(cases, features_at_hand(None), leads=False)
    whole = {id(c): right_of_ties(c) for c in cases}
    lines = [
        f"| set | {' | '.join(right)} | all together | above the best part by |",
        "| --- " * (len(right) + 3) + "|",
    ]
    for name in [*sets, "all"]:
        own = [c for c in cases if name in ("all", c.set)]
        best = max(right, key=lambda part: sum(right[part][id(c)] for c in own))
        gain, p = _paired([(c.name, whole[id(c)] - right[best][id(c)]) for c in own])
        cells = [rate([hits[id(c)] for c in own]) for hits in (*right.values(), whole)]
        lines.append(f"| {name} | {' | '.join(cells)} | {gain:+.3f} ({best}; p {p:.3f}) |")
    return "\n".join(lines)


def _paired(differences: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """The mean difference, and how likely one so large is by chance where the signs of names are drawn."""
    by_name: dict[str, float] = {}
    for name, difference in differences:
        by_name[name] = by_name.get(name, 0.0) + difference
    sums = np.array(list(by_name.values()))
    drawn = np.random.default_rng(0).choice([-1, 1], (10_000, len(sums))) @ sums
    p = (1 + (np.abs(drawn) >= abs(sums.sum()) - 1e-9).sum()) / (1 + len(drawn))
    return float(sums.sum() / len(differences)), float(p)


FLOORS = "namesake-floors.toml"
OPENED = "namesake-opened.toml"
FLOOR_QUESTIONS = 150
"""So many of each set, the first by the hash of their ids, are asked again by a test."""


def floors(cases: Sequence[Case], model: EvidenceModel) -> dict[str, float]:
    """acc@1 of each set's first questions by the weights of a model; of the 48k also of those that decide who is meant."""
    judged(cases, model.fits["words"])
    names = dict.fromkeys(case.set for case in cases)
    first = {name: [c for c in cases if c.set == name][:FLOOR_QUESTIONS] for name in names}
    labels = labels_of_48k()
    for name in [name for name in names if name.startswith("48k") and name.endswith("shared")]:
        first[f"{name}, decided"] = [c for c in first[name] if labels.get(c.id) in DECIDED]
    return {name: round(float(np.mean([first_is_right(c) for c in own])), 3) for name, own in first.items()}


def write_floors(cases: Sequence[Case], model: EvidenceModel, into: Path | None, *, lower: bool) -> None:
    """The floors of the sets that were asked; one that is there stays where it is higher, unless `lower`."""
    file = (into or DOCS) / FLOORS
    known = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    for name, value in floors(cases, model).items():
        if (
            name == "worlds"
        ):  # fewer of each kind are asked by the test than here: its floor is what the test gives
            continue
        if not lower and value < known.get(name, 0.0):
            print(f"{name}: {value} is below its floor {known[name]}, which stays (--lower-floors)")
        else:
            known[name] = value
    lines = [f'"{name}" = {value}' for name, value in known.items()]
    about = f"# acc@1 of the first {FLOOR_QUESTIONS} development questions of each set, by the weights as they are shipped (bench/namesake.py fit);"
    file.write_text(
        "\n".join([about, "# tests/retrieval/namesake/test_floors.py asks them again.", *lines, ""])
    )


def log_opening(sets: Sequence[str], into: Path | None) -> None:
    """When, and at which commit, the halves were read that nothing is fitted on."""
    if into is None and _git("status", "--porcelain", "src", "bench"):
        raise SystemExit(
            "commit src and bench first: an opening is logged with the commit that it was made at"
        )
    commit = _git("rev-parse", "--short", "HEAD")
    today = datetime.datetime.now(datetime.UTC).date()
    with ((into or DOCS) / OPENED).open("a") as file:
        listed = ", ".join(f'"{name}"' for name in dict.fromkeys(sets))
        file.write(f'\n[[opened]]\ncommit = "{commit}"\ndate = {today}\nsets = [{listed}]\n')


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=DOCS, capture_output=True, text=True, check=True
    ).stdout.strip()


def first_is_right(case: Case) -> bool:
    return bool(len(case.scores)) and case.right[int(np.argmax(case.scores))]


def right_of_ties(case: Case) -> float:
    """The share of right ones among the candidates of the highest score."""
    best = case.scores >= case.scores.max(initial=-np.inf) - 1e-9
    return float(np.mean(np.array(case.right)[best])) if len(case.scores) else 0.0


def row(name: str, cases: Sequence[Case]) -> str:
    acc = f"{rate([first_is_right(c) for c in cases])}"
    clear = [c for c in cases if c.resolvable is not False]
    if len(clear) < len(cases):
        acc += f" ({rate([first_is_right(c) for c in clear])} of {len(clear)})"
    shared = [c for c in cases if c.sure_right is not None]
    sure = [c for c in shared if c.sure > 0.95]
    bearers = [c.bearers for c in cases]
    took = [1_000 * c.seconds for c in cases]
    cells = [
        name,
        f"{len(cases)}",
        rate([c.bm25 for c in cases]),
        acc,
        rate([c.gold for c in cases]),
        f"{np.median(bearers):.0f}, {np.percentile(bearers, 95):.0f}",
        f"{sum(not c.sure_right for c in sure)} of {len(sure)}",
        "{}, {}".format(
            *(f"{e:.3f}".removeprefix("0") for e in (calibration_error(shared), by_chance(shared)))
        ),
        f"{np.median(took):.1f}, {np.percentile(took, 95):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def rate(values: Sequence[bool]) -> str:
    return f"{np.mean(values):.3f}".removeprefix("0") if values else ""


def calibration_error(cases: Sequence[Case]) -> float:
    """Expected calibration error of the first bearer's probability, in ten bins."""
    return _error(np.array([c.sure for c in cases]), np.array([bool(c.sure_right) for c in cases], float))


def by_chance(cases: Sequence[Case]) -> float:
    """The same of as many answers whose probabilities are exactly right: fewer answers, a larger error."""
    p, draws = np.array([c.sure for c in cases]), np.random.default_rng(0)
    return float(np.mean([_error(p, (draws.random(len(p)) < p).astype(float)) for _ in range(200)]))


def _error(p: np.ndarray, right: np.ndarray) -> float:
    if not len(p):
        return 0.0
    bins = np.minimum((p * 10).astype(int), 9)
    return float(
        sum(
            abs(right[bins == b].mean() - p[bins == b].mean()) * (bins == b).mean()
            for b in set(bins.tolist())
        )
    )
