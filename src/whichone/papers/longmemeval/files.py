"""LongMemEval's file: read by itself, or out of the archive that contains it."""

from __future__ import annotations

import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from whichone.errors import BadInput, UsageError, sample
from whichone.files.compressed import is_tar
from whichone.files.lines import NOT_JSON, open_binary


class Turn(msgspec.Struct, frozen=True):
    """What one side said; `has_answer` marks the turns that an answer rests on."""

    role: str
    content: str
    has_answer: bool | None = None


class Record(msgspec.Struct, frozen=True):
    """One question with the sessions in which its answer is to be looked for."""

    question_id: str
    question_type: str
    question: str
    answer: str | int | float
    haystack_session_ids: tuple[str, ...]
    haystack_sessions: tuple[tuple[Turn, ...], ...]
    answer_session_ids: tuple[str, ...]
    haystack_dates: tuple[str, ...] = ()
    question_date: str | None = None

    @property
    def abstention(self) -> bool:
        """Whether the sessions leave the question open, so that a system has to decline."""
        return self.question_id.endswith("_abs")


def read_longmemeval(path: str | Path, member: str | None = None) -> list[Record]:
    """The records of a .json file, or of the one that a .zip, .whl or .tar archive contains."""
    with _opened(Path(path), member) as (name, file):
        try:
            records = msgspec.json.decode(file.read(), type=list[Record])
        except (*NOT_JSON, EOFError, OSError) as error:
            raise BadInput(f"not LongMemEval's questions: {error}", file=name) from error
    _check(records, name)
    return records


def _check(records: list[Record], name: str) -> None:
    if not records:
        raise BadInput("there are no questions", file=name)
    ids = Counter(record.question_id for record in records)
    if twice := [key for key, times in ids.items() if times > 1]:
        raise BadInput(f"{len(twice)} question ids occur twice: {sample(twice)}", file=name)
    for number, record in enumerate(records, 1):
        sessions = record.haystack_session_ids
        dates = record.haystack_dates
        if len(sessions) != len(record.haystack_sessions) or len(dates) not in (0, len(sessions)):
            raise BadInput(
                f"{record.question_id}: {len(sessions)} session ids, {len(record.haystack_sessions)} "
                f"sessions and {len(dates)} dates do not fit together",
                file=name,
                line=number,
            )
        if strange := sorted(set(record.answer_session_ids) - set(sessions)):
            raise BadInput(
                f"{record.question_id}: its answer sessions are not among its sessions: "
                f"{sample(strange)}",
                file=name,
                line=number,
            )


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[tuple[str, IO[bytes]]]:
    """The file's name for messages, and its bytes."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            chosen = _chosen(archive.namelist(), member, path)
            with archive.open(chosen) as file:
                yield f"{path}:{chosen}", file
    elif is_tar(path):
        with tarfile.open(path) as packed:
            files = [entry.name for entry in packed.getmembers() if entry.isfile()]
            chosen = _chosen(files, member, path)
            extracted = packed.extractfile(chosen)
            assert extracted is not None
            yield f"{path}:{chosen}", extracted
    elif member is not None:
        raise UsageError("a member can be chosen of an archive only", where=str(path))
    else:
        with open_binary(path) as file:
            yield str(path), file


def _chosen(names: list[str], member: str | None, path: Path) -> str:
    """The member that was asked for by its whole or last name, else the only one that can be meant."""
    questions = [n for n in names if n.endswith(".json") and "longmemeval" in Path(n).name.lower()]
    if member is not None:
        fitting = [n for n in names if n == member or Path(n).name == member]
    else:
        fitting = [n for n in questions if "composed" not in Path(n).name]
    if len(fitting) == 1:
        return fitting[0]
    hint = (
        f"choose one with --member: {sample(questions)}" if questions else "give the .json itself"
    )
    if fitting:
        raise UsageError(f"{len(fitting)} files of the archive fit", where=str(path), hint=hint)
    raise BadInput("the archive contains no such file of LongMemEval", file=path, hint=hint)
