"""Files that people upload, as a run or as answers: unpacked within limits, messages with their line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.ambigdocs.files import read_objects
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.lines import open_binary, read_json_lines
from whichone.reading.answers import ANSWERS, LEFT_OUT, Answers
from whichone.reading.answers import KIND as ANSWERS_KIND
from whichone.reading.answers import TIMING as ANSWER_TIMING
from whichone.records import Answer, Ranking, page_of
from whichone.retrieval.import_run import import_run
from whichone.retrieval.run import FAILURES, KIND, RANKINGS, TIMING, Run

FORMATS = {
    "amber": "AmbER predictions",
    "kilt": "KILT predictions",
    "dpr": "DPR results",
    "trec": "TREC run",
    "whichone": "whichone rankings or answers (JSON lines)",
    "ambigdocs": "AmbigDocs predictions",
}
_BLOCK = 1 << 20


def unpack(packed: Path, out: Path, most: int) -> int:
    """Copies what a file holds, decompressed; stops as soon as it is more than it may be."""
    size = 0
    with open_binary(packed) as source, out.open("wb") as target:
        try:
            while block := source.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise BadInput(f"unpacked it is more than the {most:,} bytes that are taken")
                target.write(block)
        except (EOFError, OSError, ValueError) as error:
            raise BadInput(f"cannot be unpacked: {error}") from error
        except Exception as error:
            if type(error).__module__.startswith("zstandard"):
                raise BadInput(f"cannot be unpacked: {error}") from error
            raise
    return size


def told(error: BadInput) -> str:
    """A message for whoever uploaded the file: its line, not the server's paths."""
    where = f"line {error.line}: " if error.line is not None else ""
    hint = error.hint or ""
    if "--on-error" in hint:
        hint = "say that missing queries count as wrong, or give every query a ranking"
    return f"{where}{error.message}" + (f" ({hint})" if hint else "")


def read_upload(
    file: Path, work: Path, benchmark: Benchmark, *, format: str, name: str, missing_is_wrong: bool
) -> Run | Answers:
    """A run, or answers, of what was uploaded; `work` is an empty folder of its own."""
    on_error = "skip" if missing_is_wrong else "fail"
    if format == "ambigdocs":
        return _answers(file, work, benchmark, name, _ambigdocs_texts, missing_is_wrong)
    if format == "whichone":
        first: Any = next(iter(read_json_lines(file)), (0, None))[1]
        if isinstance(first, dict) and "text" in first:
            return _answers(file, work, benchmark, name, _own_texts, missing_is_wrong)
        return _own_rankings(file, work, benchmark, name, missing_is_wrong)
    if format == "kilt" and _only_answers(file):
        return _answers(file, work, benchmark, name, _kilt_texts, missing_is_wrong)
    return import_run(
        file, work, benchmark, place="", format=format, name=name, on_error=on_error
    )  # fmt: skip


def _only_answers(file: Path) -> bool:
    """Whether the first KILT prediction has an answer and no provenance."""
    record = next(iter(read_json_lines(file)), (0, None))[1]
    outputs = record.get("output") if isinstance(record, dict) else None
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    return isinstance(first, dict) and "answer" in first and "provenance" not in first


Texts = Callable[[Path], Iterator[tuple[int, str, str | None]]]
"""Line, query id and answer of every record of a file."""


def _kilt_texts(file: Path) -> Iterator[tuple[int, str, str | None]]:
    for line, record in read_json_lines(file):
        try:
            yield line, str(record["id"]), str(record["output"][0]["answer"])
        except (KeyError, IndexError, TypeError):
            raise BadInput("not a prediction: id or output.answer is missing", line=line) from None


def _ambigdocs_texts(file: Path) -> Iterator[tuple[int, str, str | None]]:
    for line, record in read_objects(file):
        if "qid" not in record or "gen_answer" not in record:
            raise BadInput("not a prediction: qid or gen_answer is missing", line=line)
        yield line, str(record["qid"]), str(record["gen_answer"] or "")


def _own_texts(file: Path) -> Iterator[tuple[int, str, str | None]]:
    for line, record in read_json_lines(file):
        answer = _converted(record, Answer, line)
        yield line, answer.question, answer.text


def _converted(record: Any, kind: type[Any], line: int) -> Any:
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise BadInput(str(error), line=line) from None


def _answers(
    file: Path, work: Path, benchmark: Benchmark, name: str, texts: Texts, missing_is_wrong: bool
) -> Answers:
    known = {q.id for q in benchmark.queries}
    by_source = {str(q.attributes["qid"]): q.id for q in benchmark.queries if "qid" in q.attributes}
    rows: dict[str, dict[str, Any]] = {}
    for line, named, text in texts(file):
        question = by_source.get(named, named)
        _check(question, known, rows, line)
        rows[question] = {"question": question, "text": text, "passages": [], "shown": [],
                          "score": None, "notes": None}  # fmt: skip
    missing = _missing(known, rows, missing_is_wrong)
    with Folder.create(work, ANSWERS_KIND) as folder:
        folder.write(ANSWERS, ANSWERS.from_rows(list(rows.values())))
        folder.write(FAILURES, FAILURES.from_rows(missing))
        folder.write(LEFT_OUT, LEFT_OUT.from_rows([]))
        folder.write(ANSWER_TIMING, ANSWER_TIMING.from_rows([]))
        folder.commit(name=name, parents={"benchmark": benchmark.id})
    return Answers.open(work)


def _own_rankings(
    file: Path, work: Path, benchmark: Benchmark, name: str, missing_is_wrong: bool
) -> Run:
    known = {q.id for q in benchmark.queries}
    ids = set(benchmark.passages["id"].to_pylist()) | benchmark.pages
    seen: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for line, record in read_json_lines(file):
        ranking = _converted(record, Ranking, line)
        _check(ranking.question, known, seen, line)
        seen[ranking.question] = True
        scores = ranking.scores or tuple(-float(n) for n in range(len(ranking.passages)))
        if len(scores) != len(ranking.passages):
            raise BadInput("as many scores as passages are expected", line=line)
        strange = [p for p in ranking.passages if ids and p not in ids]
        if strange:
            raise BadInput("the corpus has no such page or passage", line=line, ids=strange)
        once = dict(zip(ranking.passages, scores, strict=True))
        rows += [
            {"question": ranking.question, "rank": rank, "passage": p, "page": page_of(p), "score": s}
            for rank, (p, s) in enumerate(once.items(), 1)
        ]  # fmt: skip
    missing = _missing(known, seen, missing_is_wrong)
    with Folder.create(work, KIND) as folder:
        folder.write(RANKINGS, RANKINGS.from_rows(rows))
        folder.write(FAILURES, FAILURES.from_rows(missing))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(name=name, parents={"benchmark": benchmark.id})
    return Run.open(work)


def _check(question: str, known: set[str], seen: dict[str, Any], line: int) -> None:
    if question not in known:
        raise BadInput("the benchmark has no such query", line=line, ids=[question])
    if question in seen:
        raise BadInput("this query came before", line=line, ids=[question])


def _missing(known: set[str], seen: dict[str, Any], missing_is_wrong: bool) -> list[dict[str, Any]]:
    missing = sorted(known - seen.keys())
    if missing and not missing_is_wrong:
        raise BadInput(
            f"{len(missing)} of {len(known)} queries are missing",
            ids=missing,
            hint="say that missing queries count as wrong, or answer every query",
        )
    return [{"question": q, "error": "the file has nothing for it"} for q in missing]
