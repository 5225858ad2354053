"""Tables and figures of the AmbigDocs paper."""

import importlib.util
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from markupsafe import Markup

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.measures.comparison import holm, permutation_p
from whichone.measures.intervals import Estimate, cluster_sums, interval, interval_note
from whichone.papers.ambigdocs.ambigdocs_files import TASK, Prediction
from whichone.papers.ambigdocs.categories import (
    DEFAULT,
    AnswerMention,
    Category,
    ScoringRules,
    scored_documents,
)
from whichone.papers.ambigdocs.score_answer import MEASURES, PredictionScore, matched_sentences
from whichone.papers.ambigdocs.score_file import (
    category_values,
    clusters,
    estimates,
    measure_values,
    read_any,
    score_all,
)
from whichone.report.page import Cell, Figure, ReportPage, Section, Table, drawing, finish, render
from whichone.runs.run import Answers

INTERVALS = f"Percent with {interval_note('shared name')}."
Cells = Iterator[tuple[tuple[Cell, ...], str, Cell]]


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
    place: str | Path, predictions: Sequence[Prediction], rules: ScoringRules = DEFAULT
) -> AmbigSystem:
    """A system named after its file, `MODEL--MODE.json` or `MODEL.json`, or by its answers folder.

    A folder says the model, else the reader, what it was shown, and with which prompt.
    """
    if Path(place).is_dir():
        description = Answers.open(place).description
        reader, setting = description.get("reader", {}), description.get("setting", {})
        model = reader.get("model") or reader.get("function") or reader.get("reader") or Path(place).name
        shown = setting.get("passages", "gold")
        mode = ", ".join(str(part) for part in (shown, reader.get("prompt")) if part)
    else:
        stem = Path(place).name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
        model, _, mode = stem.partition("--")
    return AmbigSystem(str(model), mode, predictions, score_all(predictions, rules))


def distinctly_named(systems: Sequence[AmbigSystem], places: Sequence[str | Path]) -> list[AmbigSystem]:
    """Systems of one name get the name of their file or folder beside it: each keeps its own figures."""
    names = [system.name for system in systems]
    return [
        replace(system, model=f"{system.model} ({Path(place).name})")
        if names.count(system.name) > 1
        else system
        for system, place in zip(systems, places, strict=True)
    ]


def _by_system(key: str, title: str, head: Sequence[str], cells: Cells, note: str = INTERVALS) -> Table:
    return Table.of(key, title, ("model", "mode", *head), cells, note=note)


def measures_table(systems: Sequence[AmbigSystem]) -> Table:
    figures = [(s, estimates(s.scores, s.clusters)) for s in systems]
    shown = [m for m in MEASURES if any(row[m].n for _, row in figures)]
    cells: Cells = (
        ((s.model, s.mode, len(s.scores)), m.replace("_", " "), row[m] if row[m].n else None)
        for s, row in figures
        for m in shown
    )
    return _by_system("ambigdocs-measures", "Recalls, precision and exact match", ["questions"], cells)


def categories_table(systems: Sequence[AmbigSystem]) -> Table:
    figures = [(s, estimates(s.scores, s.clusters)) for s in systems]
    cells: Cells = (((s.model, s.mode), c.value, row[c.value]) for s, row in figures for c in Category)
    return _by_system("ambigdocs-categories", "Categories of answers", [], cells)


def mode_differences(systems: Sequence[AmbigSystem], *, seed: int = 0) -> Table | None:
    """For each model, every later mode against every earlier one, paired by question.

    With the files in the order zero-shot, few-shot this is what the examples gain.
    """
    pairs = [(a, b) for a, b in itertools.combinations(systems, 2) if a.model == b.model and a.mode != b.mode]
    recalls = ("answer_recall", "entity_recall", "entity_answer_recall", "disambig_f1")
    compared = [
        (a, b, what, difference, p)
        for (a, b), what in itertools.product(pairs, (*recalls, *(c.value for c in Category)))
        for difference, p in [paired_difference(a, b, what, seed=seed)]
        if difference.n
    ]
    if not compared:
        return None
    corrected = holm([p for *_, p in compared])
    rows: list[list[Cell]] = [
        [a.model, f"{b.mode} − {a.mode}", what.replace("_", " "), difference,
         f"{p:.4f}", f"{holms:.4f}{'*' if holms < 0.05 else ''}"]
        for (a, b, what, difference, p), holms in zip(compared, corrected, strict=True)
    ]  # fmt: skip
    return Table(
        key="ambigdocs-modes",
        title="Paired differences between modes",
        columns=("model", "modes", "measure", "difference", "p", "p (Holm)"),
        rows=rows,
        note=f"{INTERVALS} p from a permutation test that swaps the modes of whole names.",
    )


def paired_difference(a: AmbigSystem, b: AmbigSystem, what: str, *, seed: int = 0) -> tuple[Estimate, float]:
    """b minus a over the questions that both answered, and its p."""
    values_a, values_b = _values(a, what), _values(b, what)
    names = {s.qid: name for s, name in zip(a.scores, a.clusters, strict=True)}
    both = [qid for qid in values_a if qid in values_b and not np.isnan([values_a[qid], values_b[qid]]).any()]
    if not both:
        return Estimate(None, None, None, 0), 1.0
    differences = np.array([values_b[qid] - values_a[qid] for qid in both])
    groups = np.array([names[qid] for qid in both])
    sums, _ = cluster_sums(differences, groups)
    return interval(differences, groups, bounds=(-1, 1)), permutation_p(sums, seed=seed)


def _values(system: AmbigSystem, what: str) -> dict[str, float]:
    is_measure, scores = what in MEASURES, system.scores
    values = measure_values(scores, what) if is_measure else category_values(scores, Category(what))
    return {score.qid: value for score, value in zip(system.scores, values, strict=True)}


def bearer_counts(systems: Sequence[AmbigSystem]) -> list[int]:
    return sorted({len(s.bearers) for system in systems for s in system.scores if s.bearers})


def by_number_of_bearers(systems: Sequence[AmbigSystem]) -> Table:
    def cells() -> Cells:
        for system in systems:
            names = system.clusters
            for number in bearer_counts([system]):
                chosen = [n for n, s in enumerate(system.scores) if len(s.bearers) == number]
                figures = estimates([system.scores[n] for n in chosen], [names[n] for n in chosen])
                for c in Category:
                    yield (system.model, system.mode, number, len(chosen)), c.value, figures[c.value]

    title = "Categories by number of bearers"
    return _by_system("ambigdocs-bearers", title, ["bearers", "questions"], cells())


def by_popularity(systems: Sequence[AmbigSystem]) -> Table | None:
    """Are the famous ones the ones that get answered? Mentions by popularity rank in the question.

    None where no popularity is known.
    """
    cells = [
        ((system.model, system.mode, rank_name(rank), len(mentions)), f"answer {kind.value}",
         interval([float(m is kind) for _, m in mentions], [name for name, _ in mentions]))
        for system in systems
        for rank, mentions in sorted(ranked_mentions(system).items())
        for kind in AnswerMention
    ]  # fmt: skip
    title = "Who gets answered, by popularity among the bearers of the question"
    note = f"{INTERVALS} Paired: answered beside its own name; unpaired: answered without it."
    return _by_system("ambigdocs-popularity", title, ["bearer", "n"], iter(cells), note) if cells else None


def rank_name(rank: int) -> str:
    return "most popular" if rank == 1 else f"number {rank}"


def ranked_mentions(system: AmbigSystem) -> dict[int, list[tuple[str, AnswerMention]]]:
    """For every popularity rank the bearers that have it: their name and how they are answered."""
    ranked_by_place: dict[int, list[tuple[str, AnswerMention]]] = {}
    for score, name in zip(system.scores, system.clusters, strict=True):
        known = [b for b in score.bearers if b.popularity is not None]
        known.sort(key=lambda bearer: -(bearer.popularity or 0.0))
        for rank, bearer in enumerate(known if len(known) > 1 else (), 1):
            ranked_by_place.setdefault(rank, []).append((name, bearer.mention))
    return ranked_by_place


COLOURS = {
    "complete": "#1a7f37", "partial": "#7fb77e", "ambiguous": "#d9a441", "merged": "#b2182b", "no answer": "#bdbdbd",
    "paired": "#1a7f37", "given to another": "#b2182b", "unpaired": "#d9a441", "absent": "#bdbdbd",
}  # fmt: skip


def category_shares(scores: Sequence[PredictionScore]) -> dict[str, float]:
    scored = [s.category for s in scores if s.category is not None]
    return {c.value: scored.count(c) / len(scored) if scored else 0.0 for c in Category}


def categories_figure(systems: Sequence[AmbigSystem]) -> Figure:
    bars = {s.name: category_shares(s.scores) for s in systems}
    return _stacked(bars, "ambigdocs-categories", "Categories of answers", "share of questions")


def bearers_figure(system: AmbigSystem) -> Figure:
    by_number = {n: [s for s in system.scores if len(s.bearers) == n] for n in bearer_counts([system])}
    bars = {f"{n} bearer{'s' if n > 1 else ''}": category_shares(s) for n, s in by_number.items()}
    title = f"Categories by number of bearers: {system.name}"
    return _stacked(bars, f"ambigdocs-bearers-{_key(system)}", title, "share of questions")


def popularity_figure(system: AmbigSystem) -> Figure:
    bars = {
        rank_name(rank): {kind.value: sum(m is kind for _, m in own) / len(own) for kind in AnswerMention}
        for rank, own in sorted(ranked_mentions(system).items())
    }
    title = f"Who gets answered: {system.name}"
    return _stacked(bars, f"ambigdocs-popularity-{_key(system)}", title, "share of bearers")


def _key(system: AmbigSystem) -> str:
    return "".join(c if c.isalnum() else "-" for c in system.name.lower())


def _stacked(bars: Mapping[str, Mapping[str, float]], key: str, title: str, what: str) -> Figure:
    with drawing(size=(6.4, 1.2 + 0.35 * len(bars))) as (figure, axes):
        plot = axes[0][0]
        kinds = list(next(iter(bars.values())))
        left = [0.0] * len(bars)
        for kind in kinds:
            widths = [100 * shares[kind] for shares in bars.values()]
            plot.barh(list(bars), widths, left=left, color=COLOURS[kind], label=kind, height=0.7)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        plot.invert_yaxis()
        plot.set_xlim(0, 100)
        plot.set_xlabel(f"% ({what})")
        figure.legend(ncols=len(kinds), loc="outside upper center", frameon=False)
        return finish(figure, key, title)


# The page about answers for several bearers: tables, figures, and every answer sentence by sentence.
# What a model said is text: escaped, never rendered as HTML.


MOST_ANSWERS = 50


def answers_page(
    answers: Sequence[Answers], benchmark: Benchmark, place: str | Path | None = None, *, redact: bool = False
) -> ReportPage | None:
    """The page of some folders of answers; None for a benchmark of other questions."""
    if any(query.task != TASK for query in benchmark.queries):
        return None
    return places_page([a.path for a in answers], DEFAULT, place, answers=0 if redact else MOST_ANSWERS)


def places_page(
    places: Sequence[str | Path],
    rules: ScoringRules = DEFAULT,
    benchmark: str | Path | None = None,
    *,
    answers: int = MOST_ANSWERS,
) -> ReportPage:
    """The page about predictions files named `MODEL--MODE.json`, or answers folders."""
    systems = [system_of(place, read_any(place, benchmark), rules) for place in places]
    return ambigdocs_page(distinctly_named(systems, places), rules=rules, answers=answers)


def ambigdocs_page(
    systems: Sequence[AmbigSystem], *, rules: ScoringRules = DEFAULT, answers: int = MOST_ANSWERS
) -> ReportPage:
    if not systems:
        raise UsageError("a report needs at least one system")
    drawn = importlib.util.find_spec("matplotlib") is not None
    known = [s for s in systems if ranked_mentions(s)]
    tables = [measures_table(systems), categories_table(systems)]
    figures = [categories_figure(systems)] if drawn else []
    sections = [Section("Models and modes", tables, figures)]
    if differences := mode_differences(systems):
        sections.append(Section("Between modes", [differences]))
    figures = [bearers_figure(s) for s in systems] if drawn else []
    sections.append(Section("By number of bearers", [by_number_of_bearers(systems)], figures))
    if popularity := by_popularity(systems):
        figures = [popularity_figure(s) for s in known] if drawn else []
        sections.append(Section("By popularity", [popularity], figures))
    for system in systems if answers else ():
        shown = list(zip(system.predictions, system.scores, strict=True))[:answers]
        html = "".join(answer_html(p, s, rules) for p, s in shown)
        if left := len(system.predictions) - len(shown):
            html += Markup('<p class="note">and {} more</p>').format(left)
        sections.append(Section(f"Answers: {system.name}", html=html))
    return ReportPage(
        title="whichone: one question, several bearers",
        subtitle=", ".join(s.name for s in systems),
        sections=sections,
        meta={
            "documents scored": rules.documents,
            "rules": "published" if rules.published else "default",
            "intervals": interval_note("shared name"),
        },
    )


def answer_html(prediction: Prediction, score: PredictionScore, rules: ScoringRules = DEFAULT) -> str:
    return render(
        "answer.html",
        __package__,
        question=prediction.question.question,
        category=score.category or "not scored",
        titles=[document.title for document in scored_documents(prediction, rules)],
        sentences=matched_sentences(prediction, rules),
        bearers=score.bearers,
    )
