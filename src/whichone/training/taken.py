"""Splits are law: which records of a source are learned from, and how many are left alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.progress import talk
from whichone.records import Query

TRAIN, DEV, TEST = "train", "dev", "test"
UNMARKED = "unmarked"
_WORDS = {
    TRAIN: ("train", "training"),
    DEV: ("dev", "development", "valid", "validation", "val"),
    TEST: ("test", "testing"),
}
_MARKS = {word: split for split, words in _WORDS.items() for word in words}

T = TypeVar("T")


class Taken(msgspec.Struct, frozen=True):
    """What one source gave to learn from; `left` counts the records of other splits."""

    source: str
    taken: int
    left: dict[str, int] = {}
    names_held_out: int = 0
    """Records of a source without splits whose names are never seen."""
    without_passage: int = 0
    shared: int = 0
    """Records dropped because a name, page or question of theirs is in test data."""
    other_relations: int = 0
    """Records of relations that were not asked for."""


def split_mark(text: object) -> str | None:
    """The split that a mark or a file's name says: `dev_id` is dev, `nq-train.json` is train."""
    for word in re.findall(r"[a-z]+", str(text or "").lower()):
        if word in _MARKS:
            return _MARKS[word]
    return None


def _whole_mark(parameters: Mapping[str, Any]) -> str | None:
    return split_mark(parameters.get("part")) or split_mark(parameters.get("split"))


def training_records(
    source: str, records: Sequence[tuple[T, str | None]], *, learn_from_dev: bool
) -> tuple[list[T], dict[str, int]]:
    """The records marked train, or all where none is marked; and the counts of those left alone.

    A source whose marks name dev or test and never train is refused, unless `learn_from_dev`.
    """
    every, left = taken_marks(source, (mark for _, mark in records), learn_from_dev=learn_from_dev)
    return [record for record, mark in records if every or mark == TRAIN], left


def taken_marks(
    source: str, marks: Iterable[str | None], *, learn_from_dev: bool
) -> tuple[bool, dict[str, int]]:
    """Whether all records are learned from, or those marked train alone; and the counts of those left alone.

    A source whose marks name dev or test and never train is refused, unless `learn_from_dev`.
    """
    counts = Counter(mark or UNMARKED for mark in marks)
    if learn_from_dev or not counts.keys() & {TRAIN, DEV, TEST}:
        return True, {}
    if not counts[TRAIN]:
        raise refusal(source, counts)
    return False, {mark: n for mark, n in sorted(counts.items()) if mark != TRAIN}


def refusal(source: str | Path, counts: Mapping[str, int]) -> BadInput:
    marked = counts_text(counts)
    return BadInput(
        f"no record is marked train ({marked}), so there is nothing to learn from",
        file=source,
        hint="name the training records; --learn-from-dev learns from dev and test all the same",
    )


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {mark}" for mark, count in sorted(counts.items()) if count)


def report_taken(taken: Taken) -> None:
    """One line a source: how many records were taken, and what was not."""
    reasons = [f"{counts_text(taken.left)} left alone"] if taken.left else []
    if taken.names_held_out:
        reasons.append(f"{taken.names_held_out:,} of held-out names")
    if taken.without_passage:
        reasons.append(f"{taken.without_passage:,} without a gold passage")
    if taken.other_relations:
        reasons.append(f"{taken.other_relations:,} of other relations")
    if taken.shared:
        reasons.append(f"{taken.shared:,} dropped that share something with test data")
    talk(f"{taken.source}: {taken.taken:,} records taken{_in_brackets(reasons)}")


def _in_brackets(reasons: Iterable[str]) -> str:
    joined = "; ".join(reasons)
    return f" ({joined})" if joined else ""


def all_queries(benchmark: Benchmark) -> Iterator[tuple[Query, str | None]]:
    """Each query with its split: its own mark, else the one its benchmark was imported or cut as."""
    whole = _whole_mark(benchmark.folder.manifest.parameters)
    for query in benchmark.each_query():
        yield query, split_mark(query.attributes.get("split")) or whole
