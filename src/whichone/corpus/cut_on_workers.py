"""Pages of a knowledge base cut by the workers of a cluster: each reads some row groups and writes their passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.corpus.cut.cut import BATCH, READ, Cut, cut_rows
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder
from whichone.progress import Advance

if TYPE_CHECKING:
    from whichone.knowledge.engine.engines import Engine

_WAVE = 64
"""Row groups whose passages are on disk at a time."""


class PageGroup(msgspec.Struct, frozen=True):
    """A row group of the pages, and where its passages go."""

    file: Path
    group: int
    target: Path


class CutPages:
    """What a worker does."""

    def __init__(self, cut: Cut, only: frozenset[str] | None, kind: str | None) -> None:
        self._cut, self._only, self._kind = cut, only, kind

    def __call__(self, task: PageGroup) -> int:
        """How many pages were read."""
        read, writer = 0, None
        with pq.ParquetFile(task.file) as file:
            for batch in file.iter_batches(BATCH, row_groups=[task.group], columns=READ):
                passages = cut_rows(batch, self._cut, only=self._only, kind=self._kind)
                writer = writer or pa.ipc.new_file(str(task.target), passages.schema)
                writer.write_batch(passages)
                read += batch.num_rows
        if writer is not None:
            writer.close()
        return read


def cut_on_workers(
    engine: Engine, kb: Folder, work: CutPages, advance: Advance
) -> Iterator[pa.RecordBatch]:
    """Passages in the order of their pages; this process only hands them on."""
    for tasks in blocks(_groups(engine, kb), _WAVE):
        for task, read in zip(tasks, engine.spread(work, tasks), strict=True):
            with pa.ipc.open_file(pa.memory_map(str(task.target))) as passages:
                for number in range(passages.num_record_batches):
                    yield passages.get_batch(number)
            task.target.unlink()
            advance(read)


def _groups(engine: Engine, kb: Folder) -> Iterator[PageGroup]:
    for part, file in enumerate(kb.parts("pages", whole=False)):
        for group in range(pq.read_metadata(file).num_row_groups):
            target = engine.scratch / f"cut-{part:05}-{group:05}.arrow"
            yield PageGroup(file.resolve(), group, target)
