"""The names of a corpus' pages: found by all cores in blocks of pages, sorted on disk."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from whichone.corpus.corpus import Corpus
from whichone.corpus.names import Named, names_of_page
from whichone.corpus.tables import NAMES
from whichone.files.arrow_records import blocks, merged, write_run
from whichone.files.mapped import BATCH, MappedTable, write_mapped
from whichone.files.pools import available_cores, run_jobs
from whichone.names import token_key
from whichone.progress import progress

PageNames = Iterable[tuple[str, Named]]
"""Names beyond titles and first sentences, each with the page that it points at."""

BLOCK = 2 * BATCH
"""Pages whose names one worker looks for at a time."""

_PART = 50_000
_MERGED = 131_072


@dataclass(frozen=True)
class Pages:
    """Pages by their rows, from the first to before the end."""

    number: int
    first: int
    end: int

    def __str__(self) -> str:
        return f"pages {self.first:,} to {self.end - 1:,}"


class NameRunMaker:
    """Writes the names of some pages, sorted; the tables of the corpus are mapped."""

    def __init__(self, folder: Path, language: str) -> None:
        self._folder = folder
        self._language = language

    @functools.cached_property
    def _tables(self) -> tuple[MappedTable, MappedTable]:
        """Opened where it is used, once a process."""
        names = ("pages.arrow", "passages.arrow")
        return tuple(MappedTable.open(self._folder / name) for name in names)  # type: ignore[return-value]

    def __call__(self, job: Pages) -> None:
        pages, passages = self._tables
        block = pages.slice(job.first, job.end - job.first, ["title", "first"])
        rows = NameRows()
        titles = block["title"].to_pylist()
        firsts = block["first"].to_numpy().tolist()
        for page, (title, first) in enumerate(zip(titles, firsts, strict=True), job.first):
            text = passages.strings([first], "text")[0]
            for named in names_of_page(title or "", text, self._language):
                rows.add(page, named)
        write_run(own_names(self._folder, job.number), rows.table(), NAMES)


class NameRows:
    """Columns of names."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, int, str, int]] = []

    def add(self, page: int, named: Named) -> None:
        self._rows.append((token_key(named.name), named.name, page, named.kind, named.count))

    def __len__(self) -> int:
        return len(self._rows)

    def table(self) -> pa.Table:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(NAMES.schema)
        return NAMES.from_columns(dict(zip(NAMES.schema.names, columns, strict=True)))


def write_names(folder: Path, corpus: Corpus, more: PageNames) -> int:
    """Write `names.arrow` beside the tables of pages and passages; how many names.

    Runs that a killed writer completed are used again.
    """
    target = folder / "names.arrow"
    if target.exists():
        return len(MappedTable.open(target))
    starts = range(0, corpus.page_count, BLOCK)
    jobs = [Pages(n, s, min(s + BLOCK, corpus.page_count)) for n, s in enumerate(starts)]
    missing = [job for job in jobs if not own_names(folder, job.number).exists()]
    with progress("names", corpus.page_count, "pages") as advance:
        advance(sum(job.end - job.first for job in jobs) - sum(j.end - j.first for j in missing))
        maker = NameRunMaker(folder, corpus.language)
        for job, _ in run_jobs(maker, missing, min(available_cores(), len(missing))):
            advance(job.end - job.first)
    runs = [own_names(folder, job.number) for job in jobs]
    runs += _further_names(folder, corpus, more)
    batches = (batch for table in merged(runs, NAMES, _MERGED) for batch in table.to_batches())
    count = write_mapped(target, batches, NAMES.schema)
    for run in runs:
        run.unlink()
    return count


def own_names(folder: Path, number: int) -> Path:
    return folder / f".names-{number:06}.arrow"


def _further_names(folder: Path, corpus: Corpus, more: PageNames) -> Iterator[Path]:
    rows, number = NameRows(), 0
    for part in blocks(more, BATCH):
        known = corpus.page_rows([page for page, _ in part])
        for row, (_, named) in zip(known, part, strict=True):
            if row is not None and named.name.strip():
                rows.add(row, named)
        if len(rows) >= _PART:
            yield _written(folder, number, rows)
            rows, number = NameRows(), number + 1
    if len(rows):
        yield _written(folder, number, rows)


def _written(folder: Path, number: int, rows: NameRows) -> Path:
    path = folder / f".further-names-{number:06}.arrow"
    write_run(path, rows.table(), NAMES)
    return path
