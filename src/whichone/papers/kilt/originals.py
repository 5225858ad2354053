"""TriviaQA's own questions: KILT publishes their ids only."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, Spool, blocks
from whichone.files.compressed import is_tar
from whichone.files.json_records import entries
from whichone.files.lines import NOT_JSON, open_binary

_BLOCK = 4_096


class _Question(msgspec.Struct):
    id: str = msgspec.field(name="QuestionId")
    text: str = msgspec.field(name="Question")


class Originals:
    """Questions by id, from TriviaQA's JSON files or from the archive that contains them; they are on disk."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._texts: Spool[str] = Spool(str)
        self._places = Seen()
        for path in paths:
            for name, file in _documents(Path(path)):
                for block in blocks(_questions(name, file), _BLOCK):
                    first = len(self._texts)
                    self._places.add([q.id for q in block], range(first, first + len(block)))
                    self._texts.extend(q.text for q in block)

    def questions(self, identities: Sequence[str]) -> list[str | None]:
        """The question of each id; None for one that the files do not have."""
        places = self._places.numbers(identities)
        return [None if place is None else self._texts[place] for place in places]


def _questions(name: str, file: IO[bytes]) -> Iterator[_Question]:
    """The entries of `Data`, a few megabytes at a time."""
    try:
        for part in entries(file, b"Data"):
            yield from msgspec.json.decode(part, type=list[_Question])
    except NOT_JSON as error:
        raise BadInput(
            f"not one of TriviaQA's files: {error}",
            file=name,
            hint="give unfiltered-web-dev.json and the like, or the archive that contains them",
        ) from error


def _documents(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if not is_tar(path):
        with open_binary(path) as file:
            yield str(path), file
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".json"):
                held = archive.extractfile(member)
                if held is not None:
                    yield f"{path}:{member.name}", held
