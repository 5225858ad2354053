"""Anybody's rankings as a run: TREC runs, KILT and AmbER predictions, DPR results, linkers' files."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.exports import Unit, exported_ids, write_trec_qrels
from whichone.corpus.corpus import from_trec, to_trec, trec_order
from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.folder import Folder, file_hash
from whichone.files.lines import read_json_lines, read_lines, write_lines
from whichone.progress import talk
from whichone.records import Query, page_of
from whichone.runs.predictions import FORMATS as LINKERS
from whichone.runs.predictions import (
    read_dpr_results,
    read_predictions,
    results_of_run,
    score_of,
    write_dpr_results,
)
from whichone.runs.run import FAILURES, KIND, RANKINGS, TIMING, Run

# Those that runs are written in as well; linkers' files are only read.
FORMATS = ("trec", "kilt", "amber", "dpr")


class Found(msgspec.Struct):
    """One result as a file has it; `line` is where."""

    question: str
    identity: str
    score: float
    line: int


def import_run(
    file: str | Path,
    out: str | Path,
    benchmark: Benchmark,
    *,
    place: str,
    format: str,
    name: str | None = None,
    on_error: str = "fail",
    knowledge: str | Path | None = None,
) -> Run:
    """Check the rankings against the benchmark and write them as a run.

    `knowledge` is a knowledge base for titles and Wikidata ids that the benchmark does not know.
    """
    known = (*FORMATS, "msmarco", *LINKERS)
    if format not in known:
        raise UsageError(f"no such format: {format!r}", hint=did_you_mean(format, known))
    ids = _Ids(benchmark, file)
    rankings: dict[str, list[tuple[str, float]]] = {}
    skipped: list[BadInput] = []
    lines: dict[str, int] = {}
    for result in _results(Path(file), format, benchmark, knowledge):
        try:
            _check_score(result, file)
            question, identity = ids.question(result), ids.result(result)
            if format in ("kilt", "amber") and lines.setdefault(question, result.line) != result.line:
                raise BadInput(
                    f"the query was answered on line {lines[question]} already",
                    file=file,
                    line=result.line,
                    ids=[result.question],
                )
        except BadInput as error:
            if on_error == "fail":
                raise
            skipped.append(error)
            continue
        listed = rankings.setdefault(question, [])
        if identity is not None:
            listed.append((identity, result.score))
    missing = [query.id for query in benchmark.queries if query.id not in rankings]
    if missing and on_error == "fail":
        raise BadInput(
            f"{len(missing)} of {len(benchmark.queries)} queries have no ranking",
            file=file,
            ids=missing,
            hint="--on-error skip takes them as failures, which score as wrong",
        )
    if skipped:
        talk(f"{len(skipped)} results were left out, the first: {skipped[0]}")
    rows, repeated = _rows(rankings)
    with Folder.create(out, KIND) as folder:
        folder.write(RANKINGS, RANKINGS.from_rows(rows))
        failures = [{"question": q, "error": "the file has no ranking for it"} for q in missing]
        folder.write(FAILURES, FAILURES.from_rows(failures))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(
            name=name or Path(file).name.split(".")[0],
            parameters={"retriever": "imported", "format": format, "file": Path(file).name},
            sources=[{"file": Path(file).name, "sha256": file_hash(Path(file))}],
            parents={"benchmark": benchmark.id},
            counts={
                "questions": len(benchmark.queries),
                "failures": len(missing),
                "skipped": len(skipped),
                "repeated_results": repeated,
            },
            made={
                "benchmark": place,
                **({"left_out": f"line {skipped[0].line}: {skipped[0].message}"} if skipped else {}),
            },
        )
    return Run.open(out)


def _check_score(result: Found, file: str | Path) -> None:
    if result.identity and not math.isfinite(result.score):  # without an id: nothing was found
        raise BadInput(
            f"the score of {result.identity} is {result.score}, not a finite number",
            file=file,
            line=result.line,
            ids=[result.question],
        )


class _Ids:
    """The ids of a benchmark by every name that a file may use for them."""

    def __init__(self, benchmark: Benchmark, file: str | Path) -> None:
        self._file = file
        self._questions: dict[str, str] = {}
        for query in benchmark.queries:
            kept = query.attributes.get("kilt")
            own = str(kept["id"]).strip() if isinstance(kept, dict) and "id" in kept else query.id
            self._questions.setdefault(own, query.id)
            self._questions[query.id] = query.id
        self._results: dict[str, str] = {}
        table = benchmark.passages
        columns = (table[name].to_pylist() for name in ("id", "page", "source_id"))
        for passage, page, theirs in zip(*columns, strict=True):
            for known in (page.partition(":")[2], page):
                self._results.setdefault(known, page)
            self._results[passage] = passage
            if theirs:
                self._results[theirs] = passage
        self._source = _source(benchmark)

    def question(self, result: Found) -> str:
        text = result.question
        question = self._questions.get(text) or self._questions.get(from_trec(text))
        if question is None:
            raise BadInput("the benchmark has no such query", file=self._file, line=result.line, ids=[text])
        return question

    def result(self, result: Found) -> str | None:
        text = result.identity
        if not text:
            return None
        if not self._results:  # a benchmark for scoring only: page ids are taken at their word
            return text if ":" in text else f"{self._source}:{text}"
        results = self._results.get(text) or self._results.get(from_trec(text))
        if results is None:
            raise BadInput(
                f"the corpus has no page or passage {text!r}, returned for {result.question}",
                file=self._file,
                line=result.line,
                ids=[text],
                hint=f"ids of this corpus look like {sample(list(self._results)[:3])}",
            )
        return results


def _source(benchmark: Benchmark) -> str:
    gold = (page for query in benchmark.queries for page in query.gold_pages())
    return next(gold, "enwiki:").partition(":")[0]


def _rows(rankings: dict[str, list[tuple[str, float]]]) -> tuple[list[dict[str, Any]], int]:
    """Ranks from 1; an id that comes again is dropped and counted."""
    rows: list[dict[str, Any]] = []
    repeated = 0
    for question, listed in rankings.items():
        seen: dict[str, float] = {}
        for identity, score in listed:
            repeated += identity in seen
            seen.setdefault(identity, score)
        for rank, (identity, score) in enumerate(seen.items(), 1):
            row = {"question": question, "rank": rank, "passage": identity, "score": score}
            rows.append({**row, "page": page_of(identity)})
    return rows, repeated


def _results(file: Path, format: str, benchmark: Benchmark, knowledge: str | Path | None) -> Iterator[Found]:
    if format == "trec":
        yield from _trec(file)
    elif format == "msmarco":
        yield from _msmarco(file)
    elif format == "dpr":
        yield from _dpr(file, benchmark)
    elif format in LINKERS:
        for ranking in read_predictions(file, format, benchmark, knowledge=knowledge):
            yield Found(ranking.question, ranking.page, ranking.score, ranking.line)
    else:
        yield from _predictions(file)


def _trec(file: Path) -> Iterator[Found]:
    """In trec_eval's order: by score, ties by id from the end of the alphabet; ranks do not count."""
    rankings: dict[str, list[tuple[int, Found]]] = {}
    tag: str | None = None
    for line, text in read_lines(file):
        if not text.strip():
            continue
        parts = text.decode("utf-8", "replace").split()
        if len(parts) < 5:
            raise BadInput("six columns are expected: query Q0 id rank score tag", file=file, line=line)
        question, _, identity, rank, score, *tags = parts
        tag = tag if tag is not None else " ".join(tags)
        if " ".join(tags) != tag:
            raise BadInput(
                f"a line of {' '.join(tags)!r} in the run of {tag!r}",
                file=file,
                line=line,
                hint="one file is one system: the last column of all lines is the same",
            )
        result = Found(question, identity, _number(score, "score", file, line), line)
        place = int(_number(rank, "rank", file, line))
        rankings.setdefault(question, []).append((place, result))
    contradicting = 0
    for listed in rankings.values():
        ordered = sorted(listed, key=lambda r: trec_order(r[1].score, r[1].identity))
        contradicting += [place for place, _ in ordered] != sorted(place for place, _ in listed)
        yield from (result for _, result in ordered)
    if contradicting:
        talk(
            f"{file.name}: {contradicting} queries have ranks that contradict their scores; taken in trec_eval's"
            " order: by score, equal scores by id from the end of the alphabet"
        )


def _number(text: str, what: str, file: Path, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(
            f"the {what} is no finite number: {text!r}",
            file=file,
            line=line,
            hint="the columns are: query Q0 id rank score tag",
        )
    return number


def _msmarco(file: Path) -> Iterator[Found]:
    """Query, id and rank between tabs, as Pyserini writes with --output-format msmarco."""
    rankings: dict[str, list[Found]] = {}
    for line, text in read_lines(file):
        try:
            question, identity, rank = text.decode("utf-8", "replace").split("\t")
            rankings.setdefault(question, []).append(Found(question, identity, -float(rank), line))
        except ValueError:
            raise BadInput(
                "three columns between tabs are expected: query id rank", file=file, line=line
            ) from None
    for listed in rankings.values():
        yield from sorted(listed, key=lambda result: -result.score)


def _predictions(file: Path) -> Iterator[Found]:
    for line, record in read_json_lines(file):
        entries = _entries(record, file, line)
        question = str(record["id"]).strip()
        if not entries:
            yield Found(question, "", 0.0, line)
        for rank, entry in enumerate(entries):
            identity = entry.get("wikipedia_id") if isinstance(entry, dict) else None
            if identity is None or str(identity) == "None":
                continue
            score = entry.get("score")
            yield Found(question, str(identity).strip(), _score(score, rank, file, line), line)


def _entries(record: Any, file: Path, line: int) -> list[Any]:
    """The ranked pages: of KILT's one output that has any, or of AmbER's output."""
    try:
        record["id"]
        output = record["output"]
        outputs = output if isinstance(output, list) else [output]
        ranked = [o["provenance"] for o in outputs if "provenance" in o]
    except (KeyError, TypeError):
        raise BadInput("not a prediction: id or output is missing", file=file, line=line) from None
    if len(ranked) > 1:
        raise BadInput(
            "several outputs have provenance, one is expected", file=file, line=line,
            ids=[record["id"]],
        )  # fmt: skip
    return list(ranked[0]) if ranked and isinstance(ranked[0], list) else []


def _score(value: Any, rank: int, file: Path, line: int) -> float:
    """A score may be text; one that is missing follows from the rank."""
    try:
        return -float(rank) if value is None else float(value)
    except (TypeError, ValueError):
        raise BadInput(f"a score is no number: {value!r}", file=file, line=line) from None


def _dpr(file: Path, benchmark: Benchmark) -> Iterator[Found]:
    """Questions by their text, each in its turn where several have one text."""
    waiting: dict[str, list[str]] = {}
    for query in benchmark.queries:
        waiting.setdefault(query.input, []).append(query.id)
    for number, result in enumerate(read_dpr_results(file), 1):
        queue: Sequence[str] = waiting.get(result.question, ())
        question = queue[0] if queue else result.question
        waiting[result.question] = list(queue[1:])
        if not result.ctxs:
            yield Found(question, "", 0.0, number)
        for rank, passage in enumerate(result.ctxs):
            score = score_of(passage, rank, file, number)
            yield Found(question, str(passage.id), score, number)


# Runs as the files that others read: TREC runs, KILT and AmbER predictions, DPR results.


Ranked = dict[str, list[dict[str, Any]]]


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
    for question, rows in groupby(run.rankings.to_pylist(), itemgetter("question")):
        best: dict[str, float] = {}
        for row in rows:
            best.setdefault(row[unit], row["score"])
        before = np.float32(np.inf)
        for rank, (identity, score) in enumerate(best.items(), 1):
            own = ids.get(identity) or to_trec(identity)
            if np.float32(score) >= before:
                score = float(np.nextafter(before, np.float32(-np.inf)))
            before = np.float32(score)
            yield f"{to_trec(question)} Q0 {own} {rank} {score!r} {tag}".encode()


def export_kilt_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """KILT predictions: one output with the ranked pages, each entry with its score and title."""
    path = _file(out, "predictions.jsonl")
    return {path.name: write_lines(path, _export_run_predictions(run, where, listed=True))}


def export_amber_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """AmbER predictions: `output` is one object, not a list."""
    path = _file(out, "predictions.jsonl")
    return {path.name: write_lines(path, _export_run_predictions(run, where, listed=False))}


def export_dpr_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """DPR results: every question with its answers and its passages with their text."""
    path = _file(out, "results.json")
    return {path.name: write_dpr_results(path, results_of_run(run, run.benchmark(where)))}


def _export_run_predictions(run: Run, where: str | None, *, listed: bool) -> Iterator[bytes]:
    benchmark = run.benchmark(where)
    titles = benchmark.page_titles
    ranked: Ranked = {}
    for row in run.rankings.to_pylist():
        ranked.setdefault(row["question"], []).append(row)
    for query in benchmark.queries:
        pages = [_entry(row, titles) for row in ranked.get(query.id, ())]
        output: Any = {"provenance": pages}
        record = {"id": _own_id(query), "output": [output] if listed else output}
        yield msgspec.json.encode(record)


def _own_id(query: Query) -> Any:
    """What its published file calls the query."""
    kept = query.attributes.get("kilt")
    return kept.get("id", query.id) if isinstance(kept, dict) else query.id


def _entry(row: dict[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    entry = {"wikipedia_id": row["page"].partition(":")[2] or row["page"], "score": row["score"]}
    title = titles.get(row["page"])
    return {**entry, "wikipedia_title": title} if title is not None else entry


def _file(out: str | Path, name: str) -> Path:
    """The file itself, or the usual name in a folder."""
    path = Path(out)
    if path.suffix:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
    path.mkdir(parents=True, exist_ok=True)
    return path / name
