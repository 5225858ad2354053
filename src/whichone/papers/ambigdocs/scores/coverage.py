"""Entity coverage: of how many bearers does a retriever bring a passage among its first k?

What a reader can answer from retrieved passages is bounded by it.
"""

from __future__ import annotations

from whichone.measures.measure import Measure, Retrieved, needs_depth
from whichone.records import page_of


def covered_bearers(retrieved: Retrieved, k: int) -> list[bool] | None:
    """For every answered bearer of the question, whether one of its pages is in the first k passages.

    None where the question has no bearer with a page.
    """
    bearers = [
        frozenset(p.page for group in output.provenance for p in group)
        for output in retrieved.query.outputs
        if output.answer is not None and output.provenance
    ]
    if not bearers:
        return None
    all_pages = {page_of(passage) for passage in retrieved.passages[:k]}
    return [bool(pages & all_pages) for pages in bearers]


def entity_coverage(k: int | None = None) -> Measure:
    """Share of the bearers with a passage among the first k."""
    depth = needs_depth("entity_coverage", k)

    def value(retrieved: Retrieved) -> float | None:
        covered = covered_bearers(retrieved, depth)
        return None if covered is None else sum(covered) / len(covered)

    return Measure("entity_coverage", value, k=depth, needs_text=True)


def all_entities(k: int | None = None) -> Measure:
    """Whether every bearer has a passage among the first k: only then a complete answer is possible."""
    depth = needs_depth("all_entities", k)

    def value(retrieved: Retrieved) -> float | None:
        covered = covered_bearers(retrieved, depth)
        return None if covered is None else float(all(covered))

    return Measure("all_entities", value, k=depth, needs_text=True)
