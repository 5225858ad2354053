"""Which passages have a value in a field, on disk: what a filter is answered from."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError, did_you_mean
from whichone.files.mapped import HashIndex, hashes
from whichone.files.output import written_beside
from whichone.files.pools import cores_for, run_in_order

Rows = npt.NDArray[np.int64]
FILES = ("field-hashes.npy", "field-starts.npy", "field-rows.npy", "field-names.json")
Filter = Mapping[str, Any]
_CHUNK = 1 << 20
COLUMNS = ("entity", "page")
"""Columns of a passage that a filter may name too."""
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00:00(?:\.0+)?")


class FieldIndex:
    """From a field and a value to rows; one passage may have several values in a field."""

    def __init__(self, names: frozenset[str], keys: Any, starts: Rows, rows: Any) -> None:
        self.names = names
        self._keys, self._starts, self._rows = keys, starts, rows

    @classmethod
    def of(cls, corpus: Corpus) -> FieldIndex:
        """Read off a corpus, in memory."""
        names: set[str] = set()
        forms = list(_each_value(corpus, names))
        every = np.concatenate([np.zeros(0, np.uint64), *(keys for keys, _ in forms)])
        owner = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in forms)])
        order = np.argsort(every, kind="stable")
        keys, starts = np.unique(every[order], return_index=True)
        return cls(frozenset(names), keys, np.append(starts, len(every)), owner[order])

    @classmethod
    def write(cls, corpus: Corpus, folder: Path) -> None:
        """The files for a corpus of any size, sorted on disk."""
        names: set[str] = set()
        HashIndex.write(folder, "field-all", _each_value(corpus, names))
        every = np.load(folder / "field-all-hashes.npy", mmap_mode="r").view(np.ndarray)
        _write_keys(every, folder)
        (folder / "field-all-rows.npy").replace(folder / FILES[2])
        (folder / "field-all-hashes.npy").unlink()
        with written_beside(folder / FILES[3]) as beside:  # the last one: all are complete
            beside.write_text(json.dumps(sorted(names)))

    @classmethod
    def open(cls, folder: Path) -> FieldIndex:
        arrays = [np.load(folder / file, mmap_mode="r").view(np.ndarray) for file in FILES[:3]]
        return cls(frozenset(json.loads((folder / FILES[3]).read_text())), *arrays)

    def rows(self, name: str, values: Sequence[Any]) -> Rows:
        """The rows that have any of the values in a field, in ascending order."""
        results = []
        for key in hashes(_key(name, value) for value in values):
            at = int(np.searchsorted(self._keys, key))
            if at < len(self._keys) and self._keys[at] == key:
                results.append(np.asarray(self._rows[self._starts[at] : self._starts[at + 1]]))
        if len(results) == 1:  # in ascending order already
            return results[0].astype(np.int64)
        return np.unique(np.concatenate(results or [np.zeros(0)])).astype(np.int64)


def filtered(wanted: Filter, parts: Sequence[FieldIndex], starts: Sequence[int]) -> Rows:
    """The rows of all parts that a filter lets through; several fields must all agree."""
    known = sorted({name for part in parts for name in part.names} | set(COLUMNS))
    result: Rows | None = None
    for name, values in _wanted(wanted):
        if name not in known:
            raise UsageError(
                f"no passage has a field {name!r} to filter by", hint=did_you_mean(name, known)
            )
        rows = [p.rows(name, values) + s for p, s in zip(parts, starts, strict=True)]
        these = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        result = these if result is None else np.intersect1d(result, these, assume_unique=True)
    return np.zeros(0, np.int64) if result is None else result


def passes(wanted: Filter, record: Mapping[str, Any]) -> bool:
    """Whether one passage, with its columns and its fields, is let through."""
    (held,) = _values([record])
    values = set(held)
    return all(any((name, _text(v)) in values for v in listed) for name, listed in _wanted(wanted))


def _wanted(wanted: Filter) -> Iterator[tuple[str, list[Any]]]:
    """The fields of a filter, each with the values that it lets through."""
    if not isinstance(wanted, Mapping):
        raise UsageError(
            f"a filter is a mapping of fields to values, not {wanted!r:.60}",
            hint='write {"tenant": "acme", "year": [2023, 2024]}',
        )
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            raise UsageError(
                f"the filter's {name!r} is a mapping: {value!r:.60}",
                hint='write a value or a list of values: {"year": [2023, 2024]}',
            )
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        yield name, list(value) if several else [value]


def _each_value(corpus: Corpus, names: set[str]) -> Iterator[tuple[npt.NDArray[np.uint64], Rows]]:
    """In blocks, the hash of each field's value and its row; the names of fields go into `names`."""
    for keys, rows, known in run_in_order(_block_values, _blocks(corpus), cores_for(len(corpus))):
        names |= known
        yield keys, rows


def _blocks(corpus: Corpus) -> Iterator[tuple[int, pa.RecordBatch]]:
    first = 0
    for batch in corpus.batches(["fields", *COLUMNS]):
        yield first, batch
        first += batch.num_rows


def _block_values(
    block: tuple[int, pa.RecordBatch],
) -> tuple[npt.NDArray[np.uint64], Rows, set[str]]:
    first, batch = block
    names: set[str] = set()
    texts, rows = [], []
    for row, values in enumerate(_values(batch.to_pylist()), first):
        for name, value in values:
            names.add(name)
            texts.append(_key(name, value))
            rows.append(row)
    return hashes(texts), np.array(rows, np.int64), names


def _write_keys(every: npt.NDArray[np.uint64], folder: Path) -> None:
    """Each hash once with where it begins, of hashes in their order, a chunk at a time."""
    with (
        tempfile.TemporaryFile(dir=folder) as keys,
        tempfile.TemporaryFile(dir=folder) as starts,
    ):
        count = 0
        for at in range(0, len(every), _CHUNK):
            chunk = every[max(at - 1, 0) : at + _CHUNK]
            new = np.flatnonzero(chunk[1:] != chunk[:-1]) + 1
            new = new if at else np.concatenate([np.zeros(1, np.int64), new])
            chunk[new].tofile(keys)
            (new + max(at - 1, 0)).astype(np.int64).tofile(starts)
            count += len(new)
        np.array([len(every)], np.int64).tofile(starts)
        keys.flush()
        starts.flush()
        for file, raw, kind, size in (
            (FILES[0], keys, np.uint64, count),
            (FILES[1], starts, np.int64, count + 1),
        ):
            mapped = np.memmap(raw, kind, "r", shape=(size,)) if size else np.zeros(0, kind)
            np.save(folder / file, mapped)


def _values(records: Iterable[Mapping[str, Any]]) -> Iterator[list[tuple[str, str]]]:
    for record in records:
        values = [(name, str(record[name])) for name in COLUMNS if record.get(name) is not None]
        raw = record.get("fields")
        for name, value in (msgspec.json.decode(raw) if raw else {}).items():
            several = value if isinstance(value, list) else [value]
            values += [
                (name, _text(v)) for v in several if v is not None and not isinstance(v, dict)
            ]
        yield values


def _text(value: Any) -> str:
    """A value as one text: 7, 7.0 and "7" are one value, and so are a day and its midnight."""
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    plain = msgspec.to_builtins(value, enc_hook=str)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    text = plain if isinstance(plain, str) else json.dumps(plain, default=str)
    return text[:10] if _MIDNIGHT.fullmatch(text) else text


def _key(name: str, value: Any) -> str:
    return f"{name}\x1f{_text(value)}"
