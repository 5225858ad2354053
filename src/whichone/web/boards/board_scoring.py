"""Scores one submission in a process of its own, within limits of memory and time.

It writes its result into the job's folder and reports how far it is. A file that takes too much ends this
process, not the server.
"""

import base64
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, WhichoneError
from whichone.files.folder import Folder
from whichone.measures.comparison import against_best, better_systems, holm
from whichone.measures.intervals import cluster_rule
from whichone.measures.measure import parse_measure, parse_measures
from whichone.measures.scores import (
    Scores,
    board_measures,
    estimate,
    of_papers,
    score_answers,
    score_run,
    usual_measures,
)
from whichone.measures.summary import HEAD, TAIL, roles_of
from whichone.report.first_screen import OUTCOMES, first_results
from whichone.runs.run import KIND as RUN
from whichone.runs.run import Answers, Run
from whichone.web.boards import submissions
from whichone.web.boards.board import LEAST_COVERAGE, without_details

# What KILT also counts only with its complete evidence.
KILT_LIKE = {name: [f"kilt_{name}"] for name in ("em", "f1", "accuracy", "rouge_l")}
DETECT = "auto"
WRONG = "Counted as wrong"
OUT_OF_MEMORY = 77  # The exit code of a process that asked for more memory than it may have
DEEPEST = 1000  # Results to a query that are taken


class ScoringJob(msgspec.Struct, frozen=True):
    """What is to be scored: a file in one of the formats, a run in the served folder, or nothing new."""

    benchmarks: dict[str, str]  # The folder of each by its id: one, or the several of a family
    work: str
    key: str  # The name of this submission among `values`
    name: str = ""
    file: str | None = None
    run: str | None = None
    format: str = DETECT
    missing_is_wrong: bool = False
    hidden: bool = False
    unpacked_bytes: int = 512 * 2**20
    memory_bytes: int = 4 * 2**30
    seconds: float = 1800.0
    # Of each kind (rankings, answers) the first measure's values of the systems scored before.
    values: dict[str, dict[str, str]] = {}


class Outcome(msgspec.Struct, frozen=True):
    """The parts that were scored and everybody's test against the best, or why nothing was."""

    refused: str = ""
    format: str = ""
    message: str = ""
    parts: list[dict[str, Any]] = []
    marks: dict[str, float] = {}
    # For each system and kind those of the kind that are significantly better.
    better: dict[str, list[str]] = {}


Report = Callable[[float, str], None]


def main(job: ScoringJob, environment: Mapping[str, str], reports: Connection) -> None:
    """What the child process does; errors that are none of the file's go to `errors` in the job's folder."""
    os.chdir(job.work)
    with Path("errors").open("wb") as errors:
        os.dup2(errors.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)

    def report(progress: float, message: str) -> None:
        reports.send_bytes(f"{progress} {message}".encode())

    try:
        _limit(job)
        outcome = score(job, report)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    (Path(job.work) / "outcome.json").write_bytes(msgspec.json.encode(outcome))


def _limit(job: ScoringJob) -> None:
    """The operating system's own limits; where it has none, the server's clock is left."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (job.memory_bytes, job.memory_bytes))
    seconds = int(job.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def score(job: ScoringJob, report: Report = lambda progress, message: None) -> Outcome:
    if len(job.benchmarks) > 1:
        return _score_family(job, report)
    benchmark = Benchmark.open(Path(next(iter(job.benchmarks.values()))))
    format = job.format
    try:
        parts: list[dict[str, Any]] = []
        if job.run is not None:
            parts = [scored(Run(Folder.open(Path(job.run), RUN)), benchmark)]
        elif job.file is not None:
            report(0.1, "unpacking")
            submissions.unpack(Path(job.file), Path(job.work) / "unpacked", job.unpacked_bytes)
            report(0.3, "reading")
            format, read = _read(job, benchmark, Path(job.work) / "unpacked", Path(job.work))
            report(0.6, "scoring")
            parts = [scored(part, benchmark) for part in read]
    except WhichoneError as error:
        message = error.message if not job.hidden else without_details(error.message)
        return Outcome(refused=message, format=format)
    report(0.9, "comparing")
    values: dict[str, dict[str, str]] = {kind: dict(v) for kind, v in job.values.items()}
    for part in parts:
        values.setdefault(part["kind"], {})[f"{job.key} {part['kind']}"] = part["values"]
    message = " ".join(filter(None, (part.pop("left_out") for part in parts)))
    marks, better = tests_of(values, benchmark)
    message = without_details(message) if job.hidden else message
    return Outcome("", format, message and f"{WRONG}: {message}", parts, marks, better)


def _score_family(job: ScoringJob, report: Report) -> Outcome:
    work = Path(job.work)
    formats: dict[str, None] = {}
    parts: list[dict[str, Any]] = []
    try:
        report(0.1, "unpacking")
        files = submissions.unpack_archive(Path(job.file or ""), work / "files", job.unpacked_bytes)
        opened = {name: Benchmark.open(Path(place)) for name, place in job.benchmarks.items()}
        chosen = submissions.files_of_benchmarks(files, opened)
        for n, (name, (file, called)) in enumerate(chosen.items()):
            report(0.2 + 0.7 * n / len(chosen), f"reading and scoring {called}")
            own = work / f"of{n}"
            own.mkdir()
            try:
                format, read = _read(job, opened[name], file, own)
                for part in read:
                    measures = own_measures(part, opened[name])
                    parts.append({**scored(part, opened[name], measures), "benchmark": name})
            except WhichoneError as error:
                message = without_details(error.message) if job.hidden else error.message
                return Outcome(refused=f"{called}: {message}", format=job.format)
            formats[format] = None
    except WhichoneError as error:
        return Outcome(refused=error.message, format=job.format)
    missing = len(opened) - len(chosen)
    sentences = [f"Partial: no file for {missing} of {len(opened)} benchmarks."] if missing else []
    for row in parts:
        if left := row.pop("left_out"):
            left = without_details(left) if job.hidden else left
            sentences.append(f"{WRONG} in {opened[row['benchmark']].name}: {left}")
    return Outcome(format=", ".join(formats), message=" ".join(sentences), parts=parts)


def own_measures(read: Run | Answers, benchmark: Benchmark) -> list[str]:
    """What a family's board shows of a benchmark: its paper's measures, else the first of the usual ones."""
    if isinstance(read, Run):
        return of_papers(benchmark, "rankings") or board_measures(benchmark)[:1]
    own = of_papers(benchmark, "answers")[:1] or usual_measures(benchmark)[:1]
    return [name for m in own for name in (m, *KILT_LIKE.get(m, ()))]


def _read(job: ScoringJob, benchmark: Benchmark, file: Path, work: Path) -> tuple[str, list[Run | Answers]]:
    format = submissions.detected_format(file) if job.format == DETECT else job.format
    try:
        submissions.check_size(file, format, len(benchmark.queries), DEEPEST)
        read = submissions.read_upload(
            file, work, benchmark, format=format, name=job.name,
            missing_is_wrong=job.missing_is_wrong,
        )  # fmt: skip
    except BadInput as error:
        raise BadInput(submissions.message_for_uploader(error, file)) from error
    ranks = (part.rankings["rank"] for part in read if isinstance(part, Run) and part.rankings.num_rows)
    if (deepest := max((int(np.asarray(rank).max()) for rank in ranks), default=0)) > DEEPEST:
        raise BadInput(f"a query has {deepest:,} results; at most {DEEPEST:,} are taken")
    _check_coverage(job, read, len(benchmark.queries))
    return format, read


def _check_coverage(job: ScoringJob, read: list[Run | Answers], queries: int) -> None:
    """Where gold is hidden, a score over a few queries would give their gold away."""
    if not job.hidden:
        return
    for part in read:
        answered = (
            len(part.rankings["question"].unique())
            if isinstance(part, Run)
            else sum(bool(a.text and a.text.strip()) for a in part.answers.values())
        )
        if answered < LEAST_COVERAGE * queries:
            raise BadInput(
                f"{answered:,} of {queries:,} queries have a result and this board wants at least "
                f"{LEAST_COVERAGE:.0%}"
            )


def scored(read: Run | Answers, benchmark: Benchmark, names: Sequence[str] = ()) -> dict[str, Any]:
    if isinstance(read, Run):
        measures = parse_measures(names or board_measures(benchmark))
        scores: Scores = score_run(read, benchmark, measures)
    else:
        measures = parse_measures(names or answer_measures(read, benchmark))
        scores = score_answers(read, benchmark, measures)
    every = np.arange(len(scores.queries))
    first = scores.values[str(scores.measures[0])].astype(np.float32)
    return {
        "outcomes": _outcomes(read, scores, benchmark) if isinstance(read, Run) else {},
        "kind": "rankings" if isinstance(read, Run) else "answers",
        "measures": {str(m): estimate(scores, m, every) for m in scores.measures},
        "values": base64.b64encode(first.tobytes()).decode(),
        "counts": {"queries": len(scores.queries), "failures": len(read.failures)},
        "left_out": _left_out(read, len(scores.queries)),
        "resampled": cluster_rule(scores.queries),
    }


def _outcomes(run: Run, scores: Scores, benchmark: Benchmark) -> dict[str, dict[str, int]]:
    """How many questions about heads and tails are right, fell for a namesake, and so on."""
    results = first_results([run], [scores], benchmark)
    if not results.any_gold:
        return {}
    roles = roles_of(benchmark.queries)
    groups = {"head": roles == HEAD, "tail": roles == TAIL}
    if not all(rows.any() for rows in groups.values()):
        groups = {"all": np.ones(len(roles), bool)}
    codes = results.outcomes[scores.system]
    return {
        group: dict(zip(OUTCOMES, np.bincount(codes[rows], minlength=4).tolist(), strict=True))
        for group, rows in groups.items()
    }


def _left_out(read: Run | Answers, queries: int) -> str:
    sentences = []
    if read.failures:
        what = "ranking" if isinstance(read, Run) else "answer"
        sentences.append(f"{len(read.failures):,} of {queries:,} queries have no {what}.")
    if skipped := read.folder.manifest.counts.get("skipped"):
        first = read.folder.manifest.made.get("left_out", "")
        sentences.append(f"{skipped:,} results were left out, the first: {first}.")
    return " ".join(sentences)


def answer_measures(answers: Answers, benchmark: Benchmark) -> list[str]:
    """The usual ones; where answers say which pages they rest on, KILT's beside their like."""
    usual = list(dict.fromkeys([*usual_measures(benchmark), *of_papers(benchmark, "answers")]))
    if not any(a.passages for a in answers.answers.values()):
        return usual
    return [name for m in usual for name in (m, *KILT_LIKE.get(m, ()))]


def tests_of(
    values: Mapping[str, Mapping[str, str]], benchmark: Benchmark
) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Tests on the first measure of each kind that has several systems: paired, by cluster.

    The p of each against the best of its kind, Holm-corrected together, and of every pair, corrected for
    their number, which are significantly better.
    """
    tests: dict[str, float] = {}
    better: dict[str, list[str]] = {}
    for kind, first in (("rankings", board_measures), ("answers", usual_measures)):
        packed = values.get(kind, {})
        if len(packed) < 2:
            continue
        measure = parse_measure(first(benchmark)[0])
        systems = [
            Scores(name, benchmark.id, benchmark.queries, [measure], {str(measure): unpacked(own)})
            for name, own in packed.items()
        ]
        tests |= against_best(systems, measure)
        better |= better_systems(systems, measure)
    return dict(zip(tests, holm(list(tests.values())), strict=True)), better


def unpacked(values: str) -> npt.NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(values), np.float32).astype(np.float64)
