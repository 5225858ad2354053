"""Settings: which passages a reader is shown for a question.

`gold` is the oracle of AmbER's Table 7, `retrieved` its regular setting; `other-bearer` gives the page
of another bearer of the name instead of the gold one, which is what confusion does to a reader.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import worded
from whichone.benchmarks.several import own_id
from whichone.errors import BadInput, UsageError
from whichone.records import NameSet, Query, ReadingTask
from whichone.runs.run import Run
from whichone.text import normalisers

Passages = Literal["gold", "retrieved", "gold+retrieved", "none", "other-bearer"]
KINDS: tuple[str, ...] = get_args(Passages)
AMBIGDOCS = "ambigdocs"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: AmbER reads 20 passages, BART+DPR 3, RAG 5, AmbigDocs at most 5 in any order."""

    passages: Passages = "gold"
    depth: int = 20
    """At most so many passages a question."""
    shuffled: bool = False
    """In a seeded order of its own for each question, instead of by rank."""
    page_passages: int = 1
    """How many passages represent a page that a page-level run returned; 0: all of them."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.passages not in KINDS:
            raise UsageError(f"--passages {self.passages}: one of {', '.join(KINDS)} is wanted")
        if self.depth < 1 or self.page_passages < 0:
            raise UsageError("--depth must be at least 1, --page-passages at least 0")

    @property
    def needs_run(self) -> bool:
        return "retrieved" in self.passages

    @property
    def hash(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]


def setting_for(
    benchmark: Benchmark,
    passages: str,
    *,
    depth: int | None = None,
    shuffled: bool | None = None,
    page_passages: int = 1,
    seed: int = 0,
) -> Setting:
    """The setting with a benchmark's own defaults: AmbigDocs shows five at most, in any order."""
    ambigdocs = all(q.task == AMBIGDOCS for q in benchmark.queries)
    return Setting(
        passages=passages,  # type: ignore[arg-type]  # checked by the setting itself
        depth=depth if depth is not None else 5 if ambigdocs else 20,
        shuffled=ambigdocs if shuffled is None else shuffled,
        page_passages=page_passages,
        seed=seed,
    )


class Shown(msgspec.Struct, frozen=True):
    """The passages of one question, or why it is not asked at all."""

    passages: tuple[str, ...] = ()
    left_out: str | None = None
    cut: int = 0
    """How many passages there were beyond the depth."""


class Shows:
    """Chooses the passages of every query of a benchmark under one setting."""

    def __init__(self, benchmark: Benchmark, setting: Setting, run: Run | None = None) -> None:
        if setting.needs_run and run is None:
            raise UsageError(
                f"--passages {setting.passages} needs a run", hint="name it: --run RUN"
            )
        if run is not None and run.benchmark_id != benchmark.id:
            raise BadInput(
                f"the run is over {run.benchmark_id}, the questions are of {benchmark.id}",
                file=run.path,
                hint="retrieve on this benchmark first",
            )
        self.setting = setting
        self.corpus = benchmark.corpus
        self._sets: Mapping[str, NameSet] = {s.id: s for s in benchmark.sets}
        self._ranked = _ranked(run) if run is not None and setting.needs_run else {}

    def choose(self, query: Query) -> Shown:
        kind = self.setting.passages
        if kind == "none":
            return Shown()
        if kind == "other-bearer":
            return self._other_bearer(query)
        passages: list[str] = []
        cut = 0
        if "gold" in kind:
            passages, cut = self._gold(query)
        if "retrieved" in kind:
            ranked = [p for p in self._retrieved(query) if p not in passages]
            room = self.setting.depth - len(passages)
            passages += ranked[:room]
        return Shown(self._ordered(query, passages), cut=cut)

    def tasks(
        self, queries: Sequence[Query], shown: Mapping[str, Shown], *, in_words: bool = False
    ) -> list[ReadingTask]:
        """What the reader gets for these queries: the question and its passages, nothing else.

        With `in_words` a slot is asked by one of its published template questions, where it has any.
        """
        passages = self.corpus.get(p for q in queries for p in shown[q.id].passages)
        return [
            ReadingTask(
                question=worded(q) if in_words else q.question(),
                passages=tuple(passages[p] for p in shown[q.id].passages),
            )
            for q in queries
        ]

    def _gold(self, query: Query) -> tuple[list[str], int]:
        """Gold passages where the gold names passages, else those of the gold pages.

        Of more named ones than fit a seeded sample is taken, as AmbigDocs does. Of a page longer
        than fits, passages that state an accepted answer go before the rest: an oracle without the
        answer would be none.
        """
        named: dict[str, None] = {}
        paged: dict[str, None] = {}
        for output in query.outputs:
            for group in output.provenance:
                for source in group:
                    if source.passage is not None and source.passage in self.corpus:
                        named.setdefault(source.passage)
                    else:
                        paged.update(dict.fromkeys(self.corpus.passages_of(source.page)))
        passages_of_gold = [*named, *(p for p in paged if p not in named)]
        depth = self.setting.depth
        if len(passages_of_gold) <= depth:
            return passages_of_gold, 0
        if not paged:
            return self._random(query, "gold").sample(passages_of_gold, depth), len(
                passages_of_gold
            ) - depth
        kept = set(self._stating_first(query, passages_of_gold)[:depth])
        return [p for p in passages_of_gold if p in kept], len(passages_of_gold) - depth

    def _stating_first(self, query: Query, values: Sequence[str]) -> list[str]:
        answers = query.attributes.get("values") or query.answers()
        wanted = [tokens for a in answers if (tokens := normalisers.amber_tokens(str(a)))]

        def states(identity: str) -> bool:
            text = normalisers.amber_tokens(self.corpus.passage(identity).text)
            return any(normalisers.contains_answer(text, answer) for answer in wanted)

        return sorted(values, key=lambda p: not states(p))

    def _retrieved(self, query: Query) -> list[str]:
        pages: dict[str, None] = {}
        for identity in self._ranked.get(query.id, ()):
            if identity in self.corpus:
                pages.setdefault(identity)
            else:
                most = self.setting.page_passages or None
                pages.update(dict.fromkeys(self.corpus.passages_of(identity)[:most]))
            if len(pages) >= 2 * self.setting.depth:
                break
        return list(pages)

    def _other_bearer(self, query: Query) -> Shown:
        """The most popular other bearer that has a page in the corpus: the one retrievers prefer."""
        own = query.gold_pages()
        names = self._sets.get(query.name_set or "")
        bearers = names.bearers if names else ()
        for bearer in bearers:
            if bearer.entity == query.entity or own.intersection(bearer.pages):
                continue
            passages = [p for page in bearer.pages for p in self.corpus.passages_of(page)]
            if passages:
                depth = self.setting.depth
                shown = self._ordered(query, passages[:depth])
                return Shown(shown, cut=max(0, len(passages) - depth))
        return Shown(left_out="no other bearer of the name has a page")

    def _ordered(self, query: Query, values: Sequence[str]) -> tuple[str, ...]:
        order = list(values)
        if self.setting.shuffled:
            self._random(query, "order").shuffle(order)
        return tuple(order)

    def _random(self, query: Query, what: str) -> random.Random:
        """Its own for each question, so that no question's choice hangs on another's."""
        return random.Random(f"{self.setting.seed}\0{what}\0{own_id(query)}")


def _ranked(run: Run) -> dict[str, list[str]]:
    ranked: dict[str, list[str]] = {}
    questions, passages = run.rankings["question"].to_pylist(), run.rankings["passage"].to_pylist()
    for question, passage in zip(questions, passages, strict=True):
        ranked.setdefault(question, []).append(passage)
    return ranked
