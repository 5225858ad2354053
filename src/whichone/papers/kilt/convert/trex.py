"""T-REx: facts of one subject and relation together, with the sentences that state them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from whichone.files.json_array import decode_whole, parts
from whichone.files.lines import NOT_JSON
from whichone.papers.kilt.convert.original import Original, made_id, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord

MOST_PROVENANCES = 20
LEAST_FACTS = 1000
EVALUATION = 5000


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


class _Fact(msgspec.Struct):
    """A subject, relation and object with what states it."""

    names: tuple[str, str, str]
    sentences: dict[tuple[str, str], None] = {}


Key = tuple[str, str, str]
Surfaces = tuple[dict[str, dict[str, None]], dict[str, dict[str, None]], dict[str, dict[str, None]]]
"""How subjects, relations and objects are written anywhere in T-REx, by their ids."""


def convert_trex(original: Original) -> Iterator[TaskRecord]:
    """Records of the wanted split. Facts with more than 20 provenances and relations with fewer than
    1,000 facts are left out; dev and test are 5,000 records each, drawn at random.

    `original.names` gives labels and aliases of ids; else surface forms name things. The limits can
    be set in `original.options`.
    """
    options = original.options
    surfaces: Surfaces = ({}, {}, {})
    facts = _facts(original, surfaces)
    limit = options.get("most_provenances", MOST_PROVENANCES)
    kept = {key: fact for key, fact in facts.items() if len(fact.sentences) <= limit}
    original.left_out["facts with too many provenances"] += len(facts) - len(kept)
    frequent = Counter(relation for _, relation, _ in kept)
    least = options.get("least_facts", LEAST_FACTS)
    grouped: dict[tuple[str, str], list[tuple[str, _Fact]]] = {}
    for (subject, relation, value), fact in kept.items():
        if frequent[relation] < least:
            original.left_out["facts of rare relations"] += 1
        else:
            grouped.setdefault((subject, relation), []).append((value, fact))
    chosen = _of_split(sorted(grouped), original)
    ids = {part for key in chosen for part in (*key, *(value for value, _ in grouped[key]))}
    labels, aliases = original.names(ids) if original.names else ({}, {})
    for number, key in enumerate(chosen, 1):
        yield _record(key, grouped[key], number, labels, aliases, surfaces)


def _of_split(keys: list[tuple[str, str]], original: Original) -> list[tuple[str, str]]:
    size = min(original.options.get("evaluation", EVALUATION), len(keys) // 3)
    drawn = list(keys)
    random.Random(original.seed).shuffle(drawn)
    cut = {"dev": drawn[:size], "test": drawn[size : 2 * size], "train": drawn[2 * size :]}
    return sorted(cut[original.split])


def _record(
    key: tuple[str, str],
    facts: list[tuple[str, _Fact]],
    number: int,
    labels: Mapping[str, str],
    aliases: Mapping[str, Sequence[str]],
    surfaces: Surfaces,
) -> TaskRecord:
    subject, relation = key
    first = facts[0][1]
    outputs = []
    for value, fact in facts:
        answer = labels.get(value, fact.names[2])
        outputs += [TaskOutput(answer, (sentence(title, text),)) for title, text in fact.sentences]
        outputs += [TaskOutput(alias) for alias in aliases.get(value, ())]
    meta = {
        "subj_aliases": list(aliases.get(subject, ())),
        "sub_surface": list(surfaces[0].get(subject, ())),
        "obj_surface": list(dict.fromkeys(s for v, _ in facts for s in surfaces[2].get(v, ()))),
    }
    if relation in surfaces[1]:  # the paper names them, the released files have none
        meta["rel_surface"] = list(surfaces[1][relation])
    name = labels.get(subject, first.names[0])
    asked = f"{name} [SEP] {labels.get(relation, first.names[1])}"
    return TaskRecord(made_id("trex", *key), asked, tuple(outputs), number, {"meta": meta})


def _facts(original: Original, surfaces: Surfaces) -> dict[Key, _Fact]:
    facts: dict[Key, _Fact] = {}
    for document in _documents(original):
        for triple in document.triples:
            uris = (triple.subject.uri, triple.predicate.uri, triple.object.uri)
            if not all(uris):
                original.left_out["triples without ids"] += 1
                continue
            subject, relation, value = ids = tuple(_last(uri) for uri in uris)
            mentions = (triple.subject, triple.predicate, triple.object)
            for held, identity, mention in zip(surfaces, ids, mentions, strict=True):
                if mention.surfaceform:
                    held.setdefault(identity, {}).setdefault(mention.surfaceform)
            names = (
                triple.subject.surfaceform or subject,
                triple.predicate.surfaceform or relation,
                triple.object.surfaceform or value,
            )
            fact = facts.setdefault((subject, relation, value), _Fact(names))
            if triple.sentence_id < len(document.sentences_boundaries):
                start, end = document.sentences_boundaries[triple.sentence_id]
                fact.sentences.setdefault((document.title, document.text[start:end]))
    return facts


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
