"""From what a user names to what is learned from, what training is watched on, and what is never seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

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

Disjoint = Literal["splits", "names", "tokens"]
WATCHED = 0.1
"""Share of the names to learn from by which training stops early."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which data, and what must not be learned from.

    `test` are benchmarks whose names must not be learned from, `held_out` the share of names that is
    never seen of a benchmark that has no training split of its own. `disjoint` says what may not be
    shared: "splits" trusts a benchmark's own splits within a relation, "names" trusts none, "tokens" asks
    that no word of a name be shared either. `similar` learns from reworded questions.
    """

    sources: tuple[str, ...]
    corpus: Corpus = Corpus()
    held_out: float = 0.2
    test: tuple[str, ...] = ()
    drop_leaks: bool = False
    disjoint: Disjoint = "splits"
    similar: bool = False


class TrainingData(msgspec.Struct, frozen=True):
    learn: list[Example]
    watch: list[Example]
    never_seen: list[Query]


def training_data(plan: Plan, settings: Settings, work: Path) -> TrainingData:
    """Examples of all sources, refused (or left out) where the test data hold their names."""
    if not plan.sources:
        raise UsageError("nothing to learn from", hint="name benchmarks or files of examples")
    parts: list[_Part] = []
    for source in plan.sources:
        given = file_examples(source)
        part = _Part(given) if given is not None else _of_benchmark(source, plan, settings, work)
        if settings.per_source:
            told = [msgspec.structs.replace(e, source=str(source)) for e in part.examples]
            part = msgspec.structs.replace(part, examples=told)
        parts.append(part)
    named = [query for place in plan.test for query in Benchmark.open(place).queries]
    unseen = [query for part in parts for query in part.test] + named
    examples = _checked(parts, named, plan)
    learn, watch = watched(examples, settings.seed)
    talk(
        f"{len(learn)} examples to learn from ({told_kinds(learn, settings.kinds)}), {len(watch)} to stop by"
    )
    return TrainingData(learn, watch, unseen)


class _Part(msgspec.Struct, frozen=True):
    """What one source teaches, what of it is never seen, and whether it came split."""

    examples: list[Example]
    test: list[Query] = []
    own_split: bool = False


def _checked(parts: Sequence[_Part], named: Sequence[Query], plan: Plan) -> list[Example]:
    """The examples of all sources, refused (or left out) where test data share something with them."""
    tokens = plan.disjoint == "tokens"
    kept: list[Example] = []
    for part in parts:
        own = part.test if part.own_split and plan.disjoint == "splits" else []
        others = [q for other in parts if other is not part or not own for q in other.test]
        others += named
        examples = part.examples
        if plan.drop_leaks:
            examples = without_leaks(examples, own, within_relation=True)
            examples = without_leaks(examples, others, tokens=tokens)
        check_leaks(examples, own, within_relation=True)
        check_leaks(examples, others, tokens=tokens)
        kept += examples
    if plan.drop_leaks:
        before = sum(len(part.examples) for part in parts)
        talk(f"{before - len(kept)} examples left out that share something with test data")
        if not kept:
            raise BadInput("every example shares something with the test data")
    return kept


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


def _of_benchmark(source: str, plan: Plan, settings: Settings, work: Path) -> _Part:
    benchmark = source_benchmark(source, plan.corpus, work)
    own = _own_training(benchmark, similar=plan.similar)
    train, test = split_queries(benchmark, plan.held_out, settings.seed, similar=plan.similar)
    maker = ExampleMaker(
        benchmark, default_index_folder(benchmark.corpus), kinds=settings.kinds, seed=settings.seed
    )
    found, without = maker.examples(train)
    if without:
        talk(f"{source}: {len(without)} questions have no gold passage and teach nothing")
    return _Part(found, test, own_split=bool(own))


def _own_training(benchmark: Benchmark, *, similar: bool = False) -> list[Query]:
    """What a benchmark itself gives to learn from; reworded questions alone where `similar`."""
    facts = list(training_facts(benchmark, similar=similar))
    own = [q for q in benchmark.queries if q.attributes.get("split") == "train"]
    if not similar:
        return own + facts
    reworded = [q for q in own if q.attributes.get("set") == "similar"]
    if not reworded and not facts:
        raise UsageError(
            f"{benchmark.name} has no reworded questions to learn from",
            hint="build entityquestions with relations that have some (P19, P159, P170), or import similar/",
        )
    return reworded + facts


def split_queries(
    benchmark: Benchmark, held_out: float, seed: int, *, similar: bool = False
) -> tuple[list[Query], list[Query]]:
    """Its own training split where it has one, and all else unseen; otherwise split by name."""
    own = _own_training(benchmark, similar=similar)
    if own:
        taken = {q.id for q in own}
        return own, [q for q in benchmark.queries if q.id not in taken]
    return split_by_name(benchmark.queries, held_out, seed=seed)


def training_facts(benchmark: Benchmark, *, similar: bool = False) -> Iterator[Query]:
    """The token-disjoint training facts that built EntityQuestions keep beside their queries.

    `similar` takes them as they are asked in other words, and those alone that can be.
    """
    if not benchmark.folder.has("train.jsonl"):
        return
    file = benchmark.folder.path("train.jsonl")
    titles = benchmark.page_titles
    for line, fact in read_json_lines(file):
        try:
            if similar and "reworded" not in fact:
                continue
            yield _training_query(fact, titles, "reworded" if similar else "question")
        except (KeyError, TypeError) as error:
            raise BadInput(f"not a training fact: {error!r}", file=file, line=line) from error


def _training_query(fact: dict[str, Any], titles: Mapping[str, str], wording: str) -> Query:
    page = fact["page"]
    gold = ((Provenance(page=page, title=titles.get(page)),),)
    answer, *aliases = fact["answers"]
    return Query(
        id=f"train-{fact['id']}",
        task="EntityQuestions",
        input=fact[wording],
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
