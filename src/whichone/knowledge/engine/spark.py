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
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from whichone.errors import BadInput, Missing, WhichoneError, missing_extra
from whichone.files.output import written_beside
from whichone.knowledge.formats.source import Job
from whichone.knowledge.parts_work import Finished, PartWork

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
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
    """Each job with its result, a wave at a time; records that jobs carry go through files."""
    for owner in task.work:
        owner.source.path = owner.source.path.resolve()  # the machines work in other folders
    size = _WAVE * session.sparkContext.defaultParallelism
    wave: list[Job] = []
    for job in jobs:
        wave.append(job if job.chunks is None else _spooled(task, job))
        if len(wave) == size:
            yield from zip(wave, _wave(session, task, wave), strict=True)
            wave = []
    if wave:
        yield from zip(wave, _wave(session, task, wave), strict=True)


def _spooled(task: PartWork, job: Job) -> Job:
    """A part of a file that only one reader can cut, for any worker to read."""
    file = task.work[job.source].spool(job.range.number)
    with written_beside(file) as beside:
        beside.write_bytes(pickle.dumps(list(job.chunks or ())))
    return msgspec.structs.replace(job, chunks=None, spool=file)


def _wave(session: Any, task: PartWork, jobs: list[Job]) -> list[Finished]:
    finished = on_workers(session, task, jobs)
    for job, result in zip(jobs, finished, strict=True):
        _check_visible(task, job, result)
        if job.spool is not None:
            job.spool.unlink(missing_ok=True)
    return finished


def on_workers(session: Any, work: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
    """What the machines of the cluster make of each item, in the order of the items."""
    rows = [(number, pickle.dumps(item)) for number, item in enumerate(items)]
    if not rows:
        return []
    with quiet():
        spread = session.sparkContext.parallelize(rows, len(rows))
        frame = session.createDataFrame(spread, "number int, item binary")
        done = frame.mapInArrow(_working(work), "number int, result binary").collect()
    results = {row["number"]: pickle.loads(row["result"]) for row in done}
    for number in range(len(rows)):
        if isinstance(results[number], BaseException):
            raise results[number]
    return [results[number] for number in range(len(rows))]


def _working(work: Callable[[Any], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What runs on the machines of the cluster."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            results = [_result(work, pickle.loads(raw)) for raw in batch["item"].to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [batch["number"], pa.array(results, pa.binary())], names=["number", "result"]
            )

    return run


def _result(work: Callable[[Any], Any], item: Any) -> bytes:
    """The outcome for an item; an error of its data is handed back, not tried again."""
    try:
        return pickle.dumps(work(item))
    except (WhichoneError, OSError, msgspec.ValidationError) as error:
        return pickle.dumps(error)


@contextmanager
def quiet() -> Iterator[None]:
    """Spark warns of pandas 3 at every turn; nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def _check_visible(task: PartWork, job: Job, finished: Finished) -> None:
    owner = task.work[job.source]
    for table, rows in finished.rows.items():
        if rows and not owner.file(job.range.number, table).exists():
            raise BadInput(
                "files written by the workers are not visible from the driver",
                file=owner.folder,
                hint="the knowledge base must be on a file system that all machines share",
            )
