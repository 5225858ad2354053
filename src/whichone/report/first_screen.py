"""The first screen of a report: a verdict in a sentence, one picture, three examples."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.intervals import Estimate
from whichone.measures.measure import parse_measures
from whichone.measures.ranking_measures import kind_of_page
from whichone.measures.scores import Scores, estimate
from whichone.measures.summary import HEAD, TAIL, roles_of
from whichone.records import Query
from whichone.report.first_results import OUTCOMES, Codes, FirstResults, Outcome
from whichone.report.page import Section
from whichone.report.panels import Panel
from whichone.runs.run import Run

MEANING: Mapping[Outcome, tuple[str, str]] = {
    "right": ("✓", "right: the gold page is first"),
    "namesake": ("✗", "a namesake's page comes before it"),
    "else": ("–", "something else comes first"),
    "missing": ("∅", "the gold page is not found"),
}
_EXAMPLES = 3
_LONGEST = 260
_BAR, _ROW = 300, 34


class Shares(msgspec.Struct, frozen=True):
    """What became of one system's questions, and how sure the share of right ones is."""

    system: str
    counts: dict[Outcome, int]
    right: Estimate

    def share(self, outcome: Outcome) -> float:
        return self.counts[outcome] / max(1, sum(self.counts.values()))


def first_screen(
    runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark,
    results: FirstResults, telling: Sequence[Panel], *, redact: bool = False,
) -> Section | None:  # fmt: skip
    """The section that opens the page; None for a benchmark whose questions have no gold pages."""
    if not results.any_gold:
        return None
    roles = roles_of(benchmark.queries)
    every = np.arange(len(benchmark.queries))
    groups = {"head": np.flatnonzero(roles == HEAD), "tail": np.flatnonzero(roles == TAIL)}
    if not all(len(rows) for rows in groups.values()):
        groups = {"all questions": every}
    shares = {
        group: [_shares(s, results.outcomes[s.system], rows) for s in systems]
        for group, rows in groups.items()
    }
    overall = [_shares(s, results.outcomes[s.system], every) for s in systems]
    overall.sort(key=lambda s: (-s.share("right"), s.share("namesake"), s.system))
    order = [s.system for s in overall]
    picture = _picture(order, shares)
    examples = "" if redact else _examples(runs, systems, benchmark, telling, order)
    name = None if redact or not telling else telling[0].name_set.name
    return Section(
        "In short",
        html=f'<p class="verdict">{html.escape(verdict(overall, name))}</p>{picture}{examples}',
    )


def _shares(scores: Scores, outcomes: Codes, rows: npt.NDArray[np.int64]) -> Shares:
    counted = np.bincount(outcomes[rows], minlength=len(OUTCOMES)).tolist()
    (measure,) = parse_measures(["acc@1"])
    counts = dict(zip(OUTCOMES, counted, strict=True))
    return Shares(scores.system, counts, estimate(scores, measure, rows))


def verdict(overall: Sequence[Shares], name: str | None) -> str:
    """One sentence in plain words, about the best and the worst of the systems."""
    best, worst = overall[0], max(overall, key=lambda s: s.share("namesake"))
    which = f"the wrong {name}, or the wrong bearer of another name," if name else "the wrong one"
    if best is worst or len(overall) == 1:
        return (
            f"{best.system} is right for {_of_100(best, 'right')} of 100 questions and hands over "
            f"{which} in {_of_100(best, 'namesake')}."
        )
    return (
        f"{worst.system} hands over {which} in {_of_100(worst, 'namesake')} of 100 questions; "
        f"{best.system} in {_of_100(best, 'namesake')}."
    )


def _of_100(shares: Shares, outcome: Outcome) -> str:
    return f"{100 * shares.share(outcome):.0f}"


def _picture(order: Sequence[str], shares: Mapping[str, Sequence[Shares]]) -> str:
    legend = "".join(
        f'<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="o-{key}" width="10" height="10"/>'
        f"</svg> {sign} {words}"
        for key, (sign, words) in MEANING.items()
    )
    meaning = {
        "head": "Head: the most popular bearer of each name",
        "tail": "Tail: the other bearers",
    }
    columns = "".join(
        f"<div><h3>{html.escape(meaning.get(group, group.capitalize()))}</h3>{_bars(order, rows)}</div>"
        for group, rows in shares.items()
    )
    return (
        f'<ul class="legend">{legend}</ul><div class="columns">{columns}</div>'
        '<p class="note">Each bar is all questions of one system. The line over a bar is the 95 % interval of the '
        "share that is right.</p>"
    )


def _bars(order: Sequence[str], rows: Sequence[Shares]) -> str:
    known = {row.system: row for row in rows}
    bars = []
    for system in order:
        row, x, parts = known[system], 0.0, []
        for outcome in OUTCOMES:
            width = _BAR * row.share(outcome)
            parts.append(
                f'<rect class="o-{outcome}" x="{x:.1f}" y="10" width="{width:.1f}" height="18"/>'
            )
            if width > 26:
                parts.append(
                    f'<text class="in-{outcome}" x="{x + width / 2:.1f}" y="23" text-anchor="middle">'
                    f"{_of_100(row, outcome)}</text>"
                )
            x += width
        if row.right.low is not None and row.right.high is not None:
            low, high = _BAR * row.right.low, _BAR * row.right.high
            parts.append(
                f'<path class="whisker" d="M{low:.1f} 2v6M{low:.1f} 5H{high:.1f}M{high:.1f} 2v6"/>'
            )
        said = ", ".join(
            f"{_of_100(row, outcome)} of 100 {words}" for outcome, (_, words) in MEANING.items()
        )
        bars.append(
            f'<div class="system"><span>{html.escape(system)}</span>'
            f'<svg class="outcomes" role="img" viewBox="0 0 {_BAR} {_ROW}" aria-label="{html.escape(system)}: {said}">'
            f"{''.join(parts)}</svg></div>"
        )
    return "".join(bars)


def _examples(
    runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark,
    telling: Sequence[Panel], order: Sequence[str],
) -> str:  # fmt: skip
    """Questions on which systems differ and one of them falls for a namesake, a name each."""
    chosen: list[Query] = []
    for panel in telling:
        for query, firsts in panel.queries:
            kinds = {first.kind for first in firsts}
            if "namesake" in kinds and (len(firsts) == 1 or "gold" in kinds):
                chosen.append(query)
                break
        if len(chosen) == _EXAMPLES:
            break
    if not chosen:
        return ""
    first = {
        (scores.system, question): pair
        for run, scores in zip(runs, systems, strict=True)
        for question, pair in run.firsts([query.id for query in chosen]).items()
    }
    texts = _texts(benchmark, {identity for pair in first.values() for identity in pair})
    labels = BearerLabels(benchmark)
    return '<div class="examples">' + "".join(
        _example(query, order, first, texts, benchmark, labels) for query in chosen
    ) + "</div>"  # fmt: skip


def _example(
    query: Query, order: Sequence[str], first: Mapping[tuple[str, str], tuple[str, str]],
    texts: Mapping[str, tuple[str, str]], benchmark: Benchmark, labels: BearerLabels,
) -> str:  # fmt: skip
    gold, others = query.gold_pages(), benchmark.other_pages(query)
    kinds = {
        system: kind_of_page(first.get((system, query.id), ("", ""))[1], gold, others)
        for system in order
    }
    right = [system for system in order if kinds[system] == "gold"][:1]
    wrong = [system for system in reversed(order) if kinds[system] == "namesake"][:1]
    parts = []
    for system in [*right, *wrong]:
        passage, page = first.get((system, query.id), ("", ""))
        kind = kinds[system]
        sign, words = {"gold": ("✓", "right"), "namesake": ("✗", "a namesake")}.get(
            kind, ("–", "something else")
        )
        _, text = texts.get(passage) or texts.get(page) or ("", "")
        title = labels.of_page(page, query.name_set) if page else "nothing"
        cut = text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"
        parts.append(
            f'<p><b class="{kind}">{sign} {html.escape(system)}: {words}</b><br>'
            f"<b>{html.escape(title)}</b> {html.escape(cut)}</p>"
        )
    return f"<article><h3>“{html.escape(query.input)}”</h3>{''.join(parts)}</article>"


def _texts(benchmark: Benchmark, ids: set[str]) -> dict[str, tuple[str, str]]:
    """Title and text of passages by id; a page's id gives its first passage."""
    corpus = benchmark.corpus
    pages = [page for page in sorted(ids) if corpus.page_row(page) is not None]
    firsts = {page: corpus.passages_of(page)[0] for page in pages}
    known = corpus.get([*sorted(ids), *firsts.values()])
    texts = {
        identity: (known[first].title, known[first].text) for identity, first in firsts.items()
    }
    return {**texts, **{i: (known[i].title, known[i].text) for i in ids if i in known}}
