"""The page about answers for several bearers: tables, figures, and every answer sentence by sentence.

What a model said is text: escaped, never rendered as HTML.
"""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.measures.intervals import interval_note
from whichone.papers.ambigdocs.queries import TASK
from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.report.figures import (
    bearers_figure,
    categories_figure,
    popularity_figure,
)
from whichone.papers.ambigdocs.report.tables import (
    AmbigSystem,
    by_number_of_bearers,
    by_popularity,
    categories_table,
    distinctly_named,
    measures_table,
    mode_differences,
    system_of,
)
from whichone.papers.ambigdocs.scores.answers import read_any
from whichone.papers.ambigdocs.scores.categories import Mention
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules, scored_documents
from whichone.papers.ambigdocs.scores.score import PredictionScore
from whichone.papers.ambigdocs.scores.sentences import MatchedSentence, matched_sentences
from whichone.report.page import Figure, Page, Section
from whichone.runs.run import Answers

MOST_ANSWERS = 50


def answers_page(
    answers: Sequence[Answers],
    benchmark: Benchmark,
    place: str | Path | None = None,
    *,
    redact: bool = False,
) -> Page | None:
    """The page of some folders of answers; None for a benchmark of other questions."""
    if any(query.task != TASK for query in benchmark.queries):
        return None
    paths = [a.path for a in answers]
    systems = [system_of(path, read_any(path, place), DEFAULT) for path in paths]
    systems = distinctly_named(systems, paths)
    return ambigdocs_page(systems, answers=0 if redact else MOST_ANSWERS)


def ambigdocs_page(
    systems: Sequence[AmbigSystem], *, rules: Rules = DEFAULT, answers: int = MOST_ANSWERS
) -> Page:
    """Everything about the answers of some systems; `answers` of each are shown in full."""
    if not systems:
        raise UsageError("a report needs at least one system")
    tables = [measures_table(systems), categories_table(systems)]
    differences = mode_differences(systems)
    popularity = by_popularity(systems)
    sections = [
        Section("Models and modes", tables, figures_of(systems, "systems")),
        Section("Between modes", [differences]) if differences else None,
        Section(
            "By number of bearers", [by_number_of_bearers(systems)], figures_of(systems, "bearers")
        ),
        Section("By popularity", [popularity], figures_of(systems, "popularity"))
        if popularity
        else None,
        *(
            Section(f"Answers: {s.name}", html=answers_html(s, rules, answers))
            for s in systems
            if answers
        ),
    ]
    return Page(
        title="whichone: one question, several bearers",
        subtitle=", ".join(s.name for s in systems),
        sections=[section for section in sections if section is not None],
        meta={
            "documents scored": rules.documents,
            "rules": "published" if rules.published else "default",
            "intervals": interval_note("shared name"),
        },
    )


def report_files(
    places: Sequence[str | Path],
    out: str | Path,
    rules: Rules = DEFAULT,
    benchmark: str | Path | None = None,
) -> list[Path]:
    """The page about predictions files named `MODEL--MODE.json`, or answers folders; what was written."""
    systems = [system_of(place, read_any(place, benchmark), rules) for place in places]
    return ambigdocs_page(distinctly_named(systems, places), rules=rules).write(Path(out))


def figures_of(systems: Sequence[AmbigSystem], what: str) -> list[Figure]:
    """The stacked figures of a section; none where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return []
    if what == "systems":
        return [categories_figure(systems)]
    drawn = [bearers_figure(s) if what == "bearers" else popularity_figure(s) for s in systems]
    return [figure for figure in drawn if figure is not None]


def answers_html(system: AmbigSystem, rules: Rules, most: int) -> str:
    """The first answers, each sentence marked with the bearer it was matched to."""
    shown = list(zip(system.predictions, system.scores, strict=True))[:most]
    left = len(system.predictions) - len(shown)
    more = f'<p class="note">and {left} more</p>' if left else ""
    return "".join(answer_html(p, s, rules) for p, s in shown) + more


def answer_html(prediction: Prediction, score: PredictionScore, rules: Rules = DEFAULT) -> str:
    question = html.escape(prediction.question.question)
    category = html.escape(score.category or "not scored")
    titles = [document.title for document in scored_documents(prediction, rules)]
    said = "".join(_sentence(s, titles) for s in matched_sentences(prediction, rules))
    bearers = "".join(
        f"<li>{html.escape(b.title)}: {html.escape(b.answer)} <small>{b.mention.value}</small></li>"
        for b in score.bearers
    )
    return (
        f'<details class="panel"><summary>{question} <small>{category}</small></summary>'
        f"<p>{said or '<i>nothing</i>'}</p><ul>{bearers}</ul></details>"
    )


def _sentence(sentence: MatchedSentence, titles: Sequence[str]) -> str:
    text = html.escape(sentence.text)
    if sentence.bearer is None:
        return f"{text} "
    kind = "gold" if sentence.mention is Mention.PAIRED else "namesake"
    title = html.escape(titles[sentence.bearer])
    return f'<span class="{kind}">{text}</span> <small>[{title}, {sentence.mention.value}]</small> '
