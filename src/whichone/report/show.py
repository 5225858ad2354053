"""What a folder contains and how it was made, as a document and as text."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST, Manifest, decode_manifest
from whichone.measures.ranking_measures import kind_of_page
from whichone.report.show_answer import show_answer
from whichone.runs.run import Answers, Run, open_corpus

Shown = tuple[Any, str]


def show(place: str, name: str | None = None, *, explain: bool = False) -> Shown:
    """The right view of whatever kind of folder this is."""
    kind = folder_kind(place)
    if kind == "knowledge base":
        return _knowledge_base(place, name)
    if kind == "run" and name:
        return _ranking(place, name)
    if kind == "answers" and name:
        return show_answer(Answers.open(place), name)
    if name:
        raise UsageError(f"a name can be looked up in a knowledge base, not in a {kind}")
    if kind == "benchmark":
        return show_benchmark(Benchmark.open(place))
    if kind == "corpus":
        open_corpus(place)  # benchmarks that name it find it here from now on
    return show_manifest(Folder.open(place, kind))


def folder_kind(place: str) -> str:
    if place.startswith("builtin/") and not Path(place).exists():
        return "benchmark"
    manifest = Path(place) / MANIFEST
    if not manifest.exists():
        Folder.open(place, "benchmark, run or knowledge base")
    return decode_manifest(manifest).kind


def show_benchmark(benchmark: Benchmark) -> Shown:
    """Counts by task, role and relation; the collection's own tables where it has any."""
    queries = benchmark.queries
    document: dict[str, Any] = {
        "id": benchmark.id,
        "queries": len(queries),
        "sets": len(benchmark.sets),
        "pages": len(benchmark.pages),
        "passages": benchmark.passages.num_rows,
        "tasks": dict(sorted(Counter(q.task for q in queries).items())),
        "roles": dict(sorted(Counter(q.role or "none" for q in queries).items())),
        "relations": dict(Counter(q.relation or "none" for q in queries).most_common()),
        "parameters": benchmark.folder.manifest.parameters,
        "counts": benchmark.folder.manifest.counts,
    }
    lines = [f"{benchmark.id}"]
    for key in ("queries", "sets", "pages", "passages"):
        lines.append(f"  {key:<10}{document[key]:>10,}")
    for key in ("tasks", "roles", "relations"):
        counts_text = ", ".join(f"{k} {v:,}" for k, v in document[key].items())
        lines.append(f"  {key:<10}{counts_text}")
    from whichone.report.statistics import paper_statistics

    for paper, known in paper_statistics(benchmark).items():
        document[paper] = known.document
        lines += ["", known.text]
    return document, "\n".join(lines)


def show_manifest(folder: Folder) -> Shown:
    """A run's or result's parameters, parents, counts, and the command that makes it again."""
    manifest = folder.manifest
    document: dict[str, Any] = {
        "kind": manifest.kind,
        "name": manifest.name,
        "content": folder.content_hash,
        "parameters": manifest.parameters,
        "parents": manifest.parents,
        "sources": {str(s.get("file") or n): s for n, s in enumerate(manifest.sources)},
        "counts": manifest.counts,
        "made": manifest.made,
        "command": command_of(manifest, folder.root),
    }
    lines = [f"{folder.root}: {manifest.kind} {manifest.name}".rstrip()]
    for key in ("parameters", "parents", "sources", "counts", "made"):
        if document[key]:
            lines.append(f"{key}:")
        lines += [f"  {k}: {_short(v)}" for k, v in document[key].items()]
    if document["command"]:
        lines += ["made by:", f"  {document['command']}"]
    return document, "\n".join(lines)


def command_of(manifest: Manifest, root: Path) -> str | None:
    """The command line that makes this folder again."""
    command = manifest.made.get("command")
    if command:
        return str(command)
    if manifest.kind != "run":
        return None
    parameters = dict(manifest.parameters)
    place = manifest.made.get("benchmark") or "BENCH"
    benchmarks = list(map(str, place)) if isinstance(place, list) else [str(place)]
    retriever = parameters.pop("retriever", "bm25")
    if retriever == "imported":
        words = ["whichone", "import", "run", str(parameters.get("file", "FILE")), str(root)]
        return shlex.join(
            [*words, "--benchmark", benchmarks[0], "--format", str(parameters["format"])]
        )
    words = ["whichone", "retrieve", *benchmarks, str(root)]
    words += ["--retriever", str(parameters.pop("function", retriever))]
    words += ["-k", str(parameters.pop("k", 100))]
    if returns := parameters.pop("returns", None):
        words += ["--returns", str(returns)]
    parameters.pop("class", None)  # of the object that an adapter asks, which `make` names
    own = parameters.pop("options", None)  # of a function of the user's own
    for key, value in sorted({**parameters, **(own if isinstance(own, dict) else {})}.items()):
        if isinstance(value, str | int | float | bool):
            words += ["-o", f"{key}={value}"]
    return shlex.join(words)


def _ranking(place: str, question: str) -> Shown:
    run = Run.open(place)
    benchmark = run.benchmark()
    known = {q.id: q for q in benchmark.queries}
    if question not in known:
        raise BadInput(f"no question {question!r}", file=place, hint=did_you_mean(question, known))
    query = known[question]
    gold, others = query.gold_pages(), benchmark.other_pages(query)
    results = [row for row in run.rankings.to_pylist() if row["question"] == question]
    titles = BearerLabels(benchmark).of_pages([row["page"] for row in results], query.name_set)
    rows = [
        {
            **row,
            "title": title,
            "is": kind_of_page(row["page"], gold, others).replace("other", ""),
        }
        for row, title in zip(results, titles, strict=True)
    ]
    notes = {}
    if run.folder.has("notes.parquet"):
        table = run.folder.table("notes").to_pylist()
        notes = {row["question"]: row["notes"] for row in table}
    note = msgspec.json.decode(notes[question]) if question in notes else None
    document = {"question": question, "input": query.input, "ranking": rows, "notes": note}
    lines = [query.input]
    lines += [
        f"{r['rank']:>4}  {r['score']:>9.4f}  {r['is']:<9} {r['title']}  ({r['passage']})"
        for r in rows
    ]
    if note:
        lines += ["", msgspec.json.format(msgspec.json.encode(note), indent=2).decode()]
    return document, "\n".join(lines)


def _knowledge_base(place: str, name: str | None) -> Shown:
    if name is None:
        return show_manifest(Folder.open(place, "knowledge base"))
    from whichone.knowledge.knowledge_base import describe_name, show_name

    document = show_name(place, name)
    return document, describe_name(document)


def _short(value: Any, most: int = 300) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[:most]}…"
