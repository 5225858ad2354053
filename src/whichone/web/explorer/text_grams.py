"""Runs of one, two and three letters in the texts of an index, and how many texts hold each.

A trigram index answers from three letters on, fastest by the rarest trigrams of what was typed. Of one or
two letters, those that many texts hold are found by looking through the texts, the most popular first;
those that few hold have their texts listed here.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.files.tables import sql_name

_BATCH = 16_384
_RARE = 64  # A run of letters is rare when fewer than one in so many texts contains it
_RAREST = 3


class Searched(msgspec.Struct, frozen=True):
    """A table with a folded text `key` and a number by which its rows are ordered."""

    table: str
    number: str

    @property
    def trigrams(self) -> str:
        return f"{self.table}_trigrams"

    @property
    def grams(self) -> str:
        return f"{self.table}_grams"

    @property
    def pieces(self) -> str:
        return f"{self.table}_pieces"


SETS = Searched("sets", "n")
QUERIES = Searched("queries", "q")


def build_grams(database: sqlite3.Connection, searched: Searched) -> None:
    """The trigram index of a table that is filled, and its short and rare runs of letters."""
    trigrams, grams, pieces = searched.trigrams, searched.grams, searched.pieces
    database.executescript(f"""
        create virtual table {trigrams} using fts5(key, content='{searched.table}',
            content_rowid='{searched.number}', tokenize='trigram case_sensitive 1', detail='none');
        insert into {trigrams} ({trigrams}) values ('rebuild');
        insert into {trigrams} ({trigrams}) values ('optimize');
        create table {grams} (gram text primary key, texts integer) without rowid;
        create table {pieces} (gram text, n integer, primary key (gram, n)) without rowid;
        create virtual table temp.vocabulary using fts5vocab(main, {trigrams}, row);
        insert into {grams} select term, doc from temp.vocabulary;
        drop table temp.vocabulary;
    """)
    texts, counts = _short_counts(database, searched)
    database.execute("begin")
    database.executemany(
        f"insert or ignore into {grams} values (?, ?)",
        ((_written(code), count) for code, count in counts.items()),
    )
    rare = np.array(sorted(c for c, count in counts.items() if count * _RARE < texts), np.uint64)
    for numbers, codes in _batches(database, searched):
        all_rows = _among(codes, rare)
        rows = zip(map(_written, codes[all_rows].tolist()), numbers[all_rows].tolist(), strict=True)
        database.executemany(f"insert or ignore into {pieces} values (?, ?)", rows)
    database.execute("commit")


def _short_counts(database: sqlite3.Connection, searched: Searched) -> tuple[int, dict[int, int]]:
    texts = database.execute(f"select count(*) from {searched.table}").fetchone()[0]
    counts: dict[int, int] = {}
    for _, codes in _batches(database, searched):
        for code, count in zip(*map(np.ndarray.tolist, np.unique(codes, return_counts=True)), strict=True):
            counts[code] = counts.get(code, 0) + count
    return texts, counts


def _among(codes: npt.NDArray[np.uint64], rare: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    if not len(rare):
        return np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(rare, codes), len(rare) - 1)
    return np.equal(rare[places], codes)


def _batches(
    database: sqlite3.Connection, searched: Searched
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]]:
    rows = database.execute(f"select {searched.number}, key from {searched.table} order by {searched.number}")
    while batch := rows.fetchmany(_BATCH):
        joined = "\0".join(key for _, key in batch) + "\0"
        letters = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.uint64)
        ends = letters == 0
        which = np.array([n for n, _ in batch], np.int64)[np.cumsum(ends) - ends]
        pairs = (letters[:-1] << np.uint64(32)) | letters[1:]
        whole = ~ends[:-1] & ~ends[1:]
        yield (
            np.concatenate([which[~ends], which[:-1][whole]]),
            np.concatenate([letters[~ends], pairs[whole]]),
        )


def _written(code: int) -> str:
    high, low = code >> 32, code & 0xFFFFFFFF
    return (chr(high) if high else "") + chr(low)


class Way(msgspec.Struct, frozen=True):
    """A way into a table: where its rows' numbers are listed in order, which of them, about how many."""

    source: str
    number: str
    condition: str
    values: tuple[Any, ...]
    rows: int


def text_way(database: sqlite3.Connection, searched: Searched, key: str) -> Way | None:
    """How to find the rows whose text contains the key; None when it is so common that looking does."""
    if len(key) >= 3:
        return _trigram_way(database, searched, key)
    count = _count(database, searched, [key]).get(key, 0)
    every = database.execute(f"select max({searched.number}) from {searched.table}").fetchone()[0]
    if count and count * _RARE >= every:
        return None
    pieces = searched.pieces
    return Way(pieces, f"{pieces}.n", f"{pieces}.gram = ?", (key,), count)


def _trigram_way(database: sqlite3.Connection, searched: Searched, key: str) -> Way:
    """By the rarest trigrams; the common ones would cost more to go through than they rule out."""
    trigrams = sorted({key[n : n + 3] for n in range(len(key) - 2)})
    known = _count(database, searched, trigrams)
    if len(known) < len(trigrams):
        return Way(searched.pieces, f"{searched.pieces}.n", "0", (), 0)
    rarest = sorted(known, key=lambda t: (known[t], t))[:_RAREST]
    asked = " AND ".join(map(sql_name, rarest))
    index = searched.trigrams
    condition = f"{index} match ? and instr({searched.table}.key, ?)"
    return Way(index, f"{index}.rowid", condition, (asked, key), known[rarest[0]])


def _count(database: sqlite3.Connection, searched: Searched, grams: list[str]) -> dict[str, int]:
    marks = ", ".join("?" * len(grams))
    rows = database.execute(f"select gram, texts from {searched.grams} where gram in ({marks})", grams)
    return dict(rows.fetchall())
