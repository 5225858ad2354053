"""A benchmark as a BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.exported_ids import exported_ids, judgements, split_of
from whichone.corpus.trec_ids import to_trec
from whichone.errors import UsageError
from whichone.files.lines import write_lines

HEADER = b"query-id\tcorpus-id\tscore"


def export_beir(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Passages, questions, and as relevant the gold passages, or every passage of a gold page."""
    if not benchmark.passages.num_rows:
        raise UsageError(
            f"{benchmark.name} has no passages",
            hint="import it with --knowledge or --passages: a BEIR folder holds its corpus",
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
