"""The seams: what a retriever and a reader must be able to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from whichone.records import Answer, Question, Ranking, ReadingTask


@runtime_checkable
class Retriever(Protocol):
    """Questions in, rankings out, in the order of the questions, at most `k` passages each."""

    def search(self, questions: Sequence[Question], k: int) -> Iterable[Ranking]: ...


@runtime_checkable
class Reader(Protocol):
    """Questions with the passages shown in, answers out, in the order of the tasks."""

    def read(self, tasks: Sequence[ReadingTask]) -> Iterable[Answer]: ...
