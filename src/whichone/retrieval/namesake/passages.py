"""Anybody's passages as rows of a corpus: records with an id, a title, a text and further fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.corpus.corpus import PASSAGES, Corpus
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput
from whichone.files.tables import connect, sorted_batches
from whichone.records import Passage, page_of, passage_id
from whichone.retrieval.namesake.given import rows_of_table

_PART = 200_000
_COLUMNS = ("id", "title", "text", "page", "entity", "source_id", "n")
Row = dict[str, Any]


def passage_rows(passages: Any, next_number: Callable[[str], int] = lambda _: 0) -> Iterator[Row]:
    """Rows of the table of passages; `next_number` is a page's first free number."""
    counts: dict[str, int] = {}
    if isinstance(passages, str | bytes | Mapping):
        raise BadInput(
            f"passages are a list of records, or a table, not {passages!r:.60}",
            hint='write [{"id": ..., "title": ..., "text": ...}, ...]',
        )
    for number, record in enumerate(rows_of_table(passages)):
        if isinstance(record, Passage):
            yield _of_passage(record)
            continue
        if isinstance(record, str) or not isinstance(record, Mapping):
            raise _no_record(number, record)
        text = record.get("text")
        if not isinstance(text, str):
            raise _no_record(number, record)
        own = str(number if record.get("id") is None else record["id"])
        page = str(record.get("page") or own)
        n = counts.get(page)
        n = next_number(page) if n is None else n
        counts[page] = n + 1
        fields = {k: v for k, v in record.items() if k not in _COLUMNS and v is not None}
        entity = record.get("entity")
        yield {
            "id": passage_id(page, n),
            "page": page,
            "n": n,
            "title": str(record.get("title") or ""),
            "text": text,
            "source_id": own,
            "entity": None if entity is None else str(entity),
            "fields": msgspec.json.encode(fields, enc_hook=str).decode() if fields else None,
        }


def _no_record(number: int, record: Any) -> BadInput:
    return BadInput(
        f"passage {number} is no record with a text: {record!r:.80}",
        hint='write {"id": ..., "title": ..., "text": ...}',
    )


def _of_passage(passage: Passage) -> Row:
    number = passage.id.rpartition("#")[2] if page_of(passage.id) != passage.id else "0"
    return {
        "id": passage.id,
        "page": passage.page,
        "n": int(number) if number.isdigit() else 0,
        "title": passage.title,
        "text": passage.text,
        "source_id": passage.source_id,
        "entity": passage.entity,
        "fields": None,
    }


def save_passages(
    place: Path, rows: Iterable[Row], *, name: str = "corpus", language: str = ""
) -> Corpus:
    """A corpus of rows, sorted on disk where they are many."""
    iterator = iter(rows)
    first = list(islice(iterator, _PART))
    if not first:
        raise BadInput("there are no passages")
    if len(first) < _PART:
        table = _checked(_table(first))
        return save_corpus(place, table, name=name, language=language)
    place.parent.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    try:
        while first:
            parts.append(place.parent / f".{place.name}-{len(parts):05}.parquet")
            pq.write_table(_table(first), parts[-1])
            first = list(islice(iterator, _PART))
        with connect(spill=place.parent) as connection:
            _check_parts(connection, parts)
            batches = sorted_batches(connection, parts, PASSAGES)
            reader = pa.RecordBatchReader.from_batches(PASSAGES.schema, batches)
            return save_corpus(place, reader, name=name, language=language)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _table(rows: list[Row]) -> pa.Table:
    try:
        return pa.Table.from_pylist(rows, PASSAGES.schema)
    except UnicodeEncodeError:
        raise not_text(rows) from None


def not_text(rows: Iterable[Row]) -> BadInput:
    """Which passage has half a character (a lone surrogate) in it."""
    for row in rows:
        try:
            "".join(map(str, row.values())).encode()
        except UnicodeEncodeError:
            own = str(row["source_id"] or row["id"]).encode("ascii", "replace").decode()
            return BadInput(
                f"the passage {own!r} contains half a character, which no file can contain",
                hint='repair the text first: text.encode("utf-8", "replace").decode()',
                ids=[own],
            )
    return BadInput("a passage contains half a character, which no file can contain")


def _check_parts(connection: Any, parts: list[Path]) -> None:
    files = ", ".join(f"'{part}'" for part in parts)
    twice = connection.execute(
        f"SELECT source_id FROM read_parquet([{files}]) WHERE source_id IS NOT NULL"
        " GROUP BY source_id HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if twice is not None:
        raise BadInput(f"two passages have the id {twice[0]!r}", ids=[twice[0]])


def _checked(table: pa.Table) -> pa.Table:
    """Passages whose ids differ: a second one of the same id would hide the first."""
    ids = table["source_id"].to_pylist()
    seen: set[str] = set()
    for own in ids:
        if own is not None and own in seen:
            raise BadInput(f"two passages have the id {own!r}", ids=[own])
        seen.add(own)
    return table
