"""A benchmark as a Hugging Face dataset folder, and as a task of mteb that reads such a folder.

`datasets.load_dataset(OUT, "queries")` opens it from disk or, uploaded as it is, from a hub. The
configurations `corpus`, `queries` and `default` (which passage answers which query) have the names and
columns that mteb's retrieval tasks want; `sets` holds who shares a name.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.export_beir import relevant_passages
from whichone.errors import UsageError
from whichone.files.lines import write_atomic
from whichone.records import Query

ROW_GROUP = 50_000
LANGUAGES = {"en": "eng-Latn", "de": "deu-Latn", "fr": "fra-Latn", "es": "spa-Latn"}

_QUERIES = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("task", pa.string()),
        ("language", pa.string()),
        ("answers", pa.list_(pa.string())),
        ("gold_pages", pa.list_(pa.string())),
        ("name", pa.string()),
        ("name_set", pa.string()),
        ("role", pa.string()),
        ("relation", pa.string()),
        ("entity", pa.string()),
        ("attributes", pa.string()),  # JSON: every other field of the source
    ]
)
_QRELS = pa.schema([("query-id", pa.string()), ("corpus-id", pa.string()), ("score", pa.int32())])
_SETS = pa.schema(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("entities", pa.list_(pa.string())),  # head first
        ("pages", pa.list_(pa.list_(pa.string()))),
        ("popularity", pa.list_(pa.float64())),
    ]
)
_TASK = Template('''"""$name as a retrieval task of mteb: mteb.evaluate(model, tasks=[$task()])."""

from pathlib import Path

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata


class $task(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="$task",
        dataset={"path": str(Path(__file__).resolve().parent / "data"), "revision": "$revision"},
        description="$name ($queries questions over $passages passages), exported by whichone.",
        reference=None,
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["$language"],
        main_score="ndcg_at_10",
        date=None,
        domains=None,
        task_subtypes=["Question answering"],
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )
''')


def export_hf(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write the folder; how many rows each file holds."""
    out = Path(out)
    tables = {"queries": _rows(_QUERIES, map(_query, benchmark.queries))}
    if benchmark.passages.num_rows:
        tables["corpus"] = benchmark.passages.select(["id", "title", "text", "page"])
        judged = relevant_passages(benchmark)
        rows = ({"query-id": q, "corpus-id": p, "score": 1} for q, p in judged)
        tables["default"] = _rows(_QRELS, rows)
    if benchmark.sets:
        tables["sets"] = _rows(_SETS, map(_set, benchmark.sets))
    written = {}
    for name, table in sorted(tables.items()):
        file = out / name / "test.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file, compression="zstd", row_group_size=ROW_GROUP)
        written[f"{name}/test.parquet"] = table.num_rows
    write_atomic(out / "README.md", _readme(benchmark, sorted(tables)).encode())
    return {**written, "README.md": 1}


def export_mteb(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """The same folder as `data`, beside a `task.py` that mteb can evaluate any of its models on."""
    if not benchmark.passages.num_rows or not any(relevant_passages(benchmark)):
        raise UsageError(
            f"{benchmark.name} has no corpus with gold passages, which a retrieval task needs",
            hint="import it with --knowledge or --passages",
        )
    written = export_hf(benchmark, Path(out) / "data")
    task = "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", benchmark.name))
    told = {
        "name": re.sub(r'["\\\\$]', "", benchmark.name),
        "task": task if task[:1].isalpha() else f"Whichone{task}",
        "revision": benchmark.id.rpartition("-")[2],
        "queries": len(benchmark.queries),
        "passages": benchmark.passages.num_rows,
        "language": LANGUAGES.get(benchmark.queries[0].language, "eng-Latn"),
    }
    write_atomic(Path(out) / "task.py", _TASK.substitute(told).encode())
    return {**{f"data/{name}": count for name, count in written.items()}, "task.py": 1}


def _rows(schema: pa.Schema, rows: Any) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def _query(query: Query) -> dict[str, Any]:
    return {
        "id": query.id,
        "text": query.input,
        "task": query.task,
        "language": query.language,
        "answers": list(query.answers()),
        "gold_pages": sorted(query.gold_pages()),
        "name": query.name,
        "name_set": query.name_set,
        "role": query.role,
        "relation": query.relation,
        "entity": query.entity,
        "attributes": msgspec.json.encode(query.attributes, order="sorted").decode(),
    }


def _set(name_set: Any) -> dict[str, Any]:
    return {
        "id": name_set.id,
        "name": name_set.name,
        "entities": [bearer.entity for bearer in name_set.bearers],
        "pages": [list(bearer.pages) for bearer in name_set.bearers],
        "popularity": [bearer.popularity for bearer in name_set.bearers],
    }


def _readme(benchmark: Benchmark, names: list[str]) -> str:
    """The card, under the header that tells a hub which file is which configuration.

    `datasets` keeps what it opened by the folder's last name and this header: without the benchmark's id in
    it, two benchmarks exported to folders of one name would be taken for each other.
    """
    languages = sorted({query.language for query in benchmark.queries}) or ["en"]
    lines = ["---", "license: other", "language:", *(f"- {language}" for language in languages)]
    lines += ["tags:", "- whichone", "- entity-disambiguation", "configs:"]
    for name in names:
        lines += [f"- config_name: {name}", "  data_files:", "  - split: test"]
        lines += [
            f"    path: {name}/test.parquet",
            f'  description: "{benchmark.folder.content_hash}"',
        ]
    return "\n".join([*lines, "---", "", benchmark.card or f"# {benchmark.name}", ""])
