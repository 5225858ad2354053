"""The first screen of a report: a verdict in a sentence, one picture, three examples."""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import asked_sets, rows_of_sets
from whichone.files.arrow_records import Selection, blocks
from whichone.measures.intervals import Estimate
from whichone.measures.measure import parse_measures
from whichone.measures.ranking_measures import first_rank, is_confused, kind_of_page
from whichone.measures.scores import Scores, estimate
from whichone.measures.summary import DEPTH, HEAD, TAIL, roles_of
from whichone.records import NameSet, Query, grouped
from whichone.report.page import Section, render
from whichone.runs.run import Run, of_many

# What every system put first for every query, gone through once for all sections of a report.


KINDS = ("gold", "namesake", "other", "nothing", "failed")
GOLD, NAMESAKE = KINDS.index("gold"), KINDS.index("namesake")
_Outcome = Literal["right", "confused", "later", "missing"]
OUTCOMES: tuple[_Outcome, ...] = ("right", "confused", "later", "missing")
_BLOCK = 1_024

Codes = npt.NDArray[np.int8]


class FirstResults(msgspec.Struct):
    """By system a number for each query: the kind of what came first in `KINDS`, and what became of it in `OUTCOMES`."""

    kinds: dict[str, Codes]
    outcomes: dict[str, Codes]
    any_gold: bool = False
    any_set: bool = False


def first_results(runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark) -> FirstResults:
    ranked = {s.system: run.ranked_pages() for s, run in zip(systems, runs, strict=True)}
    failures = {s.system: run.failures for s, run in zip(systems, runs, strict=True)}
    size = len(benchmark.queries)
    results = FirstResults(
        {system: np.zeros(size, np.int8) for system in ranked},
        {system: np.zeros(size, np.int8) for system in ranked},
    )
    place = 0
    for block in blocks(benchmark.queries, _BLOCK):
        ids = [query.id for query in block]
        gold = [query.gold_pages() for query in block]
        others = benchmark.others_of(block)
        results.any_gold = results.any_gold or any(gold)
        results.any_set = results.any_set or any(query.name_set for query in block)
        for system, pages in ranked.items():
            lists = of_many(pages, ids)
            where = slice(place, place + len(block))
            results.kinds[system][where] = [
                KINDS.index(first_kind(i, p, g, o, failures[system]))
                for i, p, g, o in zip(ids, lists, gold, others, strict=True)
            ]
            results.outcomes[system][where] = [
                OUTCOMES.index(outcome_of(p, g, o)) for p, g, o in zip(lists, gold, others, strict=True)
            ]
        place += len(block)
    return results


def first_kind(
    query: str,
    pages: Sequence[str],
    gold: frozenset[str],
    others: frozenset[str],
    failures: Mapping[str, Any],
) -> str:
    if query in failures:
        return "failed"
    return kind_of_page(pages[0], gold, others) if pages else "nothing"


def outcome_of(pages: Sequence[str], gold: frozenset[str], others: frozenset[str]) -> _Outcome:
    """One of four: each question counts once."""
    if pages and pages[0] in gold:
        return "right"
    if is_confused(pages[:DEPTH], gold, others):
        return "confused"
    return "later" if first_rank(pages, gold) is not None else "missing"


# The most telling names: bearers, popularity, queries, and what each system put first.
MOST = 200
_PANELS_BLOCK = 4_096
_SIGNS = {"gold": "✓", "namesake": "✗", "nothing": "∅", "failed": "∅"}


class First(msgspec.Struct, frozen=True):
    system: str
    page: str | None
    title: str
    kind: str  # gold, namesake, other, nothing, failed


class Panel(msgspec.Struct, frozen=True):
    name_set: NameSet
    queries: list[tuple[Query, list[First]]]
    telling: float


def clearest_panels(
    runs: Sequence[Run],
    systems: Sequence[Scores],
    benchmark: Benchmark,
    most: int = MOST,
    results: FirstResults | None = None,
) -> list[Panel]:
    """Names by how much they tell: confused queries first, then queries on which the systems differ."""
    results = results or first_results(runs, systems, benchmark)
    if not results.any_set:
        return []
    asked = asked_sets(benchmark.queries)
    telling = _telling(list(results.kinds.values()), asked.numbers)

    def candidates() -> Iterator[tuple[tuple[float, str, str], NameSet, int]]:
        for block in blocks(benchmark.sets, _PANELS_BLOCK):
            for name_set, number in zip(block, asked.of([s.id for s in block]), strict=True):
                if number is not None:
                    yield (-float(telling[number]), name_set.name, name_set.id), name_set, number

    best = heapq.nsmallest(most, candidates(), key=lambda candidate: candidate[0])
    rows = rows_of_sets(asked.numbers, [number for *_, number in best])
    members = grouped(
        (query.name_set or "", (query, firsts))
        for query, firsts in _with_firsts(list(Selection(benchmark.queries, rows)), runs, systems, benchmark)
    )
    return [Panel(s, members[s.id], -telling) for (telling, *_), s, _ in best]


def _telling(kinds: Sequence[Codes], sets: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """For each name set, at the place of its first query: the share of firsts that are a namesake's, and of queries on which systems differ."""
    firsts, asked = np.stack(kinds), sets >= 0
    right = firsts == GOLD
    often, confused, differ = (
        np.bincount(sets[asked], of[asked], minlength=len(sets))
        for of in (np.ones(len(sets)), (firsts == NAMESAKE).mean(0), right.any(0) & ~right.all(0))
    )
    return (confused + differ) / np.maximum(often, 1)


def _with_firsts(
    queries: Sequence[Query], runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark
) -> Iterator[tuple[Query, list[First]]]:
    others, labels = benchmark.others_of(queries), BearerLabels(benchmark)
    tops = [of_many(run.ranked_pages(), [query.id for query in queries]) for run in runs]
    for n, query in enumerate(queries):
        firsts = []
        for run, scores, lists in zip(runs, systems, tops, strict=True):
            kind = first_kind(query.id, lists[n], query.gold_pages(), others[n], run.failures)
            page = lists[n][0] if lists[n] and kind != "failed" else None
            title = labels.of_page(page, query.name_set) if page else kind
            firsts.append(First(scores.system, page, title, kind))
        yield query, firsts


_BECAME: dict[str, _Outcome] = {"gold": "right", "namesake": "confused", "other": "later"}


def names_html(
    panels: Sequence[Panel], known: BearerLabels, systems: Sequence[str], *, redact: bool = False
) -> str:
    """The names as a table, each with its bearers and queries folded.

    With `redact`, names and texts are replaced by their order; the id of a name set may contain the
    name and is shown as little.
    """
    names = [_name(panel, known, n, redact) for n, panel in enumerate(panels, 1)]
    return render("names.html", names=names, systems=systems)


def _name(panel: Panel, known: BearerLabels, number: int, redact: bool) -> dict[str, Any]:
    bearers = panel.name_set.bearers
    most = max((math.log10(1 + (b.popularity or 0)) for b in bearers), default=0.0) or 1.0
    counts = [dict.fromkeys(OUTCOMES, 0) for _ in panel.queries[0][1]]
    for _, firsts in panel.queries:
        for count, first in zip(counts, firsts, strict=True):
            count[_BECAME.get(first.kind, "missing")] += 1
    return {
        "name": f"name {number}" if redact else panel.name_set.name,
        "bearers": [
            {
                "label": f"bearer {n}" if redact else label, "role": b.role,
                "popularity": b.popularity, "reach": math.log10(1 + (b.popularity or 0)) / most,
            }
            for n, (b, label) in enumerate(
                zip(bearers, known.of_set(panel.name_set), strict=True), 1
            )
        ],
        "queries": [
            {
                "text": f"query {n}" if redact else query.input,
                "about": (query.role if redact else _about(query, known)) or "–",
                "firsts": [
                    {"system": f.system, "kind": f.kind, "sign": _SIGNS.get(f.kind, "–"),
                     "title": f.kind if redact else f.title}
                    for f in firsts
                ],
            }
            for n, (query, firsts) in enumerate(panel.queries, 1)
        ],
        "confusions": sum(count["confused"] for count in counts),
        "counts": counts,
    }  # fmt: skip


def _about(query: Query, known: BearerLabels) -> str | None:
    return next((known.of_page(page, query.name_set) for page in sorted(query.gold_pages())), query.entity)


_EXAMPLES = 3
_LONGEST = 260


class Shares(msgspec.Struct, frozen=True):
    """What became of one system's questions, and how sure the share of right ones is."""

    system: str
    counts: dict[_Outcome, int]
    right: Estimate

    def share(self, outcome: _Outcome) -> float:
        return self.counts[outcome] / max(1, sum(self.counts.values()))

    def of_100(self, outcome: _Outcome) -> str:
        return f"{100 * self.share(outcome):.0f}"


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
    ordered = best_first(systems, results)
    overall = [_shares(s, results.outcomes[s.system], every) for s in ordered]
    order, worst = [s.system for s in ordered], most_confused(overall).system
    examples = [] if redact else _examples(runs, systems, benchmark, telling, order, worst)
    shown = render(
        "first_screen.html", shares=shares_by(ordered, results, groups), namesakes=results.any_set,
        examples=examples, verdict=verdict(overall, examples[0]["name"] if examples else None),
    )  # fmt: skip
    return Section("In short", html=shown)


def best_first(systems: Sequence[Scores], results: FirstResults) -> list[Scores]:
    """By how many questions they are right for, then by how seldom they are confused."""

    def place(scores: Scores) -> tuple[int, int, str]:
        counted = np.bincount(results.outcomes[scores.system], minlength=len(OUTCOMES))
        return -int(counted[0]), int(counted[1]), scores.system

    return sorted(systems, key=place)


def _shares(scores: Scores, outcomes: Codes, rows: npt.NDArray[np.int64]) -> Shares:
    counted = np.bincount(outcomes[rows], minlength=len(OUTCOMES)).tolist()
    (measure,) = parse_measures(["acc@1"])
    return Shares(scores.system, dict(zip(OUTCOMES, counted, strict=True)), estimate(scores, measure, rows))


def shares_by(
    systems: Sequence[Scores], results: FirstResults, groups: Mapping[str, npt.NDArray[np.int64]]
) -> dict[str, list[Shares]]:
    return {
        group: [_shares(s, results.outcomes[s.system], rows) for s in systems]
        for group, rows in groups.items()
    }


def most_confused(overall: Sequence[Shares]) -> Shares:
    return max(overall, key=lambda shares: shares.share("confused"))


def verdict(overall: Sequence[Shares], name: str | None) -> str:
    """One sentence in plain words, about the best and the most confused of the systems."""
    best, worst = overall[0], most_confused(overall)
    which = f"the wrong {name}, or the wrong bearer of another name," if name else "the wrong one"
    if best is worst:
        return (
            f"{best.system} is right for {best.of_100('right')} of 100 questions and hands over "
            f"{which} in {best.of_100('confused')}."
        )
    return (
        f"{worst.system} hands over {which} in {worst.of_100('confused')} of 100 questions; "
        f"{best.system} in {best.of_100('confused')}."
    )


def _examples(
    runs: Sequence[Run], systems: Sequence[Scores], benchmark: Benchmark,
    telling: Sequence[Panel], order: Sequence[str], worst: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """Questions on which one system is right and another falls for a namesake, a name each.

    The first shows what the verdict is about: `worst` falls for the namesake and the first of `order` is
    right. An example on which another system falls for it has no name.
    """
    candidates: list[tuple[tuple[bool, bool], Panel, Query, list[First]]] = []
    for panel in telling:
        for query, firsts in panel.queries:
            by = {first.system: first for first in firsts}
            right = [by[s] for s in order if by[s].kind == "gold"][:1]
            wrong = [by[s] for s in (worst, *reversed(order)) if by[s].kind == "namesake"][:1]
            if wrong and (right or len(order) == 1):
                both = wrong[0].system == worst, not right or right[0].system == order[0]
                candidates.append((both, panel, query, right + wrong))
    if not candidates:
        return []
    lead = max(candidates, key=lambda candidate: candidate[0])
    by_name = {lead[1].name_set.id: lead}
    for candidate in candidates:
        by_name.setdefault(candidate[1].name_set.id, candidate)
    chosen = list(by_name.values())[:_EXAMPLES]
    passages = {
        (scores.system, question): passage
        for run, scores in zip(runs, systems, strict=True)
        for question, (passage, _) in run.firsts([query.id for _, _, query, _ in chosen]).items()
    }
    texts = _texts(benchmark, set(passages.values()))
    examples = []
    for _, panel, query, given in chosen:
        shown = []
        for first in given:
            text = texts.get(passages.get((first.system, query.id), ""), "")
            cut = text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"
            words = "right first" if first.kind == "gold" else "fell for a namesake"
            shown.append(
                {"system": first.system, "kind": first.kind, "sign": _SIGNS[first.kind],
                 "words": words, "title": first.title, "text": cut}
            )  # fmt: skip
        name = panel.name_set.name if given[-1].system == worst else None
        examples.append({"name": name, "question": query.input, "given": shown})
    return examples


def _texts(benchmark: Benchmark, ids: set[str]) -> dict[str, str]:
    """Texts of passages by id; of a page, as some systems rank them, that of its first passage."""
    corpus = benchmark.corpus
    first = {i: corpus.passages_of(i)[0] if corpus.page_row(i) is not None else i for i in ids}
    known = corpus.get(sorted({*first.values()}))
    return {i: known[passage].text for i, passage in first.items() if passage in known}
