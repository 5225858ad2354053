"""Drawn facts as queries, with their namesakes and whether anyone could have known."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.relations import Account, Relation, published_relations
from whichone.errors import BadInput, Missing
from whichone.files.json_records import array_records
from whichone.files.lines import read_json_lines, write_atomic
from whichone.measures.measure import Measure, Retrieved, needs_depth
from whichone.names import name_key
from whichone.papers.entityquestions.draw import Drawn
from whichone.papers.entityquestions.facts import EntityFact, NameBearers
from whichone.records import Bearer, NameSet, Output, Provenance, Query, grouped, passage_id

TASK = "EntityQuestions"

_FILE = re.compile(
    r"(?:(?P<relation>P\d+)(?:_(?P<kind>no_overlap|similar))?|bucket(?P<bucket>\d+)|(?P<other>.+?))"
    r"(?:\.(?P<split>train|dev|test))?\.(?P<format>jsonl|json)(?:\.(?:gz|bz2|zst))?"
)
# The two populations of Figure 1: random entities, and those met in NQ's training questions.
RANDOM, SEEN = "common-random-buckets", "nq-seen-buckets"
ONE_OFF = (RANDOM, SEEN, "no-overlap", "similar")


class QuestionRecord(msgspec.Struct):
    question: str
    answers: list[str]


class FilePlace(msgspec.Struct, frozen=True):
    relation: str | None = None
    split: str | None = None
    set: str = "main"
    bucket: int | None = None
    stem: str = ""

    def prefix(self) -> str:
        bucket = "" if self.bucket is None else f"bucket{self.bucket}"
        beginning = "" if self.set == "main" else self.set
        return ".".join(filter(None, (beginning, self.relation or self.stem, bucket, self.split)))


def place_of(path: Path) -> FilePlace:
    """`dev/P19.dev.json`, `one-off/nq-seen-buckets/P19/bucket3.test.json.gz` and their like."""
    if (match := _FILE.fullmatch(path.name)) is None:
        return FilePlace(stem=path.name.partition(".")[0])
    folders = path.absolute().parts[:-1]
    one_off = next((name for name in folders if name in ONE_OFF), None)
    kind = match["kind"] and match["kind"].replace("_", "-")
    above = folders[-1] if folders and re.fullmatch(r"P\d+", folders[-1]) else None
    return FilePlace(
        relation=match["relation"] or above,
        split=match["split"],
        set=one_off or kind or ("main" if match["bucket"] is None else "buckets"),
        bucket=int(match["bucket"]) if match["bucket"] else None,
        stem=match["other"] or "",
    )


def read_questions(path: str | Path) -> Iterator[Query]:
    """Queries of a question file (a JSON list, or JSON lines), or of every one in a folder.

    The release contains no subject ids; the name is what is in the relation's template.
    """
    path = Path(path)
    if not path.is_dir():
        yield from _read_file(path)
        return
    files = sorted(p for p in path.rglob("*") if p.is_file() and _FILE.fullmatch(p.name))
    if not files:
        raise Missing("there is no question file (.json or .jsonl) in the folder", where=str(path))
    for file in files:
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Query]:
    place = place_of(path)
    relation = published_relations().get(place.relation or "")
    known = {"split": place.split, "set": place.set, "bucket": place.bucket}
    known |= {"rand_ent": place.set == RANDOM or None, "train_ent": place.set == SEEN or None}
    attributes = {key: value for key, value in known.items() if value is not None}
    records: Iterable[tuple[int | None, QuestionRecord]]
    if ".jsonl" in path.suffixes:
        records = read_json_lines(path, QuestionRecord)
    else:
        records = ((None, record) for record in array_records(path, QuestionRecord))
    number = -1
    for number, (line, record) in enumerate(records):
        if not record.answers:
            raise BadInput("a question without answers", file=path, line=line)
        yield Query(
            id=f"{place.prefix()}.{number}",
            task=TASK,
            input=record.question,
            outputs=(Output(answer=record.answers[0], aliases=tuple(record.answers[1:])),),
            name=relation.name_in(record.question) if relation else None,
            relation=place.relation,
            attributes=attributes,
        )
    if number < 0:
        raise BadInput("there is no question in the file", file=path)


def write_questions(path: str | Path, queries: Iterable[Query]) -> int:
    """One question file as released, indented by four; JSON lines when the name says so."""
    path = Path(path)
    records = [{"question": q.input, "answers": list(q.answers())} for q in queries]
    lines = (msgspec.json.encode(record) + b"\n" for record in records)
    data = b"".join(lines) if path.suffix == ".jsonl" else json.dumps(records, indent=4).encode()
    write_atomic(path, data)
    return len(records)


# Could anyone have known which bearer of a name a question is about?
# "What is George Rankin's occupation?" cannot be resolved when two George Rankins have one. A fact that
# the knowledge base does not hold is not a false one, so there are three verdicts:
#
# - no: another bearer of the name has the relation too;
# - unknown: none is known to have it, but another bearer is of a type whose members have it (or of no
#   known type), so that it may;
# - yes: the name is borne once, or the relation does not apply to any other bearer.


Verdict = Literal["yes", "no", "unknown"]
# Which questions are asked: without those that are known to fit several bearers, without those that may as well, all.
Resolvable = Literal["possible", "strict", "all"]


class OtherBearer(msgspec.Struct, frozen=True):
    entity: str
    types: frozenset[str]
    has_relation: bool


class Resolvability(msgspec.Struct, frozen=True):
    """The verdict; `candidates` are the bearers, the asked one included, that the question fits."""

    verdict: Verdict
    candidates: int


def resolution(others: Iterable[OtherBearer], types_with_relation: Collection[str]) -> Resolvability:
    """The verdict on one question from the other bearers of its name."""
    held = list(others)
    if having := sum(other.has_relation for other in held):
        return Resolvability("no", 1 + having)
    may = any(not other.types or not other.types.isdisjoint(types_with_relation) for other in held)
    return Resolvability("unknown" if may else "yes", 1)


def best_expected(verdict: Verdict, candidates: int, k: int) -> float:
    """The most a retriever can be expected to score at depth k with one page a candidate.

    Of questions that fit several bearers it can only guess; what is unknown counts as knowable, so
    the mean is an upper bound.
    """
    return min(1.0, k / candidates) if verdict == "no" else 1.0


def best_possible(k: int | None) -> Measure:
    """The most any retriever can be expected to reach: of a question that fits n bearers, k of n.

    A question of which it is not known whether it can be resolved counts as one that can.
    """
    depth = needs_depth("best_possible", k)

    def value(r: Retrieved) -> float | None:
        if (verdict := r.query.attributes.get("resolvable")) is None:
            return None
        return best_expected(verdict, int(r.query.attributes["candidates"]), depth)

    return Measure("best_possible", value, k, direction="neither")


Having = Mapping[str, Collection[str]]  # For each relation the entities that have it


def name_sets(bearers: NameBearers) -> dict[str, NameSet]:
    """Names with two or more bearers that have an article, by name key; the most frequent is head."""
    sets = {}
    for key, entities in sorted(bearers.by_key.items()):
        members = [bearers.subjects[e] for e in entities if e in bearers.subjects]
        if len(members) < 2:
            continue
        members.sort(key=lambda s: (-(s.frequency or 0.0), s.entity))
        sets[key] = NameSet(
            id=f"name:{key}",
            name=min((m.label for m in members if name_key(m.label) == key), default=key),
            collection=TASK,
            bearers=tuple(
                Bearer(
                    entity=m.entity,
                    label=m.label,
                    role="tail" if rank else "head",
                    popularity=m.frequency,
                    types=tuple(sorted(bearers.types.get(m.entity, ()))),
                    pages=(m.page,),
                )
                for rank, m in enumerate(members)
            ),
        )
    return sets


class QueryMaker:
    """Makes queries of drawn facts; what it knows of names is the same for all."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        bearers: NameBearers,
        having: Having,
        types_with_relation: Mapping[str, frozenset[str]],
        *,
        reworded: bool = False,
        language: str = "en",
    ) -> None:
        self.language, self.relations, self.bearers = language, relations, bearers
        self.reworded = reworded
        self.sets = name_sets(bearers)
        by_words = grouped((relation.ask("", reworded=reworded), key) for key, relation in relations.items())
        same = {key: alike for alike in by_words.values() for key in alike}
        self._having, self._types = (
            {key: frozenset[str]().union(*(of.get(r, ()) for r in alike)) for key, alike in same.items()}
            for of in (having, types_with_relation)
        )

    def text(self, fact: EntityFact) -> str:
        return self.relations[fact.relation].ask(fact.name, reworded=self.reworded)

    def resolution(self, fact: EntityFact) -> Resolvability:
        """Whether anyone could know whom the question means, from all other bearers of its name."""
        having = self._having[fact.relation]
        others = (
            OtherBearer(entity, self.bearers.types.get(entity, frozenset()), entity in having)
            for entity in self.bearers.by_key.get(name_key(fact.name), ())
            if entity != fact.subject
        )
        return resolution(others, self._types[fact.relation])

    def askable(self, facts: Sequence[EntityFact], wanted: Resolvable, account: Account) -> list[EntityFact]:
        """Facts whose question means one bearer, as far as is wanted; equal questions are one or none."""
        if wanted == "all":
            return list(facts)
        verdicts = {"yes"} if wanted == "strict" else {"yes", "unknown"}
        step = account.step(f"it can be known who is meant ({wanted})", "facts")
        known: dict[str, list[EntityFact]] = {}
        for fact in facts:
            if self.resolution(fact).verdict in verdicts:
                known.setdefault(self.text(fact).casefold(), []).append(fact)
                step.kept += 1
            else:
                step.remove(f"{fact.key} {self.text(fact)}")
        alone = account.step("no other question has the same words", "facts")
        kept = []
        for same in known.values():
            of_one = len({fact.subject for fact in same}) == 1
            kept += [_joined(same)] if of_one else []
            for fact in same[of_one:]:
                alone.remove(f"{fact.key} {self.text(fact)}")
        alone.kept = len(kept)
        return sorted(kept, key=lambda fact: (fact.relation, fact.subject))

    def used_sets(self, queries: Sequence[Query]) -> list[NameSet]:
        used = {query.name_set for query in queries}
        return [name_set for name_set in self.sets.values() if name_set.id in used]

    def query(self, drawn: Drawn) -> Query:
        fact = drawn.fact
        name_set = self.sets.get(name_key(fact.name))
        roles = {b.entity: b.role for b in name_set.bearers} if name_set else {}
        known = self.resolution(fact)
        return Query(
            id=f"{fact.relation}-{fact.subject}",
            task=TASK,
            input=self.text(fact),
            outputs=_outputs(fact),
            language=self.language,
            name=fact.name,
            name_set=name_set.id if name_set else None,
            role=roles.get(fact.subject),
            relation=fact.relation,
            entity=fact.subject,
            attributes={
                "split": drawn.split,
                "rand_ent": drawn.rand_ent,
                "train_ent": drawn.train_ent,
                "bucket": drawn.bucket,
                "frequency": fact.frequency,
                "objects": [o.id for o in fact.objects],
                "shared_name": name_set is not None,
                "resolvable": known.verdict,
                "candidates": known.candidates,
            },
        )


def _joined(same: Sequence[EntityFact]) -> EntityFact:
    """Facts of one subject that one question asks for: the answers of all are right."""
    objects = {o.id: o for fact in same for o in fact.objects}
    evidence = {place for fact in same for place in fact.evidence}
    return msgspec.structs.replace(same[0], objects=tuple(objects.values()), evidence=tuple(sorted(evidence)))


def _outputs(fact: EntityFact) -> tuple[Output, ...]:
    place = passage_id(fact.page, fact.evidence[0]) if fact.evidence else None
    gold = ((Provenance(page=fact.page, title=fact.title, passage=place),),)
    return tuple(
        Output(
            answer=o.label,
            aliases=o.aliases,
            entity=fact.subject,
            provenance=gold,
            attributes={"object": o.id},
        )
        for o in fact.objects
    )


TRAIN = "train.jsonl"


def export_entityquestions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """The release's folders: train, dev and test by relation, and `one-off` with buckets and similar."""
    return write_release(out, [*benchmark.queries, *_training(benchmark)])


def write_release(folder: str | Path, queries: Iterable[Query]) -> dict[str, int]:
    """Every question at its place under a folder, as released; how many went where."""
    of_place = grouped((place, placed) for query in queries for place, placed in _places(query))
    for place in of_place:
        (Path(folder) / place).parent.mkdir(parents=True, exist_ok=True)
    return {place: write_questions(Path(folder) / place, own) for place, own in sorted(of_place.items())}


def _places(query: Query) -> Iterator[tuple[str, Query]]:
    """Where a question goes: one that was imported to where it was, a built one to all its sets."""
    relation = query.relation or "questions"
    split = str(query.attributes.get("split", "test"))
    bucket = f"{relation}/bucket{query.attributes.get('bucket')}.test.json"
    if kind := query.attributes.get("set"):
        one_off = f"one-off/{kind}"
        if kind == "main":
            yield f"{split}/{relation}.{split}.json", query
        elif query.attributes.get("bucket") is not None:
            yield f"{one_off}/{bucket}", query
        else:
            yield f"{one_off}/{relation}/{relation}_{kind.replace('-', '_')}.{split}.json", query
        return
    if split != "none":
        yield f"{split}/{relation}.{split}.json", query
        if (reworded := _reworded(query)) is not None:
            similar = f"one-off/similar/{relation}/{relation}_similar.{split}.json"
            yield similar, msgspec.structs.replace(query, input=reworded)
    if query.attributes.get("rand_ent"):
        yield f"one-off/{RANDOM}/{bucket}", query
    if query.attributes.get("train_ent"):
        yield f"one-off/{SEEN}/{bucket}", query


def _reworded(query: Query) -> str | None:
    """The question in other words, where its relation has some."""
    if "reworded" in query.attributes:
        return str(query.attributes["reworded"])
    known: Relation | None = published_relations().get(query.relation or "")
    if known is None or known.reworded is None or query.name is None:
        return None
    return known.ask(query.name, reworded=True) if known.ask(query.name) == query.input else None


def _training(benchmark: Benchmark) -> Iterator[Query]:
    """The training facts that a built benchmark keeps beside its queries."""
    if not benchmark.folder.has(TRAIN):
        return
    for _, fact in read_json_lines(benchmark.folder.path(TRAIN), dict[str, Any]):
        first, *others = fact["answers"]
        said = {"reworded": fact["reworded"]} if "reworded" in fact else {}
        yield Query(
            id=f"train-{fact['id']}",
            task="EntityQuestions",
            input=fact["question"],
            outputs=(Output(answer=first, aliases=tuple(others)),),
            relation=fact["relation"],
            attributes={"split": "train", **said},
        )
