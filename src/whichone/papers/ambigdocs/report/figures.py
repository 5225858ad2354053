"""Stacked shares of the five categories: by system, by number of bearers, and by popularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whichone.papers.ambigdocs.report.tables import AmbigSystem, bearer_counts, ranked_mentions
from whichone.papers.ambigdocs.scores.categories import Category, Mention
from whichone.papers.ambigdocs.scores.score import PredictionScore
from whichone.report.page import Figure, drawing, finish

COLOURS = {
    "complete": "#1a7f37",
    "partial": "#7fb77e",
    "ambiguous": "#d9a441",
    "merged": "#b2182b",
    "no answer": "#bdbdbd",
    "paired": "#1a7f37",
    "unpaired": "#d9a441",
    "absent": "#bdbdbd",
}


def category_shares(scores: Sequence[PredictionScore]) -> dict[str, float]:
    """Each category's share of the scored questions."""
    scored = [s.category for s in scores if s.category is not None]
    return {c.value: scored.count(c) / len(scored) if scored else 0.0 for c in Category}


def categories_figure(systems: Sequence[AmbigSystem]) -> Figure:
    """One bar a system."""
    bars = {s.name: category_shares(s.scores) for s in systems}
    return _stacked(bars, "ambigdocs-categories", "Categories of answers", "share of questions")


def bearers_figure(system: AmbigSystem) -> Figure:
    """One bar for each number of bearers."""
    bars = {
        f"{n} bearer{'s' if n > 1 else ''}": category_shares(
            [s for s in system.scores if len(s.bearers) == n]
        )
        for n in bearer_counts([system])
    }
    title = f"Categories by number of bearers: {system.name}"
    return _stacked(bars, f"ambigdocs-bearers-{_key(system)}", title, "share of questions")


def popularity_figure(system: AmbigSystem) -> Figure | None:
    """One bar for each popularity rank; None where no popularity is known."""
    ranked = ranked_mentions(system)
    if not ranked:
        return None
    bars = {
        "most popular" if rank == 1 else f"number {rank}": {
            kind.value: sum(m is kind for _, m in mentions_of_rank) / len(mentions_of_rank)
            for kind in Mention
        }
        for rank, mentions_of_rank in sorted(ranked.items())
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
