"""Slot filling from T-REx and Zero Shot RE: what is said of one subject and relation, with its sentences."""

import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress, groupby
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from whichone.errors import BadInput
from whichone.files.arrow_records import KeyedTable, MappedRecords, blocks, folder_near, lists_of, mapped_copy
from whichone.files.json_records import decode_whole, parts
from whichone.files.lines import NOT_JSON, read_text_lines
from whichone.files.tables import TableSchema, in_key_order
from whichone.papers.kilt.evidence_text import Original, TaskOutput, TaskRecord, made_id, sentence

MOST_PROVENANCES = 20
LEAST_FACTS = 1000
EVALUATION = 5000
# Records whose names are looked up together: each time the names of the knowledge base are read.
BLOCK = 20_000


class _Mention(msgspec.Struct):
    uri: str | None = None
    surfaceform: str | None = None


class _Aligned(msgspec.Struct):
    subject: _Mention
    predicate: _Mention
    object: _Mention
    sentence_id: int = 0


class _Document(msgspec.Struct):
    text: str
    title: str
    sentences_boundaries: list[tuple[int, int]]
    triples: list[_Aligned]


class _Fact(msgspec.Struct, array_like=True):
    """An object, where it is stated first, the names there, and the sentences that state it."""

    value: str
    place: int
    names: tuple[str, str, str]
    sentences: list[tuple[str, str]]


class _Group(msgspec.Struct, array_like=True):
    """The facts of a subject and relation, and how the subject is written anywhere in T-REx."""

    subject: str
    relation: str
    facts: list[_Fact]
    surfaces: list[str]


# Subject, relation, object, place among all triples, the three surface forms, title, sentence.
_Triple = tuple[str, str, str, int, str, str, str, str, str | None]
_text, _number, _texts = pa.string(), pa.int64(), pa.list_(pa.string())
_IDS = {"subject": _text, "relation": _text, "object": _text, "place": _number}
_SAID = dict.fromkeys(("subject_surface", "relation_surface", "object_surface", "title", "sentence"), _text)
_TRIPLES = TableSchema("triples", pa.schema({**_IDS, **_SAID}), ("subject", "relation", "object", "place"))
_SURFACES = TableSchema(
    "surfaces", pa.schema({"object": _text, "place": _number, "object_surface": _text}), ("object", "place")
)


def _batches(rows: Iterable[tuple[Any, ...]], schema: TableSchema) -> Iterator[pa.RecordBatch]:
    for block in blocks(rows, BLOCK):
        columns = dict(zip(schema.schema.names, zip(*block, strict=True), strict=True))
        yield from schema.from_columns(columns).to_batches()


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def convert_trex(original: Original) -> Iterator[TaskRecord]:
    """Records of the wanted split. Facts with more than 20 provenances and relations with fewer than
    1,000 facts are left out; dev and test are 5,000 records each, drawn at random.

    `original.names` gives labels and aliases of ids; else surface forms name things. The limits can
    be set in `original.options`.
    """
    near, relations = folder_near(original.near), dict[str, dict[str, None]]()
    table = mapped_copy(_batches(_triples(original, relations), _TRIPLES), _TRIPLES.schema, near).table()
    objects = in_key_order(table.select(_SURFACES.schema.names), _SURFACES, near)
    written = (  # each object with its surface forms, in the order of their first places
        (value, list(dict.fromkeys(surface for _, _, surface in rows if surface)))
        for value, rows in groupby(_rows(objects), itemgetter(0))
    )
    surfaces = KeyedTable.of_pairs(written, _texts, lambda t: lists_of(t["value"]), near)
    chosen = enumerate(_of_split(_rows(in_key_order(table, _TRIPLES, near)), original), 1)
    for block in blocks(chosen, BLOCK):
        values = list({fact.value for _, group in block for fact in group.facts})
        ids = {*values, *(i for _, group in block for i in (group.subject, group.relation))}
        labels, aliases = original.names(ids) if original.names else ({}, {})
        listed = dict(zip(values, surfaces.many(values), strict=True))
        for number, group in block:
            yield _record(group, number, labels, aliases, listed, relations.get(group.relation))


def _of_split(triples: Iterable[_Triple], original: Original) -> Iterator[_Group]:
    """The groups of the wanted split by subject and relation, those of rare relations left out."""
    limit = original.options.get("most_provenances", MOST_PROVENANCES)
    least = original.options.get("least_facts", LEAST_FACTS)
    groups: MappedRecords[_Group] = MappedRecords(_Group, original.near)
    facts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for group in _groups(triples, limit, original):
        groups.append(group)
        facts[group.relation] += len(group.facts)
        sizes[group.relation] += 1
    frequent = {relation for relation, number in facts.items() if number >= least}
    original.left_out["facts of rare relations"] += sum(
        facts[relation] for relation in facts.keys() - frequent
    )
    if facts and not frequent:
        relation, most = facts.most_common(1)[0]
        raise BadInput(
            f"no relation has the {least:,} facts that KILT wants of each: {relation} has the most, {most:,}",
            file=original.files[0],
            hint="a part of T-REx is too small: name more of its files",
        )
    count = sum(sizes[relation] for relation in frequent)
    size = min(original.options.get("evaluation", EVALUATION), count // 3)
    order = array("I", range(count))
    random.Random(original.seed).shuffle(order)
    cuts = {"dev": (0, size), "test": (size, 2 * size), "train": (2 * size, count)}
    drawn = np.zeros(count, bool)
    drawn[np.asarray(order)[slice(*cuts[original.split])]] = True
    return compress((group for group in groups if group.relation in frequent), drawn)


def _groups(triples: Iterable[_Triple], limit: int, original: Original) -> Iterator[_Group]:
    """Subject by subject; facts with more provenances than `limit` are counted and left out."""
    original.left_out["facts with too many provenances"] += 0
    for subject, of_subject in groupby(triples, itemgetter(0)):
        surfaces: dict[str, int] = {}
        groups: list[_Group] = []
        for relation, of_relation in groupby(of_subject, itemgetter(1)):
            facts = []
            for value, stated in groupby(of_relation, itemgetter(2)):
                fact = _fact(value, list(stated), surfaces)
                if len(fact.sentences) <= limit:
                    facts.append(fact)
                else:
                    original.left_out["facts with too many provenances"] += 1
            if facts:
                facts.sort(key=lambda fact: fact.place)
                groups.append(_Group(subject, relation, facts, []))
        written = sorted(surfaces, key=surfaces.__getitem__)
        for group in groups:
            group.surfaces = written
            yield group


def _fact(value: str, stated: list[_Triple], surfaces: dict[str, int]) -> _Fact:
    """One fact; the first place of each surface form of its subject is added to `surfaces`."""
    sentences: dict[tuple[str, str], None] = {}
    for _, _, _, place, surface, _, _, title, text in stated:
        if surface:
            surfaces[surface] = min(place, surfaces.get(surface, place))
        if text is not None:
            sentences.setdefault((title, text))
    subject, relation, _, first, *written, _, _ = stated[0]
    one, link, other = written
    return _Fact(value, first, (one or subject, link or relation, other or value), list(sentences))


def _record(
    group: _Group,
    number: int,
    labels: Mapping[str, str],
    aliases: Mapping[str, Sequence[str]],
    surfaces: Mapping[str, Sequence[str] | None],
    relation_surfaces: Iterable[str] | None,
) -> TaskRecord:
    subject, relation = group.subject, group.relation
    first = group.facts[0]
    outputs = []
    for fact in group.facts:
        answer = labels.get(fact.value, fact.names[2])
        outputs += [TaskOutput(answer, (sentence(title, text),)) for title, text in fact.sentences]
        outputs += [TaskOutput(alias) for alias in aliases.get(fact.value, ())]
    written = (surface for fact in group.facts for surface in surfaces[fact.value] or ())
    meta = {
        "subj_aliases": list(aliases.get(subject, ())),
        "sub_surface": group.surfaces,
        "obj_surface": list(dict.fromkeys(written)),
    }
    if relation_surfaces:  # the paper names them, the released files have none
        meta["rel_surface"] = list(relation_surfaces)
    asked = f"{labels.get(subject, first.names[0])} [SEP] {labels.get(relation, first.names[1])}"
    return TaskRecord(made_id("trex", subject, relation), asked, tuple(outputs), number, {"meta": meta})


def _triples(original: Original, surfaces: dict[str, dict[str, None]]) -> Iterator[_Triple]:
    """All triples with ids; how each relation is written is added to `surfaces`."""
    place = 0
    for document in _documents(original):
        for triple in document.triples:
            mentions = (triple.subject, triple.predicate, triple.object)
            if not all(mention.uri for mention in mentions):
                original.left_out["triples without ids"] += 1
                continue
            subject, relation, value = (_last(mention.uri) for mention in mentions)
            one, link, other = (mention.surfaceform or "" for mention in mentions)
            if link:
                surfaces.setdefault(relation, {}).setdefault(link)
            text = None
            if triple.sentence_id < len(document.sentences_boundaries):
                start, end = document.sentences_boundaries[triple.sentence_id]
                text = document.text[start:end]
            yield subject, relation, value, place, one, link, other, document.title, text
            place += 1


def _last(uri: str | None) -> str:
    return (uri or "").rpartition("/")[2]


def _documents(original: Original) -> Iterator[_Document]:
    decoder = msgspec.json.Decoder(list[_Document])
    for file in original.files:
        read = 0
        for part in parts(file):
            try:
                documents = decoder.decode(part.array())
            except NOT_JSON:  # a wrong cut, or damage it will name
                yield from decode_whole(file, list[_Document])[read:]
                break
            read += len(documents)
            yield from documents


SLOT = "XXX"
SHARES = {"train": 84, "dev": 12, "test": 24}

_Example = tuple[str, str, int, int, str, str, list[str]]
_ASKED = {"place": _number, "line": _number, "question": _text, "sentence": _text, "answers": _texts}
# `place` is an example's among all; of a group that of its first one.
_EXAMPLES = TableSchema(
    "examples", pa.schema({"subject": _text, "relation": _text, **_ASKED}), ("subject", "relation", "place")
)
_SETS = {"questions": _texts, "answers": pa.list_(_texts)}  # Each answer with its sentence
_GROUPS = TableSchema(
    "groups",
    pa.schema({"place": _number, "line": _number, "subject": _text, "relation": _text, **_SETS}),
    ("place",),
)


def relation_splits(relations: list[str], seed: int) -> dict[str, str]:
    """A split for each relation, none in two; of other numbers than 120, the same shares."""
    shuffled = sorted(set(relations))
    random.Random(seed).shuffle(shuffled)
    total = sum(SHARES.values())
    first = round(len(shuffled) * SHARES["train"] / total)
    second = first + round(len(shuffled) * SHARES["dev"] / total)
    return {
        relation: "train" if n < first else "dev" if n < second else "test"
        for n, relation in enumerate(shuffled)
    }


def convert_zsre(original: Original) -> Iterator[TaskRecord]:
    """One record a subject and relation: all its questions, answers and sentences together."""
    near, relations = folder_near(original.near), set[str]()
    examples = in_key_order(_batches(_examples(original, relations), _EXAMPLES), _EXAMPLES, near)
    grouped = groupby(_rows(examples), itemgetter(0, 1))
    groups = in_key_order(_batches(_of_relations(grouped, relations, original), _GROUPS), _GROUPS, near)
    for _, line, subject, relation, questions, answers in _rows(groups):
        yield TaskRecord(
            made_id("zsre", subject, relation),
            f"{subject} [SEP] {relation}",
            tuple(TaskOutput(answer, (sentence(subject, text),)) for answer, text in answers),
            line,
            {"meta": {"template_questions": questions}},
        )


def _of_relations(
    groups: Iterable[tuple[tuple[str, str], Iterator[_Example]]], relations: Set[str], original: Original
) -> Iterator[tuple[Any, ...]]:
    """Rows of `_GROUPS`; all `relations` are known when the first group comes."""
    splits: dict[str, str] = {}
    for (subject, relation), examples in groups:
        splits = splits or relation_splits(sorted(relations), original.seed)
        if splits[relation] != original.split:
            original.left_out["relations of other splits"] += 1
            continue
        rows = list(examples)
        questions = dict.fromkeys(row[4] for row in rows)
        answers = dict.fromkeys((answer, row[5]) for row in rows for answer in row[6])
        yield *rows[0][2:4], subject, relation, list(questions), list(answers)


def _examples(original: Original, relations: set[str]) -> Iterator[_Example]:
    """The positive examples; the relations of all examples are added to `relations`."""
    place = 0
    for file in original.files:
        for line, text_line in read_text_lines(file):
            parts = text_line.split("\t")
            if len(parts) < 4:
                raise BadInput(
                    "relation, question, subject, sentence and answers are expected, by tabs",
                    file=file,
                    line=line,
                )
            relation, question, subject, text, *answers = parts
            relations.add(relation)
            if not any(answer.strip() for answer in answers):
                original.left_out["negative examples"] += 1
                continue
            asked = question.replace(SLOT, subject)
            yield (subject, relation, place, line, asked, text, list(filter(None, answers)))
            place += 1
