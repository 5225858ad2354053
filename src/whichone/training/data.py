"""From what a user names to what is learned from, what training is watched on, and what is never seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.wording import question_in_words
from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_json_lines
from whichone.knowledge.tables import KIND as KNOWLEDGE_BASE
from whichone.names import name_key
from whichone.progress import talk
from whichone.records import Output, Provenance, Query
from whichone.runs.retrieve import default_index_folder
from whichone.training.examples import Example, kinds
from whichone.training.negatives import ExampleMaker
from whichone.training.settings import Settings
from whichone.training.sources import (
    Corpus,
    file_examples,
    kind_of,
    source_benchmark,
)
from whichone.training.splits import A, check_leaks, share_of, split_by_name, without_leaks
from whichone.training.taken import (
    TRAIN,
    Taken,
    all_queries,
    report_taken,
    split_mark,
    training_records,
)

Disjoint = Literal["splits", "names", "tokens"]
WATCHED = 0.1
"""Share of the names to learn from by which training stops early."""
R = TypeVar("R", Example, Query)
OTHER_WORDING = "in other words"
"""The mark of what is not learned from where reworded questions alone are wanted."""


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
    in_words: bool = False
    """Ask slots by their published template questions, as readers of questions are asked."""
    learn_from_dev: bool = False
    """Learn from records that are marked dev or test as well; names are held out then."""
    relations: tuple[str, ...] = ()
    """Of questions that have a relation only those of these; questions without one stay."""

    def of_relations(self, records: Sequence[R]) -> list[R]:
        """The records to learn from, where only some relations are wanted."""
        return [
            r
            for r in records
            if not (self.relations and r.relation) or r.relation in self.relations
        ]


class TrainingData(msgspec.Struct, frozen=True):
    learn: list[Example]
    watch: list[Example]
    never_seen: list[Query]
    taken: list[Taken] = []


def training_data(plan: Plan, settings: Settings, work: Path) -> TrainingData:
    """Examples of all sources, refused (or left out) where the test data have their names."""
    parts = [_part(source, plan, settings, work) for source in wanted_sources(plan)]
    named = test_queries(plan)
    unseen = [query for part in parts for query in part.test] + named
    kept = checked(parts, named, plan)
    examples = [example for part in kept for example in part.examples]
    learn, watch = watched(examples, settings.seed)
    talk(
        f"{len(learn)} examples to learn from ({kinds_text(learn, settings.kinds)}), {len(watch)} to stop by"
    )
    return TrainingData(learn, watch, unseen, [part.taken for part in kept])


def wanted_sources(plan: Plan) -> tuple[str, ...]:
    if not plan.sources:
        raise UsageError("nothing to learn from", hint="name benchmarks or files of examples")
    return plan.sources


def test_queries(plan: Plan) -> list[Query]:
    return [query for place in plan.test for query in Benchmark.open(place).queries]


class Part(msgspec.Struct, Generic[A], frozen=True):
    """What one source teaches, what of it is never seen, and whether it came split."""

    examples: list[A]
    taken: Taken
    test: list[Query] = []
    own_split: bool = False


def checked(parts: Sequence[Part[A]], named: Sequence[Query], plan: Plan) -> list[Part[A]]:
    """The parts, refused (or without the examples) where test data share something with them."""
    if plan.relations and not any(part.examples for part in parts):
        raise BadInput(
            f"no question to learn from is of {', '.join(plan.relations)}",
            file=", ".join(plan.sources),
            hint="relations are named as the benchmark names them: P19 (`whichone show BENCH`)",
        )
    tokens = plan.disjoint == "tokens"
    kept: list[Part[A]] = []
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
        dropped = len(part.examples) - len(examples)
        taken = replace(part.taken, taken=part.taken.taken - dropped, shared=dropped)
        report_taken(taken)
        kept.append(replace(part, examples=examples, taken=taken))
    if not any(part.examples for part in kept):
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


def kinds_text(examples: Sequence[Example], wanted: Sequence[str]) -> str:
    """What is learned from; an example may contain more kinds of wrong passages than were asked for."""
    held = sorted(kinds(examples).items()) if wanted else []
    kinds_text = ", ".join(f"{n} {kind}" for kind, n in held if kind in (*wanted, "given"))
    return f"negatives: {kinds_text or 'of the batch only'}"


def _part(source: str, plan: Plan, settings: Settings, work: Path) -> Part[Example]:
    given = file_examples(source)
    if given is not None:
        chosen = [(e, split_mark(e.split) or split_mark(Path(source).name)) for e in given]
        marked, left = training_records(source, chosen, learn_from_dev=plan.learn_from_dev)
        examples = plan.of_relations(marked)
        other = len(marked) - len(examples)
        part = Part(examples, Taken(source, len(examples), left, other_relations=other))
    else:
        part = _of_benchmark(source, plan, settings, work)
    if settings.per_source:
        named = [replace(e, source=str(source)) for e in part.examples]
        part = replace(part, examples=named)
    return part


def _of_benchmark(source: str, plan: Plan, settings: Settings, work: Path) -> Part[Example]:
    benchmark = source_benchmark(source, plan.corpus, work)
    queries = taken_queries(source, benchmark, plan, settings.seed)
    maker = ExampleMaker(
        benchmark,
        default_index_folder(benchmark.corpus),
        kinds=settings.kinds,
        most=max(4, settings.hard),
        seed=settings.seed,
    )
    examples, without = maker.examples(queries.examples)
    if plan.in_words:
        words = {q.id: question_in_words(q) for q in queries.examples}
        examples = [replace(e, question=words[e.id]) for e in examples]
    taken = replace(queries.taken, taken=len(examples), without_passage=len(without))
    return Part(examples, taken, queries.test, queries.own_split)


class TakenQueries(msgspec.Struct, frozen=True):
    """The queries of a benchmark to learn from, and those that are never seen."""

    examples: list[Query]
    taken: Taken
    test: list[Query]
    own_split: bool


def taken_queries(source: str, benchmark: Benchmark, plan: Plan, seed: int) -> TakenQueries:
    """Those marked train where anything is marked, and all else unseen; otherwise split by name.

    A benchmark that was built of a knowledge base to learn from is marked for nobody else.
    """
    marked = all_queries(benchmark)
    facts = [(fact, TRAIN) for fact in training_facts(benchmark, similar=plan.similar)]
    free = plan.learn_from_dev or (not facts and kind_of(source) == KNOWLEDGE_BASE)
    worded = _in_wording(benchmark, marked, bool(facts), similar=plan.similar)
    train, left = training_records(source, [*worded, *facts], learn_from_dev=free)
    if not free and (facts or any(mark for _, mark in marked)):
        unseen = [query for query, mark in marked if mark != TRAIN]
        kept = plan.of_relations(train)
        taken = Taken(source, len(kept), left, other_relations=len(train) - len(kept))
        return TakenQueries(kept, taken, unseen, own_split=True)
    train, unseen = split_by_name(train, plan.held_out, seed=seed)
    kept = plan.of_relations(train)
    other = len(train) - len(kept)
    taken = Taken(source, len(kept), names_held_out=len(unseen), other_relations=other)
    return TakenQueries(kept, taken, unseen, own_split=False)


def _in_wording(
    benchmark: Benchmark, marked: Sequence[tuple[Query, str | None]], facts: bool, *, similar: bool
) -> list[tuple[Query, str | None]]:
    """Reworded questions to learn from, or the others; those not wanted keep a mark that says so.

    The release asks the same facts in both wordings, so that together they would be learned twice.
    """
    reworded = {q.id for q, _ in marked if q.attributes.get("set") == "similar"}
    if not similar and len(reworded) in (0, len(marked)):
        return list(marked)
    results = [(q, m if (q.id in reworded) is similar else OTHER_WORDING) for q, m in marked]
    if not facts and not any(mark == TRAIN for _, mark in results):
        if not similar:
            return list(marked)
        raise UsageError(
            f"{benchmark.name} has no reworded questions to learn from",
            hint="build entityquestions with relations that have some (P19, P159, P170), or import similar/",
        )
    return results


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
