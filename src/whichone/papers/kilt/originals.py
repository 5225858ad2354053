"""TriviaQA's own questions: KILT publishes their ids only."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from whichone.errors import BadInput
from whichone.files.compressed import is_tar
from whichone.files.lines import NOT_JSON, open_binary


class _Question(msgspec.Struct):
    id: str = msgspec.field(name="QuestionId")
    text: str = msgspec.field(name="Question")


class _Document(msgspec.Struct):
    questions: list[_Question] = msgspec.field(name="Data")


class Originals:
    """Questions by id, from TriviaQA's JSON files or from the archive that contains them."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._questions: dict[str, str] = {}
        for path in paths:
            for name, file in _documents(Path(path)):
                self._add(name, file.read())

    def question(self, identity: str) -> str | None:
        return self._questions.get(identity)

    def _add(self, name: str, data: bytes) -> None:
        try:
            document = msgspec.json.decode(data, type=_Document)
        except NOT_JSON as error:
            raise BadInput(
                f"not one of TriviaQA's files: {error}",
                file=name,
                hint="give unfiltered-web-dev.json and the like, or the archive that contains them",
            ) from error
        for question in document.questions:
            self._questions[question.id] = question.text


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
