"""Anybody's rankings and answers as runs and folders of answers, and runs as the files that others read."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.exports import Unit, exported_ids, write_trec_qrels
from whichone.benchmarks.several import parts_of
from whichone.corpus.corpus import from_trec, to_trec
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import Folder, file_hash
from whichone.files.lines import write_atomic, write_lines
from whichone.options import OnError, Option, takes
from whichone.progress import talk
from whichone.records import Answer, Passage, Query, page_of
from whichone.runs import predictions
from whichone.runs.run import ANSWERS_KIND, FAILURES, KIND, LEFT_OUT, RANKINGS, TIMING, Answers, Run, beside
from whichone.runs.shown import AMBIGDOCS, Entries, Entry, write_tables
from whichone.versions import environment

# Those that runs are written in as well; linkers' files are only read.
FORMATS = ("trec", "kilt", "amber", "dpr")


class RunImport(msgspec.Struct, frozen=True, kw_only=True):
    format: Annotated[
        Literal[
            "trec", "msmarco", "kilt", "dpr", "amber", "bootleg", "blink", "elq", "genre", "realm", "rag"
        ],
        Option(
            "A TREC run, Pyserini's MS MARCO layout, KILT or AmbER predictions, DPR results, or what a linker or RAG wrote."
        ),
    ]
    knowledge: Annotated[
        str | None,
        Option(
            "A knowledge base for titles and Wikidata ids that the benchmark does not know.", kind="folder"
        ),
    ] = None
    name: Annotated[str | None, Option("What to call the system.")] = None
    on_error: OnError = "fail"


@takes(RunImport)
def import_run(
    file: str | Path,
    out: str | Path,
    benchmark: Benchmark,
    plan: RunImport,
    *,
    place: str,
    whole: bool = False,
) -> Run:
    """Check the rankings against the benchmark and write them as a run.

    DPR's results may be a folder of one file a relation; questions of relations that are in none of them are left out, unless
    the `whole` benchmark is to be answered.
    """
    if plan.format not in predictions.READERS:
        known = (*FORMATS, "msmarco", *predictions.LINKERS)
        raise UsageError(f"no such format: {plan.format!r}", hint=did_you_mean(plan.format, known))
    files, names = _files(Path(file), plan.format), predictions.BenchmarkNames(benchmark, plan.knowledge)
    rankings: dict[str, dict[str, float]] = {}
    lines: dict[str, int] = {}
    skipped: list[BadInput] = []
    repeated = 0

    def refuse(problem: str, path: Path, line: int, identity: str, hint: str | None = None) -> None:
        skipped.append(BadInput(problem, file=path, line=line, ids=[identity], hint=hint))
        if plan.on_error == "fail":
            raise skipped[-1]

    for path in files:
        for said in predictions.READERS[plan.format](path, names):
            query = names.query(said.question) or names.query(from_trec(said.question))
            if query is None:
                refuse("the benchmark has no such query", path, said.line, said.question)
                continue
            if plan.format in ("kilt", "amber", "whichone") and query.id in lines:
                problem = f"this query came before, on line {lines[query.id]}"
                refuse(problem, path, said.line, said.question)
                continue
            lines[query.id] = said.line
            ranked = rankings.setdefault(query.id, {})
            for identity, score, line in said.results:
                ours = names.result(identity)
                if not math.isfinite(score):
                    problem = f"the score of {identity} is {score}, not a finite number"
                    refuse(problem, path, line, said.question)
                elif ours is None:
                    problem = f"the corpus has no page or passage {identity!r}, returned for {said.question}"
                    refuse(problem, path, line, identity, f"ids of this corpus look like {names.examples()}")
                else:
                    repeated += ours in ranked
                    ranked.setdefault(ours, score)
    missing = [query for query in benchmark.queries if query.id not in rankings]
    asked = (query for query in benchmark.queries if plan.format == "dpr" and query.id in rankings)
    relations = {query.relation for query in asked} - {None}
    unasked = [q.id for q in missing if relations and not whole and q.relation not in relations]
    if (missing := [q for q in missing if q.id not in set(unasked)]) and plan.on_error == "fail":
        raise BadInput(
            f"{len(missing)} of {len(benchmark.queries)} queries have no ranking",
            file=file,
            ids=[query.id for query in missing],
            hint="--on-error skip takes them as failures, which score as wrong",
        )
    if skipped:
        talk(f"{len(skipped)} results were left out, the first: {skipped[0]}")
    if unasked:
        talk(f"{len(unasked):,} questions of relations that are not in {file} are left out")
    with Folder.create(out, KIND) as folder:
        rows = [
            {"question": q, "rank": rank, "passage": identity, "page": page_of(identity), "score": score}
            for q, ranked in rankings.items()
            for rank, (identity, score) in enumerate(ranked.items(), 1)
        ]
        folder.write(RANKINGS, RANKINGS.from_rows(rows))
        failures = [{"question": q.id, "error": "the file has no ranking for it"} for q in missing]
        folder.write(FAILURES, FAILURES.from_rows(failures))
        folder.write(TIMING, TIMING.from_rows([]))
        if unasked:
            left_out = [{"question": q, "reason": "its relation is not in the file"} for q in unasked]
            folder.write(LEFT_OUT, LEFT_OUT.from_rows(left_out))
        folder.commit(
            name=plan.name or Path(file).name.split(".")[0],
            parameters={"retriever": "imported", "format": plan.format, "file": Path(file).name},
            sources=[{"file": path.name, "sha256": file_hash(path)} for path in files],
            parents={"benchmark": benchmark.id},
            counts={
                "questions": len(benchmark.queries),
                "failures": len(missing),
                "skipped": len(skipped),
                "repeated_results": repeated,
                **({"left_out": len(unasked)} if unasked else {}),
            },
            made={
                "benchmark": place,
                **({"left_out": f"line {skipped[0].line}: {skipped[0].message}"} if skipped else {}),
            },
        )
    return Run.open(out)


def _files(given: Path, format: str) -> list[Path]:
    if not given.is_dir():
        return [given]
    if format != "dpr":
        raise UsageError(
            "a folder has DPR's results, one file a relation", where=str(given), hint="--format dpr"
        )
    if not (files := sorted(given.glob("*.json*"))):
        raise BadInput("there are no .json files in it", file=given)
    return files


# Answers.


class AnswersImport(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str | None, Option("The system's name in tables; else the file's.")] = None
    on_error: OnError = "fail"


@takes(AnswersImport)
def import_answers(benchmark: Where, file: str | Path, answers: str | Path, plan: AnswersImport) -> Answers:
    """A folder of answers from a file; what the file does not answer is a failure."""
    opened, path = Benchmark.open(benchmark), Path(file)
    return write_answers(
        answers,
        opened,
        predictions.kilt_answers(path, opened),
        name=plan.name or path.name.partition(".")[0],
        file=path,
        on_error=plan.on_error,
        missing_is_wrong=True,
    )


def write_answers(
    out: str | Path,
    benchmark: Benchmark,
    given: Iterable[predictions.Predicted],
    *,
    name: str,
    file: Path | None = None,
    on_error: str = "fail",
    missing_is_wrong: bool = False,
) -> Answers:
    """A folder of answers: every query once, and none that the benchmark does not ask, unless those are skipped."""
    names, entries, strangers = predictions.BenchmarkNames(benchmark), Entries(), 0
    for said in given:
        if (query := names.query(said.question)) is None:
            strangers += 1
            if on_error == "fail":
                raise BadInput(
                    f"the benchmark has no such query: {said.question[:100]}",
                    file=file,
                    line=said.line,
                    hint="is this the right benchmark? --on-error skip passes over them" if file else None,
                )
            continue
        answer = Answer(question=query.id, text=said.text, passages=said.passages, notes=said.notes)
        if not entries.add(Entry(answer, _shown(query, said))):
            raise BadInput(f"this query came before: {said.question[:100]}", file=file, line=said.line)
    if not len(entries):
        raise BadInput("the file contains no answers to these questions", file=file)
    if strangers:
        talk(f"passed over: {strangers:,} answers to questions that the benchmark does not have")
    ids = [query.id for query in benchmark.queries]
    missing = [query for query, has in zip(ids, entries.has(ids), strict=True) if not has]
    if missing and not missing_is_wrong:
        raise BadInput(
            f"{len(missing)} of {len(benchmark.queries)} queries are missing",
            ids=missing,
            hint="say that missing queries count as wrong, or answer every query",
        )
    for query_id in missing:
        entries.add(Entry(Answer(question=query_id, error="the file has nothing for it")))
    with Folder.create(out, ANSWERS_KIND) as folder:
        source = {"file": file.name, "sha256": file_hash(file)} if file is not None else {}
        folder.commit(
            name=name,
            parameters={"reader": {"reader": "file", **source}} if source else {},
            parents={"benchmark": benchmark.id, **parts_of(benchmark)},
            counts=write_tables(folder, benchmark.queries, entries),
            made={**environment(), "benchmark": benchmark.place} if source else {},
        )
    return Answers.open(out)


def _shown(query: Query, said: predictions.Predicted) -> tuple[str, ...]:
    """The passages that were shown; where a file does not say, all of a question's own.

    Only questions about several bearers are scored by what was shown.
    """
    if query.task != AMBIGDOCS:
        return ()
    return tuple(predictions.named_passages(query)) if said.shown is None else said.shown


def kilt_predictions(answers: Answers, benchmark: Benchmark) -> Iterator[tuple[Query, dict[str, Any]]]:
    """Each question with KILT's output of it: one answer, and the pages it rests on, else those shown."""
    titles, names = benchmark.page_titles, predictions.BenchmarkNames(benchmark)
    for query, answer, shown in beside(benchmark.queries, answers.answers, answers.shown):
        text = answer.text if answer and answer.text is not None else ""
        said = predictions.Predicted(0, query.id, text, answer.passages if answer else ())
        rests = predictions.as_task(said, query.task, names).passages if query.task == "el" else said.passages
        provenance = [
            {"wikipedia_id": page.partition(":")[2], "title": titles.get(page, "")}
            for page in dict.fromkeys(map(page_of, rests or shown or ()))
        ]
        yield query, {"answer": text, "provenance": provenance}


# Runs as the files that others read: TREC runs, KILT and AmbER predictions, DPR results.


def export_trec_run(
    run: Run, out: str | Path, where: str | None = None, *, unit: Unit = "page"
) -> dict[str, int]:
    """`query Q0 id rank score tag` a line, and beside it the judgements of the same unit.

    Pages are ranked at their best passage; passages have the ids of their own corpus. trec_eval orders by score and
    not by rank, and programs differ in how they order equal scores: these are lowered by the least that
    single precision can tell apart.
    """
    tag = to_trec(run.name or "whichone")
    benchmark = run.benchmark(where)
    ids = exported_ids(benchmark) if unit == "passage" else {}
    path = _file(out, f"run.{unit}s.txt")
    named = f"qrels.{unit}s.txt" if path != Path(out) else f"{path.stem}.qrels.{unit}s.txt"
    written = {path.name: write_lines(path, _trec_lines(run, ids, tag, unit))}
    return {**written, **write_trec_qrels(benchmark, path.with_name(named), unit)}


def _trec_lines(run: Run, ids: Mapping[str, str], tag: str, unit: Unit) -> Iterator[bytes]:
    rows = chain.from_iterable(batch.to_pylist() for batch in run.folder.batches(RANKINGS.name))
    for question, ranked in groupby(rows, itemgetter("question")):
        best: dict[str, float] = {}
        for row in ranked:
            best.setdefault(row[unit], row["score"])
        before = np.float32(np.inf)
        for rank, (identity, score) in enumerate(best.items(), 1):
            own = ids.get(identity) or to_trec(identity)
            if np.float32(score) >= before:
                score = float(np.nextafter(before, np.float32(-np.inf)))
            before = np.float32(score)
            yield f"{to_trec(question)} Q0 {own} {rank} {score!r} {tag}".encode()


def export_amber_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """AmbER predictions: `output` is one object, not a list."""
    path, predictions = _file(out, "predictions.jsonl"), run_predictions(run, run.benchmark(where))
    records = ({"id": own_id(query), "output": output} for query, output in predictions)
    return {path.name: write_lines(path, map(msgspec.json.encode, records))}


def own_id(query: Query) -> Any:
    """As in its published file."""
    kept = query.attributes.get("kilt")
    return kept.get("id", query.id) if isinstance(kept, dict) else query.id


def run_predictions(run: Run, benchmark: Benchmark) -> Iterator[tuple[Query, dict[str, Any]]]:
    """Each question with the ranked pages as KILT's output, each entry with its score and title."""
    titles = benchmark.page_titles
    for query, ids, scores in beside(benchmark.queries, run.ranked_passages(), run.ranked_scores()):
        entries = []
        for page, score in zip(map(page_of, ids or ()), scores or (), strict=True):
            title = titles.get(page)
            named = {"wikipedia_title": title} if title is not None else {}
            entries.append({"wikipedia_id": page.partition(":")[2] or page, "score": score, **named})
        yield query, {"provenance": entries}


def export_dpr_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """DPR results: every question with its answers and its passages with their text."""
    path = _file(out, "results.json")
    return {path.name: write_dpr_results(path, results_of_run(run, run.benchmark(where)))}


def results_of_run(
    run: Run, benchmark: Benchmark, has_answer: Callable[[Query, Passage], bool] | None = None
) -> Iterator[predictions.DprResult]:
    """A run as DPR results, in the order of the benchmark's queries."""
    corpus = benchmark.corpus
    for query, ids, scores in beside(benchmark.queries, run.ranked_passages(), run.ranked_scores()):
        passages = corpus.get(ids or ())
        if pages := [identity for identity in ids or () if identity not in passages]:
            raise BadInput(f"{pages[0]} is a page: DPR results hold passages with their text", file=run.path)
        ctxs = [
            predictions.DprPassage(
                passages[identity].source_id or identity,
                passages[identity].text,
                passages[identity].title,
                score,
                has_answer(query, passages[identity]) if has_answer else None,
            )
            for identity, score in zip(ids or (), scores or (), strict=True)
        ]
        yield predictions.DprResult(query.input, list(query.answers()), ctxs, query.relation)


def write_dpr_results(
    path: str | Path, results: Iterable[predictions.DprResult], *, scores_as_text: bool = True
) -> int:
    """A JSON list, scores as text as DPR writes them; how many results."""
    rows = []
    for result in results:
        row = msgspec.to_builtins(result)
        for place, ctx in enumerate(row["ctxs"]):
            if "score" in ctx:
                ctx["score"] = str(ctx["score"]) if scores_as_text else float(ctx["score"])
            row["ctxs"][place] = {"id": str(ctx.pop("id")), "title": ctx.pop("title", ""), **ctx}
        rows.append(row)
    write_atomic(path, json.dumps(rows, indent=4).encode())
    return len(rows)


def _file(out: str | Path, name: str) -> Path:
    """The file itself, or the usual name in a folder."""
    path = Path(out) if Path(out).suffix else Path(out) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
