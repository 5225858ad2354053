"""What a campaign for evidence comes to: a majority of two merges, agreement, controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from whichone.measures.comparison import fleiss_kappa, mean_cohen_kappa
from whichone.records import page_of
from whichone.text.normalisers import best_rouge_l, sentence_words
from whichone.web.annotation.done import MAJORITY, Done, flagged_people, people_of
from whichone.web.annotation.evidence import Annotation
from whichone.web.annotation.evidence_tasks import Task
from whichone.web.annotation.pasted import Resolved, agreed, left_over

Judgements = Done[Task, Annotation]
NOBODY: frozenset[str] = frozenset()


def accepted(done: Judgements, without: frozenset[str] = NOBODY) -> list[str]:
    """Passages that a majority found enough; in the second queue also whoever looked again."""
    votes = [a for person, a in done.first.items() if person not in without]
    kept = []
    for passage in done.task.passages:
        yes = sum(a.passages[passage.id].enough for a in votes)
        again = all(
            a.passages[passage.id].enough for p, a in done.second.items() if p not in without
        )
        if yes >= MAJORITY and again:
            kept.append(passage.id)
    return kept


def low_overlap(done: Judgements, texts: Mapping[str, str], limit: float) -> bool:
    """Whether no accepted passage reaches the limit of ROUGE-L with any gold answer."""
    kept = accepted(done)
    if not kept or not limit:
        return False
    golds = [sentence_words(answer) for answer in done.task.answers]
    best = max(best_rouge_l(sentence_words(texts.get(p, "")), golds) for p in kept)
    return best < limit


def controls(task: Task, said: Annotation) -> tuple[int, int]:
    """How many gold passages a task contains, and how many a person accepted."""
    gold = [p.id for p in task.passages if p.control]
    return len(gold), sum(said.passages[p].enough for p in gold)


def gold_rejected(done: Judgements, without: frozenset[str] = NOBODY) -> bool:
    """Whether two people rejected the gold, or whoever looked again; one person alone does not."""
    gold = {p.id for p in done.task.passages if p.control}
    if not gold.isdisjoint(accepted(done, without)):
        return False
    first = [a for person, a in done.first.items() if person not in without]
    again = [a for person, a in done.second.items() if person not in without]
    return any(
        sum(not a.passages[g].enough for a in first) >= MAJORITY
        or any(not a.passages[g].enough for a in again)
        for g in gold
    )


def new_passages(done: Judgements, without: frozenset[str] = NOBODY) -> list[str]:
    gold = {p.id for p in done.task.passages if p.control}
    return [p for p in accepted(done, without) if p not in gold]


def dropped(
    done: Judgements, resolved: Mapping[str, Resolved], without: frozenset[str] = NOBODY
) -> bool:
    """A question whose gold is rejected goes, unless two people pasted the same other evidence."""
    return gold_rejected(done, without) and not agreed(done, resolved, without)


def ratings_of(tasks: Sequence[Judgements]) -> dict[str, dict[Any, Any]]:
    """For each person what they said of each passage of the first queue."""
    ratings: dict[str, dict[Any, Any]] = {}
    for done in tasks:
        for person, said in done.first.items():
            for identity, judged in said.passages.items():
                ratings.setdefault(person, {})[done.number, identity] = judged.enough
    return ratings


def evidence_results(
    tasks: Sequence[Judgements],
    gold_pages: Callable[[str], frozenset[str]],
    resolved: Mapping[str, Resolved],
    *,
    without_flagged: bool = False,
) -> dict[str, Any]:
    """Counts, agreement, people, pasted evidence, and pages per question before and after."""
    people = people_of(tasks, controls)
    without = frozenset(flagged_people(people)) if without_flagged else NOBODY
    ratings = ratings_of(tasks)
    settled = [d for d in tasks if d.settled]
    kept = [d for d in settled if not dropped(d, resolved, without)]
    before = [len(gold_pages(d.task.query)) for d in kept]
    after = [len(_pages_after(d, gold_pages(d.task.query), resolved, without)) for d in kept]
    said_all = [a for d in tasks for a in (*d.first.values(), *d.second.values())]
    over = left_over(tasks, resolved, without)
    return {
        "tasks": len(tasks),
        "annotations": len(said_all),
        "finished": sum(d.full for d in tasks),
        "in_second_queue": sum(d.waiting for d in tasks),
        "dropped": len(settled) - len(kept),
        "passages_added": sum(len(new_passages(d, without)) for d in kept),
        "pasted": sum(bool(a.other.strip()) for a in said_all),
        "pasted_merged": sum(len(agreed(d, resolved, without)) for d in kept),
        "pasted_left_over": over,
        "kept_by_pasted": sum(gold_rejected(d, without) for d in kept),
        "reasons": sum(bool(a.reason.strip()) for a in said_all),
        "pages_before": fmean(before) if before else None,
        "pages_after": fmean(after) if after else None,
        "cohen": mean_cohen_kappa(ratings),
        "fleiss": fleiss_kappa(ratings),
        "people": people,
        "flagged": flagged_people(people),
    }


def _pages_after(
    done: Judgements,
    gold: frozenset[str],
    resolved: Mapping[str, Resolved],
    without: frozenset[str],
) -> frozenset[str]:
    added = frozenset(
        page_of(p) for p in (*new_passages(done, without), *agreed(done, resolved, without))
    )
    return added if gold_rejected(done, without) else gold | added
