"""What exports call passages and who is relevant: one id for a passage in BEIR, TREC and Hugging Face files alike."""

from __future__ import annotations

from collections.abc import Iterator

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.gold import NOT_RELEVANT, RELEVANCE
from whichone.corpus.trec_ids import to_trec
from whichone.records import Query, page_of


def exported_ids(benchmark: Benchmark) -> dict[str, str]:
    """Every passage's id in exports: what its own corpus calls it, where that is known and unique."""
    table = benchmark.passages
    ours = table["id"].to_pylist()
    theirs = (
        table["source_id"].to_pylist() if "source_id" in table.column_names else [None] * len(ours)
    )
    distinct = len({t for t in theirs if t}) == len(ours)
    return {
        our: to_trec(their if distinct and their else our)
        for our, their in zip(ours, theirs, strict=True)
    }


def judgements(benchmark: Benchmark) -> Iterator[tuple[Query, str, int]]:
    """Query, our passage id and relevance: of every gold passage, or of every passage of a gold page.

    What was judged and is not relevant has relevance 0.
    """
    of_page: dict[str, list[str]] = {}
    table = benchmark.passages.select(["page", "id"])
    for page, passage in zip(table["page"].to_pylist(), table["id"].to_pylist(), strict=True):
        of_page.setdefault(page, []).append(passage)
    for query in benchmark.queries:
        for passage, relevance in sorted(_grades(query, of_page).items()):
            yield query, passage, relevance


def _grades(query: Query, of_page: dict[str, list[str]]) -> dict[str, int]:
    grades: dict[str, int] = {}
    for judged in query.attributes.get(NOT_RELEVANT, ()):
        grades |= dict.fromkeys(of_page.get(judged, [judged]), 0)
    for output in query.outputs:
        for group in output.provenance:
            for entry in group:
                grade = int(entry.attributes.get(RELEVANCE, 1))
                for passage in [entry.passage] if entry.passage else of_page.get(entry.page, ()):
                    grades[passage] = max(grade, grades.get(passage, 0))
    return grades


def page_grades(query: Query) -> dict[str, int]:
    """The relevance of every judged page: of its best passage, 1 where the judgements are not graded."""
    judged = dict.fromkeys(map(page_of, query.attributes.get(NOT_RELEVANT, ())), 0)
    for output in query.outputs:
        for group in output.provenance:
            for entry in group:
                grade = int(entry.attributes.get(RELEVANCE, 1))
                judged[entry.page] = max(grade, judged.get(entry.page, 0))
    return judged


def split_of(query: Query) -> str:
    """The part of the benchmark that a query belongs to; "test" where nothing is said."""
    return str(query.attributes.get("split") or "test")
