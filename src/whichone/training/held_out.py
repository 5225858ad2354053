"""Train and held-out parts that share no name, and the refusal of those that do."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import NAMED, BadInput, sample
from whichone.files.arrow_records import Seen, Selection, blocks
from whichone.names import name_key, title_key
from whichone.progress import talk
from whichone.records import Query
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.text.normalisers import tokens as drqa_tokens

if TYPE_CHECKING:
    from whichone.training.examples import Example

A = TypeVar("A", bound="Example | Query")

KINDS = ("names", "gold pages", "questions", "words of names")
BLOCK = 2_048


def name_of(query: Query) -> str:
    """What a query is split by: its name, else what its gold pages' titles name, else page or id."""
    if query.name:
        return name_key(query.name)
    evidence = [p for o in query.outputs for group in o.provenance for p in group]
    titles = [title_key(p.title) for p in evidence if p.title]
    return min(titles) if titles else min((p.page for p in evidence), default=query.id)


def share_of(name: str, seed: int = 0) -> float:
    """A number from 0 to 1 that only the name and the seed decide."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x00{name}".encode()).digest()[:8], "big") / 2**64


class HeldOutKeys:
    """What training data may not share with some queries: their names, gold pages and questions.

    With `tokens` the words of their names too. With `within_relation` a name or page may be learned of with
    another relation than it is asked about, as in the published splits of EntityQuestions.
    """

    def __init__(
        self, queries: Iterable[Query], *, tokens: bool = False, within_relation: bool = False
    ) -> None:
        self._tokens, self._within = tokens, within_relation and not tokens
        self._keys = Seen()
        for block in blocks(queries, BLOCK):
            keys = [key for *_, key in self._listed(block)]
            self._keys.add(keys, [0] * len(keys))

    def shared(self, records: Sequence[Example | Query]) -> list[tuple[int, str, str]]:
        """Which records have one of these, of which kind it is, and what it is."""
        listed = list(self._listed(records))
        known = self._keys.numbers_of([key for *_, key in listed])
        return [shared[:3] for shared, number in zip(listed, known, strict=True) if number is not None]

    def _listed(self, records: Sequence[Example | Query]) -> Iterator[tuple[int, str, str, str]]:
        """The place of a record, the kind of a thing that it has, the thing, and the key of that."""
        for place, record in enumerate(records):
            if isinstance(record, Query):
                name, pages, question = name_of(record), record.gold_pages(), record.input
            else:
                name, pages, question = record.name, frozenset(record.gold), record.question
            before = f"{record.relation or ''}\0" if self._within else ""
            words = name_words(name) if self._tokens else ()
            for what, things in zip(KINDS, ([name], sorted(pages), [question], words), strict=True):
                yield from ((place, what, thing, f"{what}\0{before}{thing}") for thing in things)


class Leaks:
    """What is on both sides: how many different things of each kind, some of them, and who has them."""

    def __init__(self, train: Sequence[Example | Query], tests: Sequence[HeldOutKeys]) -> None:
        # Which of the examples have something that test data have.
        self.sharing = np.zeros(len(train), bool)
        self._counts = dict.fromkeys(KINDS, 0)
        self._first: dict[str, list[str]] = {what: [] for what in KINDS}
        seen = Seen()
        for start, block in enumerate(blocks(train, BLOCK) if tests else ()):
            for place, what, thing in (shared for keys in tests for shared in keys.shared(block)):
                self.sharing[start * BLOCK + place] = True
                if seen.add_one(f"{what}\0{thing}") is None:
                    self._counts[what] += 1
                    self._first[what] = sorted({*self._first[what], thing})[:NAMED]

    def __bool__(self) -> bool:
        return bool(self.sharing.any())

    def text(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in self._counts.items() if count)

    def sample(self) -> str:
        """Some of the first kind of things that are shared."""
        what, first = next(item for item in self._first.items() if item[1])
        return sample(first, count=self._counts[what])


def name_words(name: str) -> set[str]:
    """The tokens of a name, those without a letter or digit and the commonest words aside."""
    return {
        token
        for token in drqa_tokens(name)
        if any(map(str.isalnum, token)) and token not in LUCENE_STOP_WORDS
    }


def refuse(both: Leaks) -> None:
    if both:
        raise BadInput(
            f"{both.text()} are in both training and test data: {both.sample()}",
            hint="leave the examples that have them out with --drop-leaks",
        )


def without(train: Sequence[A], both: Leaks) -> Sequence[A]:
    """The examples that are in no leak; of a list a list."""
    if not both:
        return train
    talk(f"{both.text()} are in both training and test data; the examples are left out")
    kept = np.flatnonzero(~both.sharing)
    return [train[n] for n in kept] if isinstance(train, list) else Selection(train, kept)


# Splits are law: which records of a source are learned from, and how many are left alone.


TRAIN, DEV, TEST = "train", "dev", "test"
UNMARKED = "unmarked"
_WORDS = {
    TRAIN: ("train", "training"),
    DEV: ("dev", "development", "valid", "validation", "val"),
    TEST: ("test", "testing"),
}
_MARKS = {word: split for split, words in _WORDS.items() for word in words}


class Taken(msgspec.Struct, frozen=True):
    """What one source gave to learn from; `left` counts the records of other splits."""

    source: str
    taken: int
    left: dict[str, int] = {}
    names_held_out: int = 0  # Records of a source without splits whose names are never seen
    without_passage: int = 0
    shared: int = 0  # Records dropped because a name, page or question of theirs is in test data
    other_relations: int = 0  # Records of relations that were not asked for


def split_mark(text: object) -> str | None:
    """The split that a mark or a file's name says: `dev_id` is dev, `nq-train.json` is train."""
    for word in re.findall(r"[a-z]+", str(text or "").lower()):
        if word in _MARKS:
            return _MARKS[word]
    return None


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
        raise BadInput(
            f"no record is marked train ({counts_text(counts)}), so there is nothing to learn from",
            file=source,
            hint="name the training records; --learn-from-dev learns from dev and test all the same",
        )
    return False, {mark: n for mark, n in sorted(counts.items()) if mark != TRAIN}


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {mark}" for mark, count in sorted(counts.items()) if count)


def report_taken(taken: Taken) -> None:
    """One line a source: how many records were taken, and what was not."""
    counted = {
        "of held-out names": taken.names_held_out,
        "without a gold passage": taken.without_passage,
        "of other relations": taken.other_relations,
        "dropped that share something with test data": taken.shared,
    }
    reasons = [f"{counts_text(taken.left)} left alone"] if taken.left else []
    reasons += [f"{count:,} {reason}" for reason, count in counted.items() if count]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    talk(f"{taken.source}: {taken.taken:,} records taken{why}")


def all_queries(benchmark: Benchmark) -> Iterator[tuple[Query, str | None]]:
    """Each query with its split: its own mark, else the one its benchmark was imported or cut as."""
    parameters = benchmark.folder.manifest.parameters
    whole = split_mark(parameters.get("part")) or split_mark(parameters.get("split"))
    for query in benchmark.queries:
        yield query, split_mark(query.attributes.get("split")) or whole
