"""What goes with a published benchmark: card, citation, Croissant metadata, a task for inspect_ai, and checksums.

All of it is written from the benchmark alone, the same bytes each time, into a folder of Parquet files.
"""

import gzip
import io
import re
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone import __version__
from whichone.benchmarks.benchmark import Benchmark, licence_text
from whichone.benchmarks.exports import how_it_was_made, split_of
from whichone.corpus.passage_files import OURS
from whichone.files.folder import file_hash
from whichone.files.lines import write_atomic
from whichone.files.output import written_beside

_Tables = Mapping[tuple[str, str], pa.Table]  # By configuration and split
SUMS = "SHA256SUMS"
# The heading of what follows the benchmark's own card.
SIZES = "## Sizes"
_LICENCES = (
    (r"cc0|public domain", "cc0-1.0"),
    (r"cc[ -]by[ -]sa[ -]3", "cc-by-sa-3.0"),
    (r"cc[ -]by[ -]sa", "cc-by-sa-4.0"),
    (r"cc[ -]by[ -]nc", "cc-by-nc-4.0"),
    (r"cc[ -]by", "cc-by-4.0"),
    (r"\bmit\b", "mit"),
    (r"apache", "apache-2.0"),
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
          (10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))  # fmt: skip
_DESCRIBED = {
    "queries": "questions with their answers and gold pages",
    "corpus": "the passages that are searched",
    "default": "which passage answers which question, as TREC and mteb want it",
    "sets": "who shares a name, the most popular first",
}


def licence_id(benchmark: Benchmark) -> str:
    """The licence's identifier on a hub; `other` where sources differ or none is known."""
    sources = benchmark.folder.manifest.sources
    text = licence_text(sources) if sources else benchmark.card
    known = [name for pattern, name in _LICENCES if re.search(pattern, text, re.IGNORECASE)]
    return next((name for name in known if name != "cc0-1.0"), known[0] if known else "other")


def write_release(benchmark: Benchmark, out: Path, tables: _Tables) -> dict[str, int]:
    files = {
        "README.md": card(benchmark, tables),
        "CITATION.cff": citation(benchmark),
        "eval.yaml": _yaml(inspect_tasks(benchmark)),
        "inspect_task.py": _INSPECT,
        OURS: how_it_was_made(benchmark),
    }
    for name, text in files.items():
        write_atomic(out / name, text.encode())
    encoded = msgspec.json.format(msgspec.json.encode(croissant(benchmark, out, tables)), indent=2)
    write_atomic(out / "croissant.json", encoded + b"\n")
    listed = [f"{name}/{split}.parquet" for name, split in tables] + [*files, "croissant.json"]
    lines = [f"{file_hash(out / name)}  {name}\n" for name in sorted(listed)]
    write_atomic(out / SUMS, "".join(lines).encode())
    return dict.fromkeys([*files, "croissant.json", SUMS], 1)


def card(benchmark: Benchmark, tables: _Tables) -> str:
    """The dataset card, under the header that says which file is which configuration.

    `datasets` keeps what it opened by the folder's last name and this header: without the benchmark's id in
    it, two benchmarks exported to folders of one name would be taken for each other.
    """
    rows = max(table.num_rows for table in tables.values())
    header: dict[str, Any] = {
        "pretty_name": benchmark.name,
        "license": licence_id(benchmark),
        "language": _languages(benchmark),
        "size_categories": [next((name for most, name in _SIZES if rows < most), "n>100M")],
        "task_categories": ["text-retrieval", "question-answering"],
        "tags": ["whichone", "entity-disambiguation"],
        "configs": [
            {
                "config_name": name,
                "data_files": [
                    {"split": split, "path": f"{name}/{split}.parquet"}
                    for other, split in sorted(tables)
                    if other == name
                ],
                "description": benchmark.folder.content_hash,
            }
            for name in sorted({name for name, _ in tables})
        ],
    }
    body = benchmark.card.strip() or f"# {benchmark.name}"
    parts = [f"---\n{_yaml(header)}---\n", body, *_sections(benchmark, tables)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _sections(benchmark: Benchmark, tables: _Tables) -> list[str]:
    manifest = benchmark.folder.manifest
    sizes = "\n".join(
        f"| `{name}` | {split} | {table.num_rows:,} | {_DESCRIBED.get(name, '')} |"
        for (name, split), table in sorted(tables.items())
    )
    splits = Counter(split_of(query) for query in benchmark.queries)
    sources = "\n".join(
        f"- {source.get('file', source.get('kind', 'unknown'))}"
        + (f", sha256 `{source['sha256']}`" if source.get("sha256") else "")
        for source in manifest.sources
    )
    request = manifest.made.get("request", {})
    command = f"`whichone {request['command']}`" if request.get("command") else "whichone"
    return [
        f"{SIZES}\n\n| configuration | split | rows | what it is |\n| --- | --- | --- | --- |\n" + sizes,
        (f"Splits of the questions: {', '.join(f'{s} {n:,}' for s, n in sorted(splits.items()))}. "
        f"Names shared by several bearers: {len(benchmark.sets):,}."),
        f"## How it was made\n\nBy {command}, version {__version__}, as `{benchmark.id}`"
        + (f", from:\n\n{sources}" if sources else "."),
        "All parameters, the counts of every step and the hashes of the sources are in `made.json`.",
        ("## Use\n\n```python\nimport datasets\n\n"
        'queries = datasets.load_dataset("PATH", "queries")\n```\n\n'
        "`inspect eval inspect_task.py --model MODEL` asks a model; `croissant.json` describes the files; "
        f"`sha256sum -c {SUMS}` compares them."),
        f"## Licence\n\n{licence_text(manifest.sources)}" if manifest.sources else "",
        "## Citation\n\nSee `CITATION.cff`." + _bibtex(benchmark),
    ]  # fmt: skip


def _bibtex(benchmark: Benchmark) -> str:
    key = re.sub(r"\W+", "-", benchmark.name.lower()).strip("-")
    cited = sorted({str(s["citation"]) for s in benchmark.folder.manifest.sources if s.get("citation")})
    text = (
        f"\n\n```bibtex\n@misc{{{key},\n  title = {{{benchmark.name}}},\n"
        f"  howpublished = {{{benchmark.id}, made with whichone {__version__}}}\n}}\n```"
    )
    return text + "".join(f"\n\n{citation}" for citation in cited)


def citation(benchmark: Benchmark) -> str:
    """`CITATION.cff`, as archives that give DOIs read it; people add themselves as authors."""
    licence = licence_id(benchmark)
    document: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this benchmark, please cite it and the sources it is made of.",
        "type": "dataset",
        "title": benchmark.name,
        "abstract": _first_paragraph(benchmark),
        "version": benchmark.id.rpartition("-")[2],
        "authors": [{"name": "The whichone maintainers"}],
        "keywords": ["namesakes", "entity disambiguation", "retrieval", "benchmark"],
    }
    if licence != "other":
        document["license"] = licence.upper() if licence != "mit" else "MIT"
    return _yaml(document)


def _first_paragraph(benchmark: Benchmark) -> str:
    for part in benchmark.card.split("\n\n"):
        if (text := " ".join(part.split())) and not text.startswith(("#", "|", "`", "-")):
            return text
    return f"{len(benchmark.queries):,} questions about {len(benchmark.sets):,} shared names."


def inspect_tasks(benchmark: Benchmark) -> dict[str, Any]:
    """`eval.yaml`: a task of inspect_ai for each split, answered without passages."""
    return {
        "name": benchmark.name,
        "description": _first_paragraph(benchmark),
        "evaluation_framework": "inspect-ai",
        "tasks": [
            {
                "id": split,
                "config": "queries",
                "split": split,
                "field_spec": {"input": "text", "target": "answer", "metadata": ["id", "name", "role"]},
                "solvers": [{"name": "generate"}],
                "scorers": [{"name": "includes"}],
            }
            for split in sorted({split_of(query) for query in benchmark.queries})
        ],
    }


def croissant(benchmark: Benchmark, out: Path, tables: _Tables) -> dict[str, Any]:
    """Croissant 1.0 metadata: every file with its hash, every table with its columns."""
    objects, records = [], []
    for (name, split), table in sorted(tables.items()):
        file = f"{name}/{split}.parquet"
        objects.append(
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "contentSize": f"{(out / file).stat().st_size} B",
                "encodingFormat": "application/x-parquet",
                "sha256": file_hash(out / file),
            }
        )
        key = f"{name}-{split}"
        records.append(
            {
                "@type": "cr:RecordSet",
                "@id": key,
                "name": key,
                "description": _DESCRIBED.get(name, name),
                "field": [_field(key, file, column) for column in table.schema if _plain(column.type)],
            }
        )
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "name": benchmark.name,
        "description": _first_paragraph(benchmark),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": licence_id(benchmark),
        "url": f"urn:whichone:{benchmark.id}",
        "version": "1.0.0",
        "inLanguage": _languages(benchmark),
        "identifier": benchmark.id,
        "citeAs": f"{benchmark.name}, {benchmark.id}, made with whichone {__version__}",
        "distribution": objects,
        "recordSet": records,
    }


def _plain(kind: pa.DataType) -> bool:
    """Whether Croissant has a word for a column: lists of lists are left to the files themselves."""
    return not pa.types.is_nested(kind.value_type if pa.types.is_list(kind) else kind)


def _field(record_set: str, file: str, column: pa.Field) -> dict[str, Any]:
    several = pa.types.is_list(column.type)
    inner = column.type.value_type if several else column.type
    number = "sc:Integer" if pa.types.is_integer(inner) else "sc:Float"
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "dataType": number if pa.types.is_integer(inner) or pa.types.is_floating(inner) else "sc:Text",
        **({"repeated": True} if several else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }


def write_archive(folder: Path, archive: Path) -> None:
    """The folder as .tar.gz with the same bytes each time: names in order, no times, no owners."""
    with (
        written_beside(archive) as beside,
        beside.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            content = file.read_bytes()
            entry = tarfile.TarInfo(f"{archive.name.partition('.')[0]}/{file.relative_to(folder)}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))


def _languages(benchmark: Benchmark) -> list[str]:
    return sorted({query.language for query in benchmark.queries}) or ["en"]


def _yaml(value: Any, indent: int = 0) -> str:
    """Block YAML of mappings, lists and JSON's scalars, which YAML takes as they are."""
    pad, lines = "  " * indent, []
    for key, held in value.items():
        if isinstance(held, dict) and held:
            lines.append(f"{pad}{key}:\n{_yaml(held, indent + 1)}")
        elif isinstance(held, Sequence) and not isinstance(held, str) and held:
            lines.append(f"{pad}{key}:\n" + "".join(_item(item, indent) for item in held))
        else:
            lines.append(f"{pad}{key}: {msgspec.json.encode(held).decode()}\n")
    return "".join(lines)


def _item(item: Any, indent: int) -> str:
    pad = "  " * indent
    if not isinstance(item, dict):
        return f"{pad}- {msgspec.json.encode(item).decode()}\n"
    return f"{pad}- {_yaml(item, indent + 1)[len(pad) + 2 :]}"


_OF_CROISSANT = (
    "citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes",
    "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
    "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_CONTEXT: dict[str, Any] = {
    **{name: f"cr:{name}" for name in _OF_CROISSANT},
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_INSPECT = '''"""The questions of this folder as tasks of inspect_ai, as `eval.yaml` says: inspect eval inspect_task.py --model MODEL."""

from pathlib import Path

import yaml
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, hf_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

HERE = Path(__file__).resolve().parent
TASKS = {entry["id"]: entry for entry in yaml.safe_load((HERE / "eval.yaml").read_text("utf-8"))["tasks"]}


def sample(row: dict) -> Sample:
    about = {name: row[name] for name in ("name", "role", "relation")}
    return Sample(id=row["id"], input=row["text"], target=list(row["answers"]) or "", metadata=about)


@task
def questions(split: str = next(iter(TASKS))) -> Task:
    entry = TASKS[split]
    rows = hf_dataset(str(HERE), split=entry["split"], name=entry["config"], sample_fields=sample)
    return Task(dataset=rows, solver=generate(), scorer=includes())
'''
