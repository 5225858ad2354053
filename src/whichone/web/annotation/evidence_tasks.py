"""What annotators are asked, as in KILT's section 4: four passages from several systems, and the gold.

A passage is asked about only when it shares a tenth of its tokens with a gold answer; a system that
ranks pages gives a page's first passage. The gold passage is mixed in as control.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import msgspec

from whichone.records import Query, page_of
from whichone.text import normalisers
from whichone.web.served_folder import ServedBenchmark, ServedRun
from whichone.web.table_reader import TableReader

PASSAGES = 4
LEAST_OVERLAP = 0.1
_DEPTH = 20
_BLOCK = 100


class AskedPassage(msgspec.Struct, frozen=True):
    """One passage of a task; `control` is the gold one."""

    id: str
    control: bool = False
    system: str = ""


class Task(msgspec.Struct, frozen=True):
    query: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[AskedPassage, ...]


class Tasks(msgspec.Struct, frozen=True):
    tasks: tuple[Task, ...]
    counts: dict[str, int]


def overlap(text: str, answers: Sequence[str]) -> float:
    """The largest share of an answer's tokens that are in the text."""
    tokens = set(normalisers.squad_tokens(text))
    shares = [
        len(tokens & set(t)) / len(set(t)) for a in answers if (t := normalisers.squad_tokens(a))
    ]
    return max(shares, default=0.0)


def make_tasks(
    served: ServedBenchmark, runs: Sequence[ServedRun], tables: TableReader, *, seed: int, most: int | None,
    tasks: Sequence[str] = (),
) -> Tasks:  # fmt: skip
    """A task for each query (or a seeded sample) that has a gold passage or one worth asking about."""
    queries = [q for q in served.open().queries if q.answers() and (not tasks or q.task in tasks)]
    counts = {"queries": len(queries), "without a passage": 0, "without gold": 0, "passages": 0}
    if most is not None and len(queries) > most:
        queries = random.Random(f"{seed}").sample(queries, most)
    all_tasks: list[Task] = []
    for start in range(0, len(queries), _BLOCK):
        for task in _block(served, runs, tables, queries[start : start + _BLOCK]):
            if not task.passages:
                counts["without a passage"] += 1
                continue
            counts["without gold"] += not any(p.control for p in task.passages)
            counts["passages"] += len(task.passages)
            passages = list(task.passages)
            random.Random(f"{seed}:{task.query}").shuffle(passages)
            all_tasks.append(msgspec.structs.replace(task, passages=tuple(passages)))
    return Tasks(tuple(all_tasks), counts)


def _block(
    served: ServedBenchmark,
    runs: Sequence[ServedRun],
    tables: TableReader,
    queries: Sequence[Query],
) -> Iterator[Task]:
    ids = [q.id for q in queries]
    tops = [tables.top(run.folder.path("rankings.parquet"), ids, _DEPTH) for run in runs]
    pages = {page_of(p) for top in tops for rows in top.values() for _, p, _ in rows}
    pages.update(page for q in queries for page in q.gold_pages())
    texts = _texts(served, tables, pages)
    for query in queries:
        ranked = [[p for _, p, _ in top.get(query.id, ())] for top in tops]
        yield Task(
            query=query.id,
            question=query.input,
            answers=query.answers(),
            passages=tuple(_passages(query, ranked, [r.name for r in runs], texts)),
        )


def _texts(
    served: ServedBenchmark, tables: TableReader, pages: set[str]
) -> dict[str, dict[str, str]]:
    """All passages of some pages: by page, by passage id, in their order."""
    texts: dict[str, dict[str, str]] = {}
    for identity, _, text in tables.passages_of(served.corpus, pages):
        texts.setdefault(page_of(identity), {})[identity] = text
    return texts


def _passages(
    query: Query, ranked: Sequence[Sequence[str]], names: Sequence[str],
    texts: dict[str, dict[str, str]],
) -> Iterator[AskedPassage]:  # fmt: skip
    answers = query.answers()
    taken: set[str] = set()
    gold = _gold_passage(query, texts)
    if gold is not None:
        taken.add(gold)
        yield AskedPassage(gold, control=True)
    asked = 0
    for name, results in zip(names, ranked, strict=True):
        for result in results:
            on_page = texts.get(page_of(result), {})
            passage = result if result in on_page else next(iter(on_page), None)
            if passage is None or passage in taken:
                continue
            if overlap(on_page[passage], answers) >= LEAST_OVERLAP:
                taken.add(passage)
                asked += 1
                yield AskedPassage(passage, system=name)
                break
        if asked == PASSAGES:
            return


def _gold_passage(query: Query, texts: dict[str, dict[str, str]]) -> str | None:
    """The passage that the gold names, else the one of the gold page that has most of an answer."""
    provenances = [p for output in query.outputs for group in output.provenance for p in group]
    for provenance in provenances:
        on_page = texts.get(provenance.page, {})
        if provenance.passage in on_page:
            return provenance.passage
        if on_page:
            answers = query.answers()
            return max(on_page, key=lambda i: overlap(on_page[i], answers))
    return None
