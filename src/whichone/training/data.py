"""From what a user names to what is learned from, what training is watched on, and what is never seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_json_lines
from whichone.names import name_key
from whichone.progress import talk
from whichone.records import Output, Provenance, Query
from whichone.runs.retrieve import default_index_folder
from whichone.training.examples import Example, kinds
from whichone.training.negatives import ExampleMaker
from whichone.training.settings import Settings
from whichone.training.sources import Corpus, file_examples, source_benchmark
from whichone.training.splits import check_leaks, share_of, split_by_name, without_leaks

WATCHED = 0.1
"""Share of the names to learn from by which training stops early."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which data, and what must not be learned from.

    `test` are benchmarks whose names must not be learned from, `held_out` the share of names that is
    never seen of a benchmark that has no training split of its own.
    """

    sources: tuple[str, ...]
    corpus: Corpus = Corpus()
    held_out: float = 0.2
    test: tuple[str, ...] = ()
    drop_leaks: bool = False
    disjoint_tokens: bool = False


class TrainingData(msgspec.Struct, frozen=True):
    learn: list[Example]
    watch: list[Example]
    never_seen: list[Query]


def training_data(plan: Plan, settings: Settings, work: Path) -> TrainingData:
    """Examples of all sources, refused (or left out) where the test data hold their names."""
    if not plan.sources:
        raise UsageError("nothing to learn from", hint="name benchmarks or files of examples")
    examples: list[Example] = []
    unseen: list[Query] = []
    for source in plan.sources:
        given = file_examples(source)
        if given is None:
            given, test = _benchmark_examples(source, plan, settings, work)
            unseen += test
        if settings.per_source:
            given = [msgspec.structs.replace(e, source=str(source)) for e in given]
        examples += given
    for place in plan.test:
        unseen += Benchmark.open(place).queries
    if plan.drop_leaks:
        kept = without_leaks(examples, unseen, tokens=plan.disjoint_tokens)
        talk(f"{len(examples) - len(kept)} examples left out that share something with test data")
        if not kept:
            raise BadInput("every example shares something with the test data")
        examples = kept
    check_leaks(examples, unseen, tokens=plan.disjoint_tokens)
    learn, watch = watched(examples, settings.seed)
    talk(
        f"{len(learn)} examples to learn from ({told_kinds(learn, settings.kinds)}), {len(watch)} to stop by"
    )
    return TrainingData(learn, watch, unseen)


def watched(examples: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
    """The examples to learn from, and those of some names by which training stops early."""
    learn: list[Example] = []
    watch: list[Example] = []
    for example in examples:
        share = share_of(example.name or example.id, seed + 1)
        (watch if share < WATCHED else learn).append(example)
    return learn, watch


def told_kinds(examples: Sequence[Example], wanted: Sequence[str]) -> str:
    """What is learned from; an example may hold more kinds of wrong passages than were asked for."""
    held = sorted(kinds(examples).items()) if wanted else []
    found = ", ".join(f"{n} {kind}" for kind, n in held if kind in (*wanted, "given"))
    return f"negatives: {found or 'of the batch only'}"


def _benchmark_examples(
    source: str, plan: Plan, settings: Settings, work: Path
) -> tuple[list[Example], list[Query]]:
    benchmark = source_benchmark(source, plan.corpus, work)
    train, test = split_queries(benchmark, plan.held_out, settings.seed)
    maker = ExampleMaker(
        benchmark, default_index_folder(benchmark), kinds=settings.kinds, seed=settings.seed
    )
    found, without = maker.examples(train)
    if without:
        talk(f"{source}: {len(without)} questions have no gold passage and teach nothing")
    return found, test


def split_queries(
    benchmark: Benchmark, held_out: float, seed: int
) -> tuple[list[Query], list[Query]]:
    """Its own training split where it has one, and all else unseen; otherwise split by name."""
    own = [q for q in benchmark.queries if q.attributes.get("split") == "train"]
    own += training_facts(benchmark)
    if own:
        taken = {q.id for q in own}
        return own, [q for q in benchmark.queries if q.id not in taken]
    return split_by_name(benchmark.queries, held_out, seed=seed)


def training_facts(benchmark: Benchmark) -> Iterator[Query]:
    """The token-disjoint training facts that built EntityQuestions keep beside their queries."""
    if not benchmark.folder.has("train.jsonl"):
        return
    file = benchmark.folder.path("train.jsonl")
    titles = benchmark.page_titles
    for line, fact in read_json_lines(file):
        try:
            yield _training_query(fact, titles)
        except (KeyError, TypeError) as error:
            raise BadInput(f"not a training fact: {error!r}", file=file, line=line) from error


def _training_query(fact: dict[str, Any], titles: Mapping[str, str]) -> Query:
    page = fact["page"]
    gold = ((Provenance(page=page, title=titles.get(page)),),)
    answer, *aliases = fact["answers"]
    return Query(
        id=f"train-{fact['id']}",
        task="EntityQuestions",
        input=fact["question"],
        outputs=(Output(answer=answer, aliases=tuple(aliases), provenance=gold),),
        name=_subject(fact["question"], titles.get(page, "")),
        relation=fact["relation"],
        entity=fact["subject"],
        attributes={"split": "train"},
    )


def _subject(question: str, title: str) -> str | None:
    """The page's title where the question says it; a question may use another of its names."""
    from whichone.names import without_parentheses

    bare = without_parentheses(title)
    return bare if bare and name_key(bare) in name_key(question) else None
