"""Measures of pages in expectation over all orders of what has equal scores; written beside an exported mteb task, so it imports nothing of whichone."""

from collections.abc import Collection, Iterator, Mapping
from math import comb


def tied_groups(scores: Mapping[str, float], pages: Mapping[str, str]) -> Iterator[tuple[float, set[str]]]:
    """Pages by the score of their best passage, best first; pages of one score together."""
    best: dict[str, float] = {}
    for passage, score in scores.items():
        page = pages.get(passage, passage)
        best[page] = max(score, best.get(page, score))
    groups: dict[float, set[str]] = {}
    for page, score in best.items():
        groups.setdefault(score, set()).add(page)
    yield from sorted(groups.items(), reverse=True)


def expected_accuracy(groups: list[set[str]], gold: Collection[str], k: int) -> float:
    """How probable it is that a gold page is among the first `k`, when ties are broken by chance."""
    return expected_confusion(groups, (), gold, k)


def expected_confusion(
    groups: list[set[str]], gold: Collection[str], others: Collection[str], k: int
) -> float:
    """How probable it is that a namesake's page is among the first `k` and before every gold page."""
    before = 0
    for group in groups:
        if (places := min(k - before, len(group))) <= 0:
            break
        right, wrong = len(group.intersection(gold)), len(group.intersection(others))
        if marked := right + wrong:
            seen = 1 - comb(len(group) - marked, places) / comb(len(group), places)
            return seen * wrong / marked
        before += len(group)
    return 0.0


def tie_aware_scores(
    results: Mapping[str, Mapping[str, float]],
    pages: Mapping[str, str],
    gold: Mapping[str, Collection[str]],
    others: Mapping[str, Collection[str]],
) -> dict[str, float]:
    """acc@1, acc@5 and confused@20 of pages over all questions with gold, and how many first places are shared.

    Confusion is over the questions that `others` has, whose name is shared. A question without results is wrong.
    """
    asked = [question for question, right in gold.items() if right]
    groups = {q: [g for _, g in tied_groups(results.get(q, {}), pages)] for q in asked}
    shared = [q for q in asked if q in others]
    confusions = [expected_confusion(groups[q], gold[q], others[q], 20) for q in shared]
    return {
        "page_acc_at_1": _mean([expected_accuracy(groups[q], gold[q], 1) for q in asked]),
        "page_acc_at_5": _mean([expected_accuracy(groups[q], gold[q], 5) for q in asked]),
        **({"confused_at_20": _mean(confusions)} if shared else {}),
        "tied_first_places": _mean([float(len(groups[q][:1] and groups[q][0]) > 1) for q in asked]),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
