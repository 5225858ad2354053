"""Facts of three relations whose pages are in the 48k corpus, in EntityQuestions' words and in others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from namesake_proof.data import benchmark_48k

RELATIONS = ("P19", "P170", "P159")
POPQA = {"place of birth": "P19"}
TESTED = 0.4  # Of the names that the release does not train on


def benchmarks(shared: Path, work: Path) -> tuple[Any, list[Any]]:
    """The 48k development questions, and the released questions over the same pages."""
    from whichone.benchmarks.benchmark import Benchmark, over_corpus
    from whichone.benchmarks.question_files import import_published
    from whichone.papers.entityquestions.entityquestions_files import read_questions

    whole = benchmark_48k(shared, work / "whole")
    released = []
    for part in ("dev", "one-off"):
        place = work / f"released-{part}"
        if not (place / "manifest.json").exists():
            files = sorted((shared / "data" / "entityquestions" / part).rglob("*.json.gz"))
            with over_corpus(whole.corpus):
                queries = (query for file in files for query in read_questions(file))
                import_published(queries, None, place, name=part, files=files, about="as released")
        released.append(Benchmark.open(place))
    return whole, released


def wordings(relation: str) -> tuple[str, str]:
    """How EntityQuestions asks for it, and how its "similar" sets do."""
    from whichone.benchmarks.relations import published_relations

    known = published_relations()[relation]
    return known.question, known.reworded


def asked(query: Any, name: str, relation: str, wording: str) -> Any:
    import msgspec

    return msgspec.structs.replace(
        query, task="qa", input=wording.replace("$name", name), name=name, relation=relation
    )


def facts(whole: Any, released: Iterable[Any]) -> Iterator[tuple[str, Any, str]]:
    """(relation, question, split): each name once; `train` where the release learns from it."""
    from whichone.names import name_key

    seen: set[tuple[str, str]] = set()
    every = [
        (query.relation, query, query.attributes.get("split") or "", query.attributes.get("set") or "")
        for benchmark in released
        for query in benchmark.queries
        if query.relation in RELATIONS and query.gold_pages()
    ]
    every.sort(key=lambda one: one[3] != "no-overlap")  # whose splits count first
    every += [
        (POPQA.get(query.relation, query.relation), query, "", "48k")
        for query in whole.queries
        if POPQA.get(query.relation, query.relation) in RELATIONS and query.attributes["gold_in_corpus"]
    ]
    for relation, query, split, group in every:
        if group == "similar" or not query.name or (relation, name_key(query.name)) in seen:
            continue
        seen.add((relation, name_key(query.name)))
        kept = split if group == "no-overlap" else ""
        yield relation, asked(query, query.name, relation, wordings(relation)[0]), kept


def lines(file: Path, records: Iterable[Any]) -> int:
    import msgspec

    count = 0
    with gzip.open(file, "wb", 9) as out:
        for record in records:
            out.write(msgspec.json.encode(record) + b"\n")
            count += 1
    return count


def read(file: Path) -> list[Any]:
    with gzip.open(file, "rt") as held:
        return [json.loads(line) for line in held]
