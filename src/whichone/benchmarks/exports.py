"""A benchmark as TREC, BEIR and DPR files, and the ids that passages and pages have in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.gold import NOT_RELEVANT, RELEVANCE
from whichone.corpus.corpus import to_trec
from whichone.errors import UsageError
from whichone.files.lines import write_atomic, write_lines
from whichone.records import Query, page_of


def export_dpr_questions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """One JSON list of {question, answers}, and relation where there is one, in the queries' order."""
    rows = [
        {"question": q.input, "answers": list(q.answers())}
        | ({"relation": q.relation} if q.relation else {})
        for q in benchmark.queries
    ]
    path = Path(out)
    if path.suffix != ".json":
        path.mkdir(parents=True, exist_ok=True)
        path /= "questions.json"
    write_atomic(path, json.dumps(rows, ensure_ascii=False, indent=1).encode())
    return {path.name: len(rows)}


HEADER = b"query-id\tcorpus-id\tscore"


def export_beir(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Passages, questions, and as relevant the gold passages, or every passage of a gold page."""
    if not benchmark.passages.num_rows:
        raise UsageError(
            f"{benchmark.name} has no passages",
            hint="import it with --knowledge or --passages: a BEIR folder contains its corpus",
        )
    out = Path(out)
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.encode
    ids = exported_ids(benchmark)
    corpus = (
        encode({"_id": ids[p.id], "title": p.title, "text": p.text})
        for p in benchmark.passage_records()
    )
    queries = (encode({"_id": to_trec(q.id), "text": q.input}) for q in benchmark.queries)
    written = {
        "corpus.jsonl": write_lines(out / "corpus.jsonl", corpus),
        "queries.jsonl": write_lines(out / "queries.jsonl", queries),
    }
    splits: dict[str, list[bytes]] = {split_of(query): [] for query in benchmark.queries}
    for query, passage, relevance in judgements(benchmark):
        line = f"{to_trec(query.id)}\t{ids.get(passage, passage)}\t{relevance}"
        splits[split_of(query)].append(line.encode())
    for split, lines in splits.items():
        file = Path("qrels") / f"{split}.tsv"
        written[str(file)] = write_lines(out / file, [HEADER, *lines]) - 1
    return written


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


def export_trec(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `topics.tsv`, `qrels.pages.txt` and `qrels.passages.txt`, which fits exported runs.

    Relevant passages are the gold ones, or all of a gold page; where neither is known there is no file.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = {
        "topics.tsv": write_lines(out / "topics.tsv", _topics(benchmark.queries)),
        "qrels.pages.txt": write_lines(out / "qrels.pages.txt", _qrels(benchmark.queries)),
    }
    ids = exported_ids(benchmark)
    passages = [
        f"{to_trec(query.id)} 0 {ids.get(passage) or to_trec(passage)} {relevance}".encode()
        for query, passage, relevance in judgements(benchmark)
    ]
    if passages:
        name = "qrels.passages.txt"
        written[name] = write_lines(out / name, passages)
    return written


def _topics(queries: Iterable[Query]) -> Iterator[bytes]:
    for query in queries:
        text = " ".join(query.input.split())
        yield f"{to_trec(query.id)}\t{text}".encode()


def _qrels(queries: Iterable[Query]) -> Iterator[bytes]:
    for query in queries:
        for page, relevance in sorted(page_grades(query).items()):
            yield f"{to_trec(query.id)} 0 {to_trec(page)} {relevance}".encode()
