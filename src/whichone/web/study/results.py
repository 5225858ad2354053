"""What a study found: people's accuracy, exact match and time, beside the systems on the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from whichone.measures.comparison import fleiss_kappa, mean_cohen_kappa
from whichone.measures.intervals import interval
from whichone.records import page_of
from whichone.runs.run import Answers
from whichone.text import normalisers
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site
from whichone.web.study.study import CHECK, SKIPPED, Plan, answers

_DEEP = 1000


def exact_match(span: str | None, accepted: Sequence[str]) -> bool:
    return bool(span) and normalisers.normalize(span or "") in {
        normalisers.normalize(a) for a in accepted
    }


def study_results(
    site: Site, study: str, plan: Plan, served: ServedBenchmark | None, *, everybody: bool = False
) -> dict[str, Any]:
    """People one by one and together, their agreement, items, and systems; practice does not count.

    Whoever failed an attention check is flagged, and left out unless `everybody` is asked for.
    """
    scored = scored_answers(site, study, plan)
    people = sorted({r["person"] for r in scored})
    flagged = sorted({r["person"] for r in scored if r["check"] and not r["right"]})
    counted = [
        r for r in scored if not r["check"] and (everybody or r["person"] not in flagged)
    ]  # fmt: skip
    picks = {
        p: {r["item"]: plan.items[r["item"]].pages.index(r["page"])
            for r in counted if r["person"] == p and r["page"] != SKIPPED}
        for p in people
    }  # fmt: skip
    seen = sorted({r["item"] for r in counted})
    asked = [n for n in range(plan.pilot, len(plan.items)) if not _is_check(plan, n)]
    return {
        "items": len(asked),
        "answered_items": len(seen),
        "checks": plan.checks,
        "flagged": flagged,
        "left_out": [] if everybody else flagged,
        "people": [
            {**_person([r for r in scored if r["person"] == p and not r["check"]], p),
             "checks_passed": sum(r["right"] for r in scored if r["person"] == p and r["check"]),
             "checks": sum(r["check"] for r in scored if r["person"] == p),
             "flagged": p in flagged}
            for p in people
        ],
        "all": _person(counted, "all people") if counted else None,
        "agreement": {"fleiss": fleiss_kappa(picks), "cohen": mean_cohen_kappa(picks)},
        "per_item": [_item(plan, n, [r for r in counted if r["item"] == n]) for n in seen],
        "systems": system_scores(site, plan, served, seen or asked) if served else [],
    }  # fmt: skip


def scored_answers(site: Site, study: str, plan: Plan) -> list[dict[str, Any]]:
    """Every answer outside practice with its item, right or not, exact or not."""
    return [
        {**r, "query": plan.items[r["item"]].query, "question": plan.items[r["item"]].question,
         "gold": plan.items[r["item"]].gold, "right": r["page"] == plan.items[r["item"]].gold,
         "exact": exact_match(r["span"], plan.items[r["item"]].answers),
         "skipped": r["page"] == SKIPPED, "check": _is_check(plan, r["item"])}
        for r in answers(site.database, study)
        if r["item"] >= plan.pilot
    ]  # fmt: skip


def _is_check(plan: Plan, item: int) -> bool:
    return plan.items[item].query.startswith(CHECK)


def _item(plan: Plan, item: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "item": item,
        "query": plan.items[item].query,
        "question": plan.items[item].question,
        "answers": len(rows),
        "right": sum(r["right"] for r in rows),
        "exact": sum(r["exact"] for r in rows),
        "skipped": sum(r["skipped"] for r in rows),
        "seconds": median(r["seconds"] for r in rows),
    }


def _person(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    if not rows:
        return {"person": name, "answers": 0, "accuracy": None, "em": None, "seconds": None, "mean_seconds": None}  # fmt: skip
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
    scores = []
    for run in served.runs.values():
        tops = site.tables.top(run.folder.path("rankings.parquet"), [i.query for i in items], _DEEP)
        first, among = [], []
        for item in items:
            pages = [page_of(passage) for _, passage, _ in tops.get(item.query, ())]
            first.append(float(bool(pages) and pages[0] == item.gold))
            among.append(float(next((p for p in pages if p in item.pages), None) == item.gold))
        scores.append(
            {
                "system": run.name,
                "accuracy": interval(first).brief(),
                "among_three": interval(among).brief(),
                "em": None,
            }
        )
    return [*scores, *_readers(served, {i.query: i.answers for i in items})]


def _readers(
    served: ServedBenchmark, accepted: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Readers' exact match on the items, from folders of answers below the served folder.

    A question that a reader failed on or refused is wrong; one that its setting left out is not asked.
    """
    scores = []
    for folder in served.answers:
        answers = Answers(folder)
        said = {q: a.text for q, a in answers.answers.items()}
        asked = {q: a for q, a in accepted.items() if q not in answers.left_out}
        values = [float(exact_match(said.get(q), a)) for q, a in asked.items()]
        if values:
            em = interval(values).brief()
            name = answers.name or folder.root.name
            scores.append({"system": name, "accuracy": None, "among_three": None, "em": em})
    return scores
