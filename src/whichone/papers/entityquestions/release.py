"""A benchmark as the folders of EntityQuestions' release: splits, buckets and reworded questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import Relation, published_relations
from whichone.files.lines import read_json_lines
from whichone.papers.entityquestions.files import RANDOM, SEEN, write_questions
from whichone.records import Output, Query

TRAIN = "train.jsonl"


def export_entityquestions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """The release's folders: train, dev and test by relation, and `one-off` with buckets and similar."""
    return write_release(out, [*benchmark.queries, *_training(benchmark)])


def write_release(folder: str | Path, queries: Iterable[Query]) -> dict[str, int]:
    """Every question at its place under a folder, as released; how many went where."""
    grouped: dict[str, list[Query]] = {}
    for query in queries:
        for place, placed in _places(query):
            grouped.setdefault(place, []).append(placed)
    counts = {}
    for place, members in sorted(grouped.items()):
        path = Path(folder) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        counts[place] = write_questions(path, members)
    return counts


def _places(query: Query) -> Iterator[tuple[str, Query]]:
    """Where a question goes: one that was imported to where it was, a built one to all its sets."""
    relation = query.relation or "questions"
    split = str(query.attributes.get("split", "test"))
    bucket = f"{relation}/bucket{query.attributes.get('bucket')}.test.json"
    if "set" in query.attributes:
        yield _imported(query, relation, split, bucket), query
        return
    if split != "none":
        yield f"{split}/{relation}.{split}.json", query
        reworded = _reworded(query)
        if reworded is not None:
            similar = f"one-off/similar/{relation}/{relation}_similar.{split}.json"
            yield similar, msgspec.structs.replace(query, input=reworded)
    if query.attributes.get("rand_ent"):
        yield f"one-off/{RANDOM}/{bucket}", query
    if query.attributes.get("train_ent"):
        yield f"one-off/{SEEN}/{bucket}", query


def _imported(query: Query, relation: str, split: str, bucket: str) -> str:
    kind = str(query.attributes["set"])
    if kind == "main":
        return f"{split}/{relation}.{split}.json"
    if query.attributes.get("bucket") is not None:
        return f"one-off/{kind}/{bucket}"
    return f"one-off/{kind}/{relation}/{relation}_{kind.replace('-', '_')}.{split}.json"


def _reworded(query: Query) -> str | None:
    """The question in other words, where its relation has some."""
    if "reworded" in query.attributes:
        return str(query.attributes["reworded"])
    known: Relation | None = published_relations().get(query.relation or "")
    if known is None or known.reworded is None or query.name is None:
        return None
    return known.ask(query.name, reworded=True) if known.ask(query.name) == query.input else None


def _training(benchmark: Benchmark) -> Iterator[Query]:
    """The training facts that a built benchmark keeps beside its queries."""
    if not benchmark.folder.has(TRAIN):
        return
    for _, fact in read_json_lines(benchmark.folder.path(TRAIN), dict[str, Any]):
        first, *others = fact["answers"]
        said = {"reworded": fact["reworded"]} if "reworded" in fact else {}
        yield Query(
            id=f"train-{fact['id']}",
            task="EntityQuestions",
            input=fact["question"],
            outputs=(Output(answer=first, aliases=tuple(others)),),
            relation=fact["relation"],
            attributes={"split": "train", **said},
        )
