"""Writes a corpus: passages as they come, then its pages, its names, and where each is found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.corpus.corpus import Corpus, page_rows, with_all_columns
from whichone.corpus.names import Named, distinct_keys, names_of_page
from whichone.corpus.places import remember
from whichone.corpus.tables import KIND, NAMES, PAGES, PASSAGES
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.hash_index import HashIndex, hashes
from whichone.files.manifest import MANIFEST
from whichone.files.mapped import BATCH, MappedTable, write_mapped
from whichone.files.tables import DEFAULT_MEMORY, connect, sort_rows, sorted_batches
from whichone.records import Passage, page_of

_PART = 200_000
Passages: TypeAlias = "pa.Table | pa.RecordBatchReader | Iterable[Passage]"
PageNames = Iterable[tuple[str, Named]]
"""Names beyond titles and first sentences, each with the page that it points at."""


def save_corpus(
    path: str | Path,
    passages: Passages,
    *,
    name: str = "corpus",
    names: PageNames = (),
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    parents: Mapping[str, str] | None = None,
    counts: Mapping[str, Any] | None = None,
    memory: str = DEFAULT_MEMORY,
) -> Corpus:
    """Write a corpus; passages that come as a reader come in the order of page and number."""
    with Folder.create(path, KIND) as folder:
        rows = write_mapped(folder.partial / "passages.arrow", _in_order(passages), PASSAGES.schema)
        folder.adopt("passages.arrow", rows=rows)
        table = MappedTable.open(folder.partial / "passages.arrow")
        pages = _write_pages(folder, table)
        _write_sources(folder, table)
        known = _write_names(folder, table, pages, names, memory)
        folder.commit(
            name=name,
            parameters=parameters,
            sources=sources,
            parents=parents,
            counts={"passages": rows, "pages": len(pages), "names": known, **(counts or {})},
        )
    corpus = Corpus.open(path)
    remember(corpus)
    return corpus


def _in_order(passages: Passages) -> Iterator[pa.RecordBatch]:
    if isinstance(passages, pa.RecordBatchReader):
        for batch in passages:
            yield from with_all_columns(pa.Table.from_batches([batch])).to_batches()
        return
    table = passages if isinstance(passages, pa.Table) else passage_rows(passages)
    yield from sort_rows(with_all_columns(table), PASSAGES).combine_chunks().to_batches(BATCH)


def passage_rows(passages: Iterable[Passage]) -> pa.Table:
    return PASSAGES.from_rows(
        [
            {
                "id": p.id,
                "page": p.page,
                "n": int(p.id.rpartition("#")[2]) if page_of(p.id) != p.id else 0,
                "title": p.title,
                "text": p.text,
                "source_id": p.source_id,
                "entity": p.entity,
            }
            for p in passages
        ]
    )


def _write_pages(folder: Folder, passages: MappedTable) -> MappedTable:
    def batches() -> Iterator[pa.RecordBatch]:
        for part in _parts(page_rows(passages.batches(["page", "title"])), BATCH):
            yield from PAGES.from_rows(part).to_batches()

    rows = write_mapped(folder.partial / "pages.arrow", batches(), PAGES.schema)
    folder.adopt("pages.arrow", rows=rows)
    pages = MappedTable.open(folder.partial / "pages.arrow")
    _check_together(pages)
    _adopt_index(folder, "page", HashIndex.of(_hashes(pages, "page")))
    return pages


def _check_together(pages: MappedTable) -> None:
    """Pages follow one another in order; one that comes twice was interrupted by another."""
    last = ""
    for batch in pages.batches(["page"]):
        for page in batch["page"].to_pylist():
            if page <= last and last:
                raise BadInput(
                    f"passages are not in the order of their pages: {page} comes after {last}",
                    ids=[page],
                )
            last = page


def _write_sources(folder: Folder, passages: MappedTable) -> None:
    """Where passages are found by their own ids, in corpora that have such."""
    if all(b["source_id"].null_count == b.num_rows for b in passages.batches(["source_id"])):
        return
    _adopt_index(folder, "source", HashIndex.of(_hashes(passages, "source_id")))


def _write_names(
    folder: Folder, passages: MappedTable, pages: MappedTable, more: PageNames, memory: str
) -> int:
    corpus = Corpus(passages, hash="")
    corpus.page_table = pages
    rows = _name_rows(corpus, more)
    parts = []
    for number, part in enumerate(_parts(rows, _PART)):
        parts.append(folder.partial / f".names-{number:05}.parquet")
        pq.write_table(NAMES.from_rows(part), parts[-1])
    with connect(memory, folder.partial) as connection:
        batches = sorted_batches(connection, parts, NAMES) if parts else iter(())
        count = write_mapped(folder.partial / "names.arrow", batches, NAMES.schema)
    for file in parts:
        file.unlink()
    folder.adopt("names.arrow", rows=count)
    keys, starts = distinct_keys(MappedTable.open(folder.partial / "names.arrow"))
    _adopt_index(folder, "name", HashIndex.of(hashes(keys)).pointing_at(starts))
    return count


def _name_rows(corpus: Corpus, more: PageNames) -> Iterator[dict[str, Any]]:
    place = 0
    for batch in corpus.page_table.batches(["title", "first"]):
        first = np.asarray(batch["first"])
        texts = corpus.take(first, ["text"])["text"].to_pylist()
        for title, text in zip(batch["title"].to_pylist(), texts, strict=True):
            yield from (named.row(place) for named in names_of_page(title or "", text or ""))
            place += 1
    for part in _parts(more, BATCH):
        rows = corpus.page_rows([page for page, _ in part])
        for row, (_, named) in zip(rows, part, strict=True):
            if row is not None and named.name.strip():
                yield named.row(row)


def _hashes(table: MappedTable, column: str) -> Any:
    parts = [hashes(v or "" for v in b[column].to_pylist()) for b in table.batches([column])]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _adopt_index(folder: Folder, name: str, index: HashIndex) -> None:
    for file in index.save(folder.partial, name):
        folder.adopt(file)


def _parts(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(rows)
    while part := list(islice(iterator, size)):
        yield part


def put_corpus(corpus: Corpus, place: Path) -> None:
    """The same corpus in another folder: linked where the file system allows it, else copied."""
    if corpus.folder is None:
        save_corpus(place, corpus.passages, name=corpus.name)
        return
    place.mkdir(parents=True, exist_ok=True)
    for name in (*corpus.folder.manifest.files, MANIFEST):
        (place / name).unlink(missing_ok=True)
        try:
            os.link(corpus.folder.root / name, place / name)
        except OSError:
            shutil.copyfile(corpus.folder.root / name, place / name)
