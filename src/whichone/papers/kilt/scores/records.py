"""The parts of KILT's gold and prediction records that the scores look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from whichone.files.lines import NOT_JSON

PAGE_KEY = "wikipedia_id"
UNSET_TYPE = UnsetType

GetKeys = Callable[[Any], Any]


class Unreadable(Exception):
    """A line that is not a record of its kind; the message says why."""


class RecordReader:
    """Decodes lines of one kind of file into records that keep only the named provenance keys."""

    def __init__(
        self, kind: str, provenance_keys: Sequence[str], record_keys: Sequence[str]
    ) -> None:
        self._fields = {key: f"key_{n}" for n, key in enumerate(dict.fromkeys(provenance_keys))}
        entry = msgspec.defstruct(
            f"{kind}Provenance",
            [(field, Any, UNSET) for field in self._fields.values()],
            rename={field: key for key, field in self._fields.items()},
            gc=False,
        )
        output = msgspec.defstruct(
            f"{kind}Output",
            [("answer", Any, UNSET), ("provenance", list[entry] | UnsetType, UNSET)],  # type: ignore[valid-type]
        )
        self._type: type[Struct] = msgspec.defstruct(
            f"{kind}Record",
            [
                *((key, Any, UNSET) for key in record_keys),
                ("output", list[output] | UnsetType, UNSET),  # type: ignore[valid-type]
            ],
        )
        self._decode = msgspec.json.Decoder(self._type).decode

    def get(self, *keys: str) -> GetKeys:
        """A function from a provenance entry to the value of a key, or to a tuple for several."""
        return attrgetter(*(self._fields[key] for key in keys))

    def read(self, line: bytes) -> Any:
        """The record; `Unreadable` when the line is no UTF-8, no JSON or another kind of record."""
        try:
            if not line.isascii():
                line.decode()  # msgspec does not look into strings that it skips
            return self._decode(line)
        except UnicodeDecodeError as error:
            raise Unreadable(f"not UTF-8 (byte {error.start + 1} of the line)") from None
        except NOT_JSON:
            return self._read_as_python_does(line)

    def _read_as_python_does(self, line: bytes) -> Any:
        """Python's own JSON reader takes NaN and lone surrogates, and so does the official program."""
        try:
            return msgspec.convert(json.loads(line.decode()), self._type)
        except json.JSONDecodeError as error:
            if not line.strip():
                raise Unreadable("a blank line") from None
            raise Unreadable(f"not JSON: {error}") from None
        except RecursionError:
            raise Unreadable("not JSON: nested too deeply") from None
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise Unreadable(f"not a KILT record: {error}") from None


def gold_reader(rank_keys: Sequence[str]) -> RecordReader:
    return RecordReader("Gold", (PAGE_KEY, "title", *rank_keys), ("id", "input"))


def guess_reader(rank_keys: Sequence[str]) -> RecordReader:
    return RecordReader("Guess", (PAGE_KEY, "text", "score", *rank_keys), ("id",))


def as_id(value: object) -> str:
    """How the official programs compare ids: as stripped text, so 1, "1" and " 1" are the same."""
    return str(value).strip()
