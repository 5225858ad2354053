"""Reading parts on a Spark cluster: the same readers, the same part files, the same bytes.

Every machine must see the dumps and the knowledge base under the same paths. A part is written whole
or not at all and is the same whoever writes it, so that Spark may repeat it as it likes.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from whichone.errors import BadInput, Missing, WhichoneError, missing_extra
from whichone.knowledge.formats.source import Job
from whichone.knowledge.parts_work import Finished, PartWork

_ROWS = 1_024  # handed to Python at a time: they may have the texts of pages
_WAVE = 4  # parts handed out at once for each core of the cluster; each wave is journalled


def start_spark(master: str, memory: str) -> Any:
    """A Spark session; its talk is kept to errors."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_extra("pyspark", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("whichone")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{max(512, _mebibytes(memory) // 4)}m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise Missing(
            f"Spark could not be started on {master}: {error}",
            hint="it needs Java 17 or newer (apt install default-jre-headless) and a reachable master",
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def _mebibytes(memory: str) -> int:
    number = float("".join(c for c in memory if c.isdigit() or c == "."))
    unit = memory.strip("0123456789. ").upper()[:1]
    return int(number * {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}[unit])


def run_on_spark(
    session: Any, task: PartWork, jobs: Iterable[Job]
) -> Iterator[tuple[Job, Finished]]:
    """Each job with its result, a wave at a time; jobs that carry records are done here, at once."""
    for owner in task.work:
        owner.source.path = owner.source.path.resolve()  # the machines work in other folders
    size = _WAVE * session.sparkContext.defaultParallelism
    wave: list[Job] = []
    for job in jobs:
        if job.chunks is not None:
            yield job, task(job)
            continue
        wave.append(job)
        if len(wave) == size:
            yield from zip(wave, _wave(session, task, wave), strict=True)
            wave = []
    if wave:
        yield from zip(wave, _wave(session, task, wave), strict=True)


def _wave(session: Any, task: PartWork, jobs: list[Job]) -> list[Finished]:
    rows = [(number, pickle.dumps(job)) for number, job in enumerate(jobs)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        spread = session.sparkContext.parallelize(rows, len(rows))
        frame = session.createDataFrame(spread, "number int, job binary")
        done = frame.mapInArrow(_reading(task), "number int, result binary").collect()
    results = {row["number"]: pickle.loads(row["result"]) for row in done}
    finished = []
    for number, job in enumerate(jobs):
        result = results[number]
        if isinstance(result, BaseException):
            raise result
        _check_visible(task, job, result)
        finished.append(result)
    return finished


def _reading(task: PartWork) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What runs on the machines of the cluster."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            results = [_result(task, pickle.loads(raw)) for raw in batch["job"].to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [batch["number"], pa.array(results, pa.binary())], names=["number", "result"]
            )

    return read


def _result(task: PartWork, job: Job) -> bytes:
    """The outcome of a part; an error of its data is handed back, not tried again."""
    try:
        return pickle.dumps(task(job))
    except (WhichoneError, OSError, msgspec.ValidationError) as error:
        return pickle.dumps(error)


def _check_visible(task: PartWork, job: Job, finished: Finished) -> None:
    owner = task.work[job.source]
    for table, rows in finished.rows.items():
        if rows and not owner.file(job.range.number, table).exists():
            raise BadInput(
                "files written by the workers are not visible from the driver",
                file=owner.folder,
                hint="the knowledge base must be on a file system that all machines share",
            )
