"""Which passages have a value in a field, on disk: what a filter is answered from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError, did_you_mean
from whichone.files.hash_index import hashes

Rows = npt.NDArray[np.int64]
FILES = ("field-hashes.npy", "field-starts.npy", "field-rows.npy", "field-names.json")
Filter = Mapping[str, Any]
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
        pairs: list[npt.NDArray[np.uint64]] = []
        owners: list[Rows] = []
        first = 0
        for batch in corpus.batches(["fields", *COLUMNS]):
            texts, rows = [], []
            for row, values in enumerate(_values(batch.to_pylist()), first):
                for name, value in values:
                    names.add(name)
                    texts.append(_key(name, value))
                    rows.append(row)
            pairs.append(hashes(texts))
            owners.append(np.array(rows, np.int64))
            first += batch.num_rows
        every = np.concatenate(pairs) if pairs else np.zeros(0, np.uint64)
        owner = np.concatenate(owners) if owners else np.zeros(0, np.int64)
        order = np.argsort(every, kind="stable")
        keys, starts = np.unique(every[order], return_index=True)
        return cls(frozenset(names), keys, np.append(starts, len(every)), owner[order])

    def save(self, folder: Path) -> None:
        np.save(folder / FILES[0], self._keys)
        np.save(folder / FILES[1], self._starts)
        np.save(folder / FILES[2], self._rows)
        (folder / FILES[3]).write_text(json.dumps(sorted(self.names)))

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
