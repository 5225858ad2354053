"""What a study found: people's accuracy, exact match and time, beside the systems on the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from whichone.measures.agreement import fleiss_kappa, mean_cohen_kappa
from whichone.measures.intervals import interval
from whichone.records import page_of
from whichone.runs.answers import Answers
from whichone.text import squad
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site
from whichone.web.study.study import Plan, answers

_DEEP = 1000


def exact_match(span: str | None, accepted: Sequence[str]) -> bool:
    return bool(span) and squad.normalize(span or "") in {squad.normalize(a) for a in accepted}


def study_results(
    site: Site, study: str, plan: Plan, served: ServedBenchmark | None
) -> dict[str, Any]:
    """People one by one and together, their agreement, and systems; practice does not count."""
    rows = [r for r in answers(site.database, study) if r["item"] >= plan.pilot]
    scored = [
        {**r, "right": r["page"] == plan.items[r["item"]].gold,
         "exact": exact_match(r["span"], plan.items[r["item"]].answers)}
        for r in rows
    ]  # fmt: skip
    people = sorted({r["person"] for r in scored})
    picks = {
        p: {r["item"]: plan.items[r["item"]].pages.index(r["page"]) for r in scored if r["person"] == p}
        for p in people
    }  # fmt: skip
    seen = sorted({r["item"] for r in scored})
    return {
        "items": len(plan.items) - plan.pilot,
        "answered_items": len(seen),
        "people": [_person([r for r in scored if r["person"] == p], p) for p in people],
        "all": _person(scored, "all people") if scored else None,
        "agreement": {"fleiss": fleiss_kappa(picks), "cohen": mean_cohen_kappa(picks)},
        "systems": system_scores(site, plan, served, seen or range(plan.pilot, len(plan.items)))
        if served
        else [],
    }


def _person(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    items = [r["item"] for r in rows]
    return {
        "person": name,
        "answers": len(rows),
        "accuracy": interval([float(r["right"]) for r in rows], items).brief(),
        "em": interval([float(r["exact"]) for r in rows], items).brief(),
        "seconds": median(r["seconds"] for r in rows),
        "mean_seconds": fmean(r["seconds"] for r in rows),
    }


def system_scores(
    site: Site, plan: Plan, served: ServedBenchmark, numbers: Sequence[int] | range
) -> list[dict[str, Any]]:
    """Each run on the items: the gold page first of all, and first among the three."""
    items = [plan.items[n] for n in numbers]
    found = []
    for run in served.runs.values():
        tops = site.tables.top(run.folder.path("rankings.parquet"), [i.query for i in items], _DEEP)
        first, among = [], []
        for item in items:
            pages = [page_of(passage) for _, passage, _ in tops.get(item.query, ())]
            first.append(float(bool(pages) and pages[0] == item.gold))
            among.append(float(next((p for p in pages if p in item.pages), None) == item.gold))
        found.append(
            {
                "system": run.name,
                "accuracy": interval(first).brief(),
                "among_three": interval(among).brief(),
                "em": None,
            }
        )
    return [*found, *_readers(served, {i.query: i.answers for i in items})]


def _readers(
    served: ServedBenchmark, accepted: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Readers' exact match on the items, from folders of answers below the served folder.

    A question that a reader failed on or refused is wrong; one that its setting left out is not asked.
    """
    found = []
    for folder in served.answers:
        answers = Answers(folder)
        said = {q: a.text for q, a in answers.answers.items()}
        asked = {q: a for q, a in accepted.items() if q not in answers.left_out}
        values = [float(exact_match(said.get(q), a)) for q, a in asked.items()]
        if values:
            em = interval(values).brief()
            name = answers.name or folder.root.name
            found.append({"system": name, "accuracy": None, "among_three": None, "em": em})
    return found
