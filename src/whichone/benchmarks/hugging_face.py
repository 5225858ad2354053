"""A benchmark as a Hugging Face dataset folder, and as a task of mteb that reads such a folder.

`datasets.load_dataset(OUT, "queries")` opens it from disk or, uploaded as it is, from a hub. The
configurations `corpus`, `queries` and `default` (which passage answers which query) have the names and
columns that mteb's retrieval tasks want; `sets` contains who shares a name.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.exports import exported_ids, judgements, split_of
from whichone.benchmarks.gold import check_gold, gold_outside_accepted
from whichone.benchmarks.release import SIZES, write_archive, write_release
from whichone.corpus.corpus import from_trec, to_trec
from whichone.errors import BadInput, UsageError
from whichone.files.lines import write_atomic
from whichone.files.output import written_beside
from whichone.records import Bearer, NameSet, Output, Passage, Query, passage_id

ROW_GROUP = 50_000
LANGUAGES = {"en": "eng-Latn", "de": "deu-Latn", "fr": "fra-Latn", "es": "spa-Latn"}

# Columns that are fields of a query as they are.
_PLAIN = ("task", "language", "name", "name_set", "role", "relation", "entity", "mention")
_QUERIES = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("task", pa.string()),
        ("language", pa.string()),
        ("answer", pa.string()),  # the first of the answers
        ("answers", pa.list_(pa.string())),
        ("gold_pages", pa.list_(pa.string())),
        ("gold_sets", pa.list_(pa.list_(pa.string()))),  # pages of one set are needed together
        ("name", pa.string()),
        ("name_set", pa.string()),
        ("role", pa.string()),
        ("relation", pa.string()),
        ("entity", pa.string()),
        ("mention", pa.string()),
        ("attributes", pa.string()),  # JSON: every other field of the source
        ("outputs", pa.string()),  # JSON: every answer with the evidence that supports it
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
        ("collection", pa.string()),
        ("bearers", pa.string()),  # JSON: the same with labels, roles and types
    ]
)
_TASK = Template('''"""$name as a retrieval task of mteb: mteb.evaluate(model, tasks=[$task()])."""

import runpy
from pathlib import Path

import pyarrow.parquet as pq
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"


class $task(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="$task",
        dataset={"path": str(DATA), "revision": "$revision"},
        description="$name ($queries questions over $passages passages), exported by whichone.",
        reference=None,
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[$splits],
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

    def dataset_transform(self, num_proc=None, **options):
        """Encoders are given batches of all columns, which must not be empty or of several lengths."""
        for parts in self.dataset.values():
            for part in parts.values():
                part["queries"] = part["queries"].select_columns(["id", "text"])
                part["corpus"] = part["corpus"].select_columns(["id", "title", "text"])

    def task_specific_scores(self, scores, qrels, results, hf_split, hf_subset):
        """Pages instead of passages, in expectation over all orders of what has equal scores."""
        corpus = pq.read_table(DATA / "corpus" / "test.parquet", columns=["id", "page"])
        pages = dict(zip(corpus["id"].to_pylist(), corpus["page"].to_pylist()))
        sets = DATA / "sets" / "test.parquet"
        bearers = {row["id"]: row for row in pq.read_table(sets).to_pylist()} if sets.exists() else {}
        gold, others = {}, {}
        for query in pq.read_table(DATA / "queries" / f"{hf_split}.parquet").to_pylist():
            gold[query["id"]] = set(query["gold_pages"])
            if named := bearers.get(query["name_set"]):
                own = zip(named["entities"], named["pages"])
                pages_of_others = {p for entity, of in own if entity != query["entity"] for p in of}
                others[query["id"]] = pages_of_others - gold[query["id"]]
        tie_aware = runpy.run_path(str(HERE / "tie_aware.py"))
        return tie_aware["tie_aware_scores"](results, pages, gold, others)
''')


def export_hf(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write the folder; how many rows each file contains."""
    out = Path(out)
    splits = sorted({split_of(query) for query in benchmark.queries})
    tables = {
        ("queries", split): _rows(_QUERIES, (_query(q) for q in benchmark.queries if split_of(q) == split))
        for split in splits
    }
    if benchmark.passages.num_rows:
        ids = exported_ids(benchmark)
        columns = ["id", "title", "text", "page", "entity"]
        corpus = benchmark.passages.select([c for c in columns if c in benchmark.passages.column_names])
        own = pa.array([ids[passage] for passage in corpus["id"].to_pylist()])
        tables["corpus", "test"] = corpus.set_column(0, "id", own)
        rows: dict[str, list[dict[str, Any]]] = {split: [] for split in splits}
        for query, passage, relevance in judgements(benchmark):
            row = {"query-id": to_trec(query.id), "corpus-id": ids.get(passage, passage), "score": relevance}
            rows[split_of(query)].append(row)
        tables |= {("default", split): _rows(_QRELS, split_rows) for split, split_rows in rows.items()}
    if benchmark.sets:
        tables["sets", "test"] = _rows(_SETS, map(_set, benchmark.sets))
    written = {}
    for (name, split), table in sorted(tables.items()):
        file = out / name / f"{split}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_beside(file) as beside:
            pq.write_table(table, beside, compression="zstd", row_group_size=ROW_GROUP)
        written[f"{name}/{split}.parquet"] = table.num_rows
    return {**written, **write_release(benchmark, out, tables)}


def export_archive(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    if not str(out).endswith((".tar.gz", ".tgz")):
        raise UsageError("an archive is called NAME.tar.gz", where=str(out))
    with tempfile.TemporaryDirectory() as temporary:
        written = export_hf(benchmark, Path(temporary))
        write_archive(Path(temporary), Path(out))
    return written


def export_mteb(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """The same folder as `data`, beside a `task.py` that mteb can evaluate any of its models on."""
    if not benchmark.passages.num_rows or not any(judgements(benchmark)):
        raise UsageError(
            f"{benchmark.name} has no corpus with gold passages, which a retrieval task needs",
            hint="import it with --knowledge or --passages",
        )
    written = export_hf(benchmark, Path(out) / "data")
    task = "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", benchmark.name))
    descriptive_stats = {
        "name": re.sub(r'["\\\\$]', "", benchmark.name),
        "task": task if task[:1].isalpha() else f"Whichone{task}",
        "revision": benchmark.id.rpartition("-")[2],
        "queries": len(benchmark.queries),
        "passages": benchmark.passages.num_rows,
        "splits": ", ".join(f'"{s}"' for s in sorted({split_of(q) for q in benchmark.queries})),
        "language": LANGUAGES.get(benchmark.queries[0].language, "eng-Latn"),
    }
    write_atomic(Path(out) / "task.py", _TASK.substitute(descriptive_stats).encode())
    source = resources.files("whichone.benchmarks").joinpath("tie_aware.py").read_bytes()
    write_atomic(Path(out) / "tie_aware.py", source)
    own = {"task.py": 1, "tie_aware.py": 1}
    return {**{f"data/{name}": count for name, count in written.items()}, **own}


def _rows(schema: pa.Schema, rows: Any) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def _query(query: Query) -> dict[str, Any]:
    return {
        **{name: getattr(query, name) for name in _PLAIN},
        "id": to_trec(query.id),
        "text": query.input,
        "answer": next(iter(query.answers()), ""),
        "answers": list(query.answers()),
        "gold_pages": sorted(query.gold_pages()),
        "gold_sets": [
            list(dict.fromkeys(e.page for e in group)) for o in query.outputs for group in o.provenance
        ],
        "attributes": msgspec.json.encode(query.attributes, order="sorted").decode(),
        "outputs": msgspec.json.encode(query.outputs, order="sorted").decode(),
    }


def _set(name_set: Any) -> dict[str, Any]:
    return {
        "id": name_set.id,
        "name": name_set.name,
        "entities": [bearer.entity for bearer in name_set.bearers],
        "pages": [list(bearer.pages) for bearer in name_set.bearers],
        "popularity": [bearer.popularity for bearer in name_set.bearers],
        "collection": name_set.collection,
        "bearers": msgspec.json.encode(name_set.bearers, order="sorted").decode(),
    }


# A Hugging Face dataset folder, as `whichone export --format hf` writes it, back as a benchmark.


def import_hugging_face(folder: str | Path, out: str | Path, *, name: str | None = None) -> Benchmark:
    """The configurations `queries`, `corpus`, `default` and `sets`, of all splits, where they are there."""
    root = Path(folder)
    root = root / "data" if (root / "data" / "queries").is_dir() else root
    queries = list(map(_imported_query, _table_rows(root, "queries")))
    passages = list(_passages(root))
    made = root / "made.json"
    known = msgspec.json.decode(made.read_bytes())["parameters"] if made.exists() else {}
    with gold_outside_accepted():  # as much as there was when it was exported
        counts = check_gold(queries, {p.page for p in passages}, root) if passages else {}
        return save_benchmark(
            out,
            name=name or Path(folder).resolve().name,
            queries=queries,
            passages=passages,
            sets=[
                NameSet(
                    id=row["id"],
                    name=row["name"],
                    collection=row["collection"] or "",
                    bearers=msgspec.json.decode(row["bearers"], type=tuple[Bearer, ...]),
                )
                for row in _table_rows(root, "sets")
            ],
            card=_card(root),
            parameters={**known, "format": "hf"},
            counts={"passages": len(passages), **counts},
            allow_no_gold=True,
        )


def _table_rows(root: Path, configuration: str) -> Iterator[dict[str, Any]]:
    for file in sorted((root / configuration).glob("*.parquet")):
        yield from pq.read_table(file).to_pylist()


def _card(root: Path) -> str:
    readme = root / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else ""
    own = text.partition("---\n")[2].partition("---\n")[2].partition(f"\n{SIZES}\n")[0]
    return own.strip() + "\n" if text else ""


def _passages(root: Path) -> Iterator[Passage]:
    counts: Counter[str] = Counter()
    for row in _table_rows(root, "corpus"):
        own = from_trec(row["id"])
        page = row.get("page") or own
        identity = passage_id(page, counts[page])
        counts[page] += 1
        yield Passage(
            id=identity, page=page, title=row["title"], text=row["text"], entity=row.get("entity"),
            source_id=own if own != identity else None,
        )  # fmt: skip


def _imported_query(row: dict[str, Any]) -> Query:
    identity = from_trec(row["id"])
    if not row.get("text"):
        raise BadInput("a question without text", ids=[identity])
    return Query(
        **{name: row[name] for name in _PLAIN},
        id=identity,
        input=row["text"],
        outputs=msgspec.json.decode(row["outputs"], type=tuple[Output, ...]),
        attributes=msgspec.json.decode(row["attributes"] or "{}"),
    )
