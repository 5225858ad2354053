"""What a folder contains and how it was made, as a document and as text."""

import functools
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark, with_licence
from whichone.benchmarks.exports import Unit, trec_card
from whichone.errors import BadInput, UsageError, did_you_mean, how_many, must_be_one
from whichone.files.folder import Folder
from whichone.files.lines import write_atomic
from whichone.files.manifest import MANIFEST, Manifest, decode_manifest
from whichone.measures.ranking_measures import kind_of_page
from whichone.records import page_of
from whichone.runs.run import COUNTS, TRACE, Answers, Run, open_corpus, trace_of

# One question of a folder of answers: what was asked, shown, said, and what would have been right.


def show_answer(answers: Answers, question: str) -> tuple[dict[str, Any], str]:
    from whichone.measures.answer_measures import step_of
    from whichone.measures.outcomes import outcome
    from whichone.measures.scores import as_answered, other_values

    benchmark = answers.benchmark()
    known = {q.id: q for q in benchmark.queries}
    if question not in known:
        raise BadInput(f"no question {question!r}", file=answers.path, hint=did_you_mean(question, known))
    query, answer = known[question], answers.answers.get(question)
    corpus, others = benchmark.corpus, benchmark.other_pages(query)
    values = other_values(benchmark.queries).get(question, ())
    gold = query.gold_pages()
    cited = answer.passages if answer else ()
    labels = BearerLabels(benchmark)
    trace: list[dict[str, Any]] = []  # what each search brought in first, and whose page that is
    for call in done.calls if (done := trace_of(answer) if answer else None) else ():
        trace.append(msgspec.to_builtins(call))
        if call.tool == "search":
            titles = [labels.of_page(page_of(p), query.name_set) for p in call.passages]
            trace[-1] |= {"is": step_of(call, gold, others), "titles": titles}
    document: dict[str, Any] = {
        "question": question,
        "input": query.input,
        "answer": answer.text if answer else None,
        "asks": answer.asks if answer else None,
        "outcome": outcome(as_answered(query, answer, (), values)),
        "accepted": list(query.answers()),
        "other_bearers": list(values),
        "shown": [
            {
                "passage": passage.id,
                "title": labels.of_page(passage.page, query.name_set),
                "is": kind_of_page(passage.page, gold, others).replace("other", ""),
                "cited": passage.id in cited,
                "text": passage.text,
            }
            for passage in map(corpus.passage, answers.shown.get(question, ()))
        ],
        "trace": trace,
        "notes": {k: v for k, v in answer.notes.items() if k != TRACE} if answer else {},
        "failure": answers.failures.get(question),
        "left_out": answers.left_out.get(question),
    }
    return document, _text(document)


def _step_lines(step: dict[str, Any]) -> list[str]:
    first = f"{step['tool']}: {step.get('input', '')}"
    if step["tool"] == "search":
        results = [
            f"{title} ({passage})"
            for title, passage in zip(step["titles"], step.get("passages", ()), strict=True)
        ]
        return [first, f"    {step['is']} first: {'; '.join(results) or 'nothing'}"]
    return [first + (f" {step['arguments']}" if step.get("arguments") else ""), f"    {step.get('text', '')}"]


def _text(document: dict[str, Any]) -> str:
    lines = [document["input"]]
    if document["left_out"]:
        return "\n".join([*lines, f"  not asked: {document['left_out']}"])
    lines += [
        f"  {'*' if s['cited'] else ' '} {s['is']:<9} {s['title']} ({s['passage']}): {s['text'][:100]}"
        for s in document["shown"]
    ]
    lines += [f"  {line}" for step in document["trace"] for line in _step_lines(step)]
    said = document["answer"] if document["answer"] is not None else "(refused)"
    if document["asks"] is not None:
        said = f"(asks back) {document['asks']}"
    lines.append(f"said:      {document['failure'] or said}")
    if document["outcome"]:
        lines.append(f"outcome:   {document['outcome']}")
    lines.append(f"accepted:  {', '.join(document['accepted'])}")
    if document["other_bearers"]:
        lines.append(f"others:    {', '.join(document['other_bearers'])}")
    lines += [f"{key}: {value}" for key, value in document["notes"].items()]
    return "\n".join(lines)


_Shown = tuple[Any, str]


def show(place: str, name: str | None = None, *, explain: bool = False) -> _Shown:
    if (kind := folder_kind(place)) == "knowledge base" and name:
        from whichone.knowledge.knowledge_base import describe_name, show_name

        document = show_name(place, name)
        return document, describe_name(document)
    if kind == "run" and name:
        return _ranking(place, name, explain)
    if explain:
        raise UsageError("--explain is about one question of a run: show RUN QUESTION_ID --explain")
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


def show_benchmark(benchmark: Benchmark) -> _Shown:
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
    lines = [benchmark.id]
    lines += [f"  {key:<10}{document[key]:>10,}" for key in ("queries", "sets", "pages", "passages")]
    for key in ("tasks", "roles", "relations"):
        counts_text = ", ".join(f"{k} {v:,}" for k, v in document[key].items())
        lines.append(f"  {key:<10}{counts_text}")
    from whichone.report.name_set_tables import paper_statistics

    for paper, known in paper_statistics(benchmark).items():
        document[paper] = known.document
        lines += ["", known.text]
    return document, "\n".join(lines)


def show_manifest(folder: Folder) -> _Shown:
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
    from whichone.runs.retrieve import own_options

    if command := manifest.made.get("command"):
        return str(command)
    if manifest.kind != "run":
        return None
    parameters = dict(manifest.parameters)
    place = manifest.made.get("benchmark") or "BENCH"
    benchmarks = list(map(str, place)) if isinstance(place, list) else [str(place)]
    if (retriever := parameters.pop("retriever", "bm25")) == "imported":
        words = ["whichone", "import", "run", str(parameters.get("file", "FILE")), str(root)]
        return shlex.join([*words, "--benchmark", benchmarks[0], "--format", str(parameters["format"])])
    words = ["whichone", "retrieve", *benchmarks, str(root)]
    words += ["--retriever", str(parameters.pop("function", retriever))]
    unit = "-k" if parameters.pop(COUNTS, None) == "pages" else "--passages"
    words += [unit, str(parameters.pop("k", 100))]
    if returns := parameters.pop("returns", None):
        words += ["--returns", str(returns)]
    parameters.pop("class", None)  # of the object that an adapter asks, which `make` names
    own = parameters.pop("options", None)  # of a function of the user's own
    described = own_options(str(retriever), parameters)
    for key, value in sorted({**described, **(own if isinstance(own, dict) else {})}.items()):
        if isinstance(value, str | int | float | bool):
            words += ["-o", f"{key}={value}"]
    return shlex.join(words)


def _ranking(place: str, question: str, explain: bool, most: int = 20) -> _Shown:
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
        {**row, "title": title, "is": kind_of_page(row["page"], gold, others).replace("other", "")}
        for row, title in zip(results, titles, strict=True)
    ]
    noted = run.folder.table("notes").to_pylist() if run.folder.has("notes.parquet") else []
    note = next((msgspec.json.decode(row["notes"]) for row in noted if row["question"] == question), None)
    document = {"question": question, "input": query.input, "ranking": rows, "notes": note}
    lines = [query.input]
    lines += [
        f"{r['rank']:>4}  {r['score']:>9.4f}  {r['is']:<9} {r['title']}  ({r['passage']})"
        for r in rows[:most]
    ]
    if len(rows) > most:
        lines.append(f"      and {len(rows) - most} more (--json has all)")
    if explain:
        lines += explained(note) if note else ["", "the retriever has noted nothing about it"]
    return document, "\n".join(lines)


def explained(note: dict[str, Any]) -> list[str]:
    """What a retriever notes about a question: who has each name, and what speaks for and against them, in words where it gives any."""
    if not any("candidates" in name for name in note.get("names", ())):
        return ["", msgspec.json.format(msgspec.json.encode(note), indent=2).decode()]
    lines = []
    for name in note["names"]:
        lines += ["", f"{name['name']}: {how_many(name['bearers'], 'page')} with this name"]
        for bearer in name["candidates"]:
            likely = f", {bearer['probability']:.0%}" if "probability" in bearer else ""
            lines.append(f"  {bearer['title']}{likely}")
            lines += [
                f"    {s} {text}"
                for s, key in (("+", "for"), ("-", "against"))
                for text in bearer.get(key, ())
            ]
    return lines


def _short(value: Any, most: int = 300) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[:most]}…"


# Every artefact in the formats that its users already have; formats are found by entry point.
GROUPS = {
    "benchmark": "exports",
    "run": "run_exports",
    "answers": "answer_exports",
    "knowledge base": "knowledge_exports",
}


def export(
    folder: str, out: str | Path, form: str, benchmark: str | None = None, *, unit: Unit | None = None
) -> dict[str, int]:
    """Write the folder to `out`; how many records each file contains. TREC files are of one unit."""
    if (kind := folder_kind(folder)) not in GROUPS:
        raise UsageError(f"a {kind} has no other format", where=folder)
    known = registry.names(GROUPS[kind])
    must_be_one(form, known, f"a {kind} cannot be written as {form!r}")
    write = registry.find(GROUPS[kind], form)
    if unit is not None and form != "trec":
        raise UsageError(f"{form} has no choice of a unit", hint="--unit is for --format trec")
    if form == "trec":
        write = functools.partial(write, unit=unit or "page")
    card = f"\n\n{trec_card(unit or 'page')}" if form == "trec" else ""
    if kind == "benchmark":
        opened = Benchmark.open(folder)
        written: dict[str, int] = write(opened, out)
        _add_card(Path(out), f"{opened.card}{card}")
    elif kind == "run":
        run = Run.open(folder)
        written = write(run, out, benchmark)
        if card:
            _add_card(Path(out), f"# {run.name} over {run.benchmark_id}{card}")
    elif kind == "answers":
        written = write(folder, out, benchmark)
    else:
        written = write(folder, out)
        sources = Folder.open(folder, kind).manifest.sources
        _add_card(Path(out), with_licence(f"# {form} export of a knowledge base\n", sources))
    return written


def _add_card(out: Path, card: str) -> None:
    """How it was made, licence and attribution go with every export of texts."""
    if not (out / "README.md").exists():  # which has it
        beside = out / "CARD.md" if out.is_dir() else out.with_name(f"{out.name}.card.md")
        write_atomic(beside, card.encode())
