"""Scores one submission in a process of its own, within limits of memory and time.

It writes its result into the job's folder and reports how far it is. A file that takes too much ends this
process, not the server.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, WhichoneError
from whichone.files.folder import Folder
from whichone.measures.comparison import better_systems, holm, permutation_p
from whichone.measures.intervals import cluster, cluster_rule, cluster_sums
from whichone.measures.measure import parse_measures
from whichone.measures.scores import (
    Scores,
    board_measures,
    estimate,
    of_papers,
    score_answers,
    score_run,
    usual_measures,
)
from whichone.runs.run import KIND as RUN
from whichone.runs.run import Answers, Run
from whichone.web.boards.board import LEAST_COVERAGE, without_details
from whichone.web.boards.submissions import (
    check_size,
    detected_format,
    message_for_uploader,
    read_upload,
    unpack,
)

KILT_LIKE = {
    "em": ("kilt_em",),
    "f1": ("kilt_f1",),
    "accuracy": ("kilt_accuracy",),
    "rouge_l": ("kilt_rouge_l",),
}
DETECT = "auto"
OUT_OF_MEMORY = 77
"""The exit code of a process that asked for more memory than it may have."""
DEEPEST = 1000
"""Results to a query that are taken."""


class Job(msgspec.Struct, frozen=True):
    """What is to be scored: a file in one of the formats, a run in the served folder, or nothing new."""

    benchmark: str
    work: str
    key: str
    """The name of this submission among `values`."""
    name: str = ""
    file: str | None = None
    run: str | None = None
    format: str = DETECT
    missing_is_wrong: bool = False
    hidden: bool = False
    unpacked_bytes: int = 512 * 2**20
    memory_bytes: int = 4 * 2**30
    seconds: float = 1800.0
    values: dict[str, dict[str, str]] = {}
    """Of each kind (rankings, answers) the first measure's values of the systems scored before."""


class Outcome(msgspec.Struct, frozen=True):
    """The parts that were scored and everybody's test against the best, or why nothing was."""

    refused: str = ""
    format: str = ""
    message: str = ""
    parts: list[dict[str, Any]] = []
    marks: dict[str, float] = {}
    better: dict[str, list[str]] = {}
    """For each system and kind those of the kind that are significantly better."""


Report = Callable[[float, str], None]


def main(job: Job, environment: Mapping[str, str], reports: Connection) -> None:
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


def _limit(job: Job) -> None:
    """The operating system's own limits; where it has none, the server's clock is left."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (job.memory_bytes, job.memory_bytes))
    seconds = int(job.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def score(job: Job, report: Report = lambda progress, message: None) -> Outcome:
    benchmark = Benchmark.open(Path(job.benchmark))
    format = job.format
    try:
        parts: list[dict[str, Any]] = []
        if job.run is not None:
            parts = [scored(Run(Folder.open(Path(job.run), RUN)), benchmark)]
        elif job.file is not None:
            format, read = _read(job, benchmark, report)
            _check_coverage(job, read, len(benchmark.queries))
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
    return Outcome(
        format=format,
        message=without_details(message) if job.hidden else message,
        parts=parts,
        marks=tests_against_best(values, benchmark),
        better=tests_of_pairs(values, benchmark),
    )


def _read(job: Job, benchmark: Benchmark, report: Report) -> tuple[str, list[Run | Answers]]:
    work, file = Path(job.work), Path(job.work) / "unpacked"
    report(0.1, "unpacking")
    unpack(Path(job.file or ""), file, job.unpacked_bytes)
    format = detected_format(file) if job.format == DETECT else job.format
    report(0.3, "reading")
    try:
        check_size(file, format, len(benchmark.queries), DEEPEST)
        read = read_upload(
            file, work, benchmark, format=format, name=job.name,
            missing_is_wrong=job.missing_is_wrong,
        )  # fmt: skip
    except BadInput as error:
        raise BadInput(message_for_uploader(error, file)) from error
    for part in read:
        if isinstance(part, Run) and part.rankings.num_rows:
            deepest = int(np.asarray(part.rankings["rank"]).max())
            if deepest > DEEPEST:
                raise BadInput(f"a query has {deepest:,} results; at most {DEEPEST:,} are taken")
    return format, read


def _check_coverage(job: Job, read: list[Run | Answers], queries: int) -> None:
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


def scored(read: Run | Answers, benchmark: Benchmark) -> dict[str, Any]:
    """Every measure with its interval, and the first measure's value of each query, packed."""
    if isinstance(read, Run):
        measures = parse_measures(board_measures(benchmark))
        scores: Scores = score_run(read, benchmark, measures)
    else:
        scores = score_answers(read, benchmark, parse_measures(answer_measures(read, benchmark)))
    every = np.arange(len(scores.queries))
    first = scores.values[str(scores.measures[0])].astype(np.float32)
    return {
        "kind": "rankings" if isinstance(read, Run) else "answers",
        "measures": {str(m): estimate(scores, m, every) for m in scores.measures},
        "values": base64.b64encode(first.tobytes()).decode(),
        "counts": {"queries": len(scores.queries), "failures": len(read.failures)},
        "left_out": _left_out(read, len(scores.queries)),
        "resampled": cluster_rule(scores.queries),
    }


def _left_out(read: Run | Answers, queries: int) -> str:
    """What of an upload counts as wrong, in words for whoever submitted it."""
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


def tests_against_best(
    values: Mapping[str, Mapping[str, str]], benchmark: Benchmark
) -> dict[str, float]:
    """Every system against the best of its kind: paired, by cluster, Holm-corrected together."""
    tests: list[tuple[str, float]] = []
    for unpacked, clusters in _kinds(values, benchmark):
        tests += list(_against_best(unpacked, clusters))
    corrected = holm([p for _, p in tests])
    return {name: p for (name, _), p in zip(tests, corrected, strict=True)}


def tests_of_pairs(
    values: Mapping[str, Mapping[str, str]], benchmark: Benchmark
) -> dict[str, list[str]]:
    """Every pair of systems of a kind, corrected for their number: which are significantly better than each."""
    better: dict[str, list[str]] = {}
    for unpacked, clusters in _kinds(values, benchmark):
        better |= better_systems(unpacked, clusters)
    return better


def _kinds(
    values: Mapping[str, Mapping[str, str]], benchmark: Benchmark
) -> Iterator[tuple[dict[str, npt.NDArray[np.float32]], npt.NDArray[Any]]]:
    """The values of each kind that several systems have, and the queries' clusters."""
    if not any(len(systems) > 1 for systems in values.values()):
        return
    clusters = np.array([":".join(cluster(q)) for q in benchmark.queries])
    for kind in ("rankings", "answers"):
        unpacked = {
            name: np.frombuffer(base64.b64decode(packed), np.float32)
            for name, packed in values.get(kind, {}).items()
        }
        if len(unpacked) > 1:
            yield unpacked, clusters


def _against_best(
    values: Mapping[str, npt.NDArray[np.float32]], clusters: npt.NDArray[Any]
) -> Iterator[tuple[str, float]]:
    best = max(sorted(values), key=lambda name: float(np.nanmean(values[name])))
    for name in sorted(values):
        if name == best:
            continue
        differences = values[best].astype(np.float64) - values[name]
        keep = ~np.isnan(differences)
        sums, _ = cluster_sums(differences[keep], clusters[keep])
        yield name, permutation_p(sums)
