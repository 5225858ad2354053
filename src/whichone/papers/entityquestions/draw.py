"""From the facts of the kept relations to the sets of a benchmark: test, dev, train, buckets."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec
import pyarrow as pa

from whichone.benchmarks.relations import Account, Relation
from whichone.corpus.passage_files import read_records
from whichone.errors import BadInput
from whichone.files.lines import read_text_lines
from whichone.names import name_key
from whichone.options import Option
from whichone.papers.entityquestions.facts import EntityFact
from whichone.text.normalisers import decomposed, tokens

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables


T = TypeVar("T")


def shuffled(items: Iterable[T], key: Callable[[T], str], seed: int, purpose: str) -> list[T]:
    """Items ordered by the hash of their key, which the seed and the purpose change.

    A knowledge base that grows leaves most of a sample as it was.
    """

    def place(item: T) -> tuple[bytes, str]:
        name = key(item)
        return hashlib.sha256(f"{seed}\x1f{purpose}\x1f{name}".encode()).digest(), name

    return sorted(items, key=place)


# Buckets of facts by how often their subject is met, each of about equal summed frequency.
# The paper (section 4.1) gives eight buckets of equal cumulative frequency and no more. Our rules:
#
# - order: most frequent subjects first, so bucket 0 contains the most frequent, as in the released files;
# - ties: subjects of equal frequency are ordered by their id and may fall on both sides of a boundary;
# - boundary: a subject whose frequency crosses one goes where the middle of its stretch is stored;
# - zero: a frequency of 0 adds nothing to the sum and falls into the last bucket; when all are 0, all
#   are in the last bucket;
# - unknown: a subject without a frequency is in no bucket.


BUCKETS = 8
MOST = 1000


class Triples(msgspec.Struct, frozen=True):
    """All triples of one relation in the knowledge base: how many a subject has, how often it is met."""

    counts: Mapping[str, int]
    frequencies: Mapping[str, float | None]


def buckets_of(
    frequencies: Mapping[str, float | None], buckets: int = BUCKETS, triples: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The bucket of each subject, 0 the most frequent; a subject counts once for each of its triples."""
    known = {subject: f for subject, f in frequencies.items() if f is not None}
    order = sorted(known, key=lambda subject: (-known[subject], subject))
    if triples:
        known = {subject: f * triples.get(subject, 1) for subject, f in known.items()}
    total = sum(known.values())
    before = 0.0
    bucket_of: dict[str, int] = {}
    for subject in order:
        middle = before + known[subject] / 2
        before += known[subject]
        bucket_of[subject] = min(
            int(buckets * middle / total) if known[subject] > 0 else buckets, buckets - 1
        )
    return bucket_of


def bucketed(
    facts: Iterable[EntityFact], buckets: int = BUCKETS, triples: Triples | None = None
) -> dict[int, list[EntityFact]]:
    """The facts of one relation by bucket; those without a frequency are left out.

    The paper cuts the buckets from all triples of the knowledge base, with evidence or without.
    """
    held = list(facts)
    known = triples or Triples({}, {fact.subject: fact.frequency for fact in held})
    places = buckets_of(known.frequencies, buckets, known.counts)
    bucket_facts: dict[int, list[EntityFact]] = {number: [] for number in range(buckets)}
    for fact in held:
        if fact.subject in places:
            bucket_facts[places[fact.subject]].append(fact)
    return bucket_facts


def random_entities(
    by_bucket: Mapping[int, Sequence[EntityFact]], *, most: int = MOST, seed: int = 0
) -> dict[int, list[EntityFact]]:
    """The paper's "rand ent": at most `most` facts of each bucket, drawn at random."""
    return {
        number: shuffled(facts, lambda fact: fact.key, seed, "rand ent")[:most]
        for number, facts in by_bucket.items()
    }


def training_entities(
    by_bucket: Mapping[int, Sequence[EntityFact]], seen: Callable[[EntityFact], bool]
) -> dict[int, list[EntityFact]]:
    """The paper's "train ent": every fact of each bucket whose subject occurs in training questions."""
    return {
        number: sorted((fact for fact in facts if seen(fact)), key=lambda fact: fact.key)
        for number, facts in by_bucket.items()
    }


# Training facts that share no token with the test set of their relation.
# The paper says tokens of triples, the notes of the release tokens of subjects; neither gives a
# tokeniser or a stop-word list, so all three are parameters and are recorded.


DISJOINT_MOST = 8000
NO_SHARED_TOKEN = "shares no token with the test set"
Scope = Literal["triples", "subjects"]
Tokenise = Callable[[str], Iterable[str]]


# DrQA's tokens of the decomposed text, or what is between blanks.
TOKENISERS: dict[str, Tokenise] = {
    "drqa": lambda text: tokens(decomposed(text)),
    "blanks": lambda text: text.lower().split(),
}


class DisjointTrain(msgspec.Struct, frozen=True):
    facts: list[EntityFact]
    candidates: int
    sharing: int


def fact_tokens(fact: EntityFact, scope: Scope, tokenise: Tokenise, stop_words: frozenset[str]) -> set[str]:
    """Tokens of the subject's name and, for triples, of the objects' labels; no stop words."""
    texts = [fact.name, *(o.label for o in fact.objects if scope == "triples")]
    return {token for text in texts for token in tokenise(text)} - stop_words


def disjoint_train(
    candidates: Sequence[EntityFact],
    test: Sequence[EntityFact],
    *,
    scope: Scope = "triples",
    tokenise: Tokenise = TOKENISERS["drqa"],
    stop_words: frozenset[str] = frozenset(),
    most: int = DISJOINT_MOST,
    seed: int = 0,
) -> DisjointTrain:
    """At most `most` candidates, drawn at random from those without a token of the test set."""
    taken = {token for fact in test for token in fact_tokens(fact, scope, tokenise, stop_words)}
    free = [fact for fact in candidates if taken.isdisjoint(fact_tokens(fact, scope, tokenise, stop_words))]
    drawn = shuffled(free, lambda fact: fact.key, seed, "train")[:most]
    return DisjointTrain(drawn, len(candidates), len(candidates) - len(free))


class Drawn(msgspec.Struct):
    fact: EntityFact
    split: str = "none"
    bucket: int | None = None
    rand_ent: bool = False
    train_ent: bool = False


class Sizes(msgspec.Struct, frozen=True):
    """How many facts of a relation at most; where `test` or `dev` is not given, it leaves some to learn from.

    Then a half is test and a tenth is dev, but never more than the published 1,000 of each.
    """

    test: Annotated[int | None, Option("Test facts a relation at most. Default: half, up to 1000.")] = None
    dev: Annotated[int | None, Option("Dev facts a relation at most. Default: a tenth, up to 1000.")] = None
    train: Annotated[int, Option("Training facts at most.")] = 8000
    bucket: int = 1000

    def of(self, facts: int) -> tuple[int, int]:
        """How many of a relation's facts are test and dev."""
        test = min(MOST, math.ceil(facts / 2)) if self.test is None else self.test
        dev = min(MOST, facts // 10) if self.dev is None else self.dev
        return test, dev


PUBLISHED_SIZES = Sizes(test=MOST, dev=MOST)


class Disjointness(msgspec.Struct, frozen=True):
    scope: Scope
    tokenise: Tokenise
    stop_words: frozenset[str]


def draw(
    facts: Sequence[EntityFact],
    sizes: Sizes,
    disjointness: Disjointness,
    bucket_relations: Collection[str],
    seen: Callable[[EntityFact], bool] | None,
    account: Account,
    seed: int,
    triples: Mapping[str, Triples] | None = None,
) -> tuple[list[Drawn], list[EntityFact]]:
    drawn: dict[str, Drawn] = {}
    train: list[EntityFact] = []
    step = account.step(NO_SHARED_TOKEN, "training facts")
    asked = account.step("is not asked for a bucket", "training facts")
    for relation in sorted({fact.relation for fact in facts}):
        members = [fact for fact in facts if fact.relation == relation]
        order = shuffled(members, lambda fact: fact.key, seed, "test and dev")
        until_test, of_dev = sizes.of(len(order))
        test, dev = order[:until_test], order[until_test : until_test + of_dev]
        drawn |= {f.key: Drawn(f, split) for split, own in (("test", test), ("dev", dev)) for f in own}
        disjoint = disjoint_train(
            order[until_test + of_dev :],
            test,
            scope=disjointness.scope,
            tokenise=disjointness.tokenise,
            stop_words=disjointness.stop_words,
            most=sizes.train,
            seed=seed,
        )
        step.kept += disjoint.candidates - disjoint.sharing
        step.removed += disjoint.sharing
        by_bucket = bucketed(members, triples=(triples or {}).get(relation))
        if relation in bucket_relations:
            _draw_buckets(drawn, by_bucket, sizes.bucket, seen, seed)
        unasked = [fact for fact in disjoint.facts if fact.key not in drawn]
        asked.kept += len(unasked)
        asked.removed += len(disjoint.facts) - len(unasked)
        train += unasked
        for number, fact in ((number, fact) for number, held in by_bucket.items() for fact in held):
            if fact.key in drawn:
                drawn[fact.key].bucket = number
    return [drawn[key] for key in sorted(drawn)], train


def _draw_buckets(
    drawn: dict[str, Drawn],
    by_bucket: Mapping[int, Sequence[EntityFact]],
    most: int,
    seen: Callable[[EntityFact], bool] | None,
    seed: int,
) -> None:
    """Add and mark the facts of "rand ent" and, where training entities are known, "train ent"."""
    for fact in chain.from_iterable(random_entities(by_bucket, most=most, seed=seed).values()):
        drawn.setdefault(fact.key, Drawn(fact)).rand_ent = True
    for fact in chain.from_iterable(training_entities(by_bucket, seen).values()) if seen else ():
        drawn.setdefault(fact.key, Drawn(fact)).train_ent = True


# Which relations are worth asking about: section 3 of the paper, as numbers.
# The paper takes relations with more than 2,000 triples that do not have just a few possible answers
# (such as gender). Whether a clear question can be asked is a matter of the relations' file.


LEAST_FACTS = 2000
LEAST_ANSWERS = 10


class RelationCount(msgspec.Struct, frozen=True):
    """What a relation offers; `kept` or the reason why not."""

    relation: str
    label: str
    facts: int
    answers: int
    commonest_answer: str | None
    commonest_share: float
    kept: bool
    reason: str = ""


def relation_counts(
    facts: Iterable[EntityFact],
    labels: Mapping[str, str],
    *,
    least_facts: float = LEAST_FACTS,
    least_answers: int = LEAST_ANSWERS,
) -> list[RelationCount]:
    """Every relation of `labels` with its numbers and the verdict.

    `least_facts` of 1 or more is a number of facts to be exceeded; below 1 it is a share of all facts.
    """
    grouped: dict[str, list[EntityFact]] = {relation: [] for relation in labels}
    for fact in facts:
        grouped[fact.relation].append(fact)
    total = sum(map(len, grouped.values()))
    least = least_facts if least_facts >= 1 else least_facts * total
    return [
        _count(relation, labels[relation], members, least, least_answers)
        for relation, members in grouped.items()
    ]


def _count(
    relation: str, label: str, facts: Sequence[EntityFact], least_facts: float, least_answers: int
) -> RelationCount:
    objects = Counter(o.id for fact in facts for o in fact.objects)
    names = {o.id: o.label for fact in facts for o in fact.objects}
    common = min(objects, key=lambda o: (-objects[o], o), default=None)
    few = f"{len(facts)} facts, not more than {least_facts:g}" if len(facts) <= least_facts else ""
    same = f"{len(objects)} different answers, fewer than {least_answers}"
    reason = "; ".join(filter(None, [few, same if len(objects) < least_answers else ""]))
    return RelationCount(
        relation=relation,
        label=label,
        facts=len(facts),
        answers=len(objects),
        commonest_answer=names[common] if common else None,
        commonest_share=objects[common] / sum(objects.values()) if common else 0.0,
        kept=not reason,
        reason=reason,
    )


Wording = Literal["clean", "published"]
SUBCLASS_OF = "P279"


def facts_that_fit(
    tables: Tables, facts: Sequence[EntityFact], relations: Mapping[str, Relation], account: Account
) -> list[EntityFact]:
    """Facts whose subject is of a type that the question may be asked of, with the answers that fit it.

    Where a knowledge base does not know a type, nothing speaks against the question.
    """
    narrow = {key: r for key, r in relations.items() if r.types or r.values}
    asked = [fact for fact in facts if fact.relation in narrow]
    mentioned = (e for fact in asked for e in (fact.subject, *(o.id for o in fact.objects)))
    types = tables.types_of(tables.listed("entity", mentioned))
    listed = {r.types for r in narrow.values()} | {r.values for r in narrow.values()}
    allowed = with_subclasses(tables, sorted(types for types in listed if types))
    step = account.step("the question fits the subject and the answer", "facts")
    kept = []
    for fact in facts:
        if (fitting := _fitting(fact, narrow.get(fact.relation), types, allowed)) is None:
            step.remove(f"{fact.key} {fact.name}")
        else:
            kept.append(fitting)
    step.kept = len(kept)
    return kept


def _fitting(
    fact: EntityFact,
    relation: Relation | None,
    types: Mapping[str, frozenset[str]],
    allowed: Mapping[tuple[str, ...], frozenset[str]],
) -> EntityFact | None:
    if relation is None:
        return fact
    own = types.get(fact.subject)
    if relation.types and own and allowed[relation.types].isdisjoint(own):
        return None
    if not relation.values:
        return fact
    objects = tuple(
        o for o in fact.objects if not types.get(o.id) or not allowed[relation.values].isdisjoint(types[o.id])
    )
    return msgspec.structs.replace(fact, objects=objects) if objects else None


def with_subclasses(
    tables: Tables, lists: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], frozenset[str]]:
    """Each list of types with everything below them, as far as the knowledge base has subclasses (P279).

    All lists go down a level at a time together: a level is one question to the engine.
    """
    facts = tables.facts
    below = facts.filter(facts["property"] == SUBCLASS_OF, facts["rank"] != "deprecated")
    new = {(number, value) for number, types in enumerate(lists) for value in types}
    reached = set(new)
    while new:
        numbers, values = zip(*sorted(new), strict=True)
        parents = tables.engine.table(
            pa.table({"number": pa.array(numbers, pa.int64()), "value": pa.array(values)})
        )
        down = below.select("entity", "value").inner_join(parents, "value")
        rows = tables.rows(down.select("number", "entity").distinct())
        new = {(row["number"], row["entity"]) for row in rows} - reached
        reached |= new
    return {
        types: frozenset(value for of, value in reached if of == number) for number, types in enumerate(lists)
    }


_IDENTIFIER = re.compile(r"[QP]\d+")
LONGEST_NAME = 8  # Words of the longest name looked for in a question


def read_listed(path: str | Path) -> Callable[[EntityFact], bool]:
    listed = {line.strip() for _, line in read_text_lines(path)} - {""}
    ids = {text for text in listed if _IDENTIFIER.fullmatch(text)}
    keys = {name_key(text) for text in listed - ids}
    if not listed:
        raise BadInput("there is neither an id nor a name in the file", file=path)
    return lambda fact: fact.subject in ids or name_key(fact.name) in keys


def read_seen(
    path: str | Path, names: Mapping[str, Sequence[str]] | None = None
) -> Callable[[EntityFact], bool]:
    """Entities with a name that appears in one of the questions of a file (`question` or `input`).

    `names` are the entities' names; an alias of one word is not looked for, since it may be any word.
    The paper finds entities with the linker ELQ; here every bearer of a name that occurs counts.
    """
    questions = []
    for line, record in read_records(path):
        text = record.get("question", record.get("input")) if isinstance(record, dict) else None
        if not isinstance(text, str):
            raise BadInput("a record with a question is expected", file=path, line=line)
        questions.append(text)
    keys = names_in(questions)

    def seen(fact: EntityFact) -> bool:
        aliases = [name for name in (names or {}).get(fact.subject, ()) if " " in name.strip()]
        return any(name_key(name) in keys for name in (fact.name, *aliases))

    return seen


def names_in(questions: Iterable[str], longest: int = LONGEST_NAME) -> set[str]:
    """The name keys of all stretches of words, without the punctuation around them."""
    names: set[str] = set()
    for words in (name_key(question).split() for question in questions):
        for start, end in combinations(range(len(words) + 1), 2):
            if end - start <= longest:
                bare = " ".join(words[start:end]).strip("?.,!;:\"'()")
                names |= {bare, bare.removesuffix("'s"), bare.removesuffix("’s")}
    return names
