"""Slots and claims of facts about pages of Wikipedia: of a question's relation and answer, in plain words."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

CLAIMS = {
    "P106": "$name worked as $value.",
    "P112": "$name was founded by $value.",
    "P127": "$name is owned by $value.",
    "P131": "$name is located in $value.",
    "P136": "$name is a work or performer of the genre $value.",
    "P159": "$name has its headquarters in $value.",
    "P17": "$name is in $value.",
    "P170": "$name was created by $value.",
    "P175": "$name was performed by $value.",
    "P176": "$name is produced by $value.",
    "P19": "$name was born in $value.",
    "P20": "$name died in $value.",
    "P26": "$name was married to $value.",
    "P264": "$name is on the label $value.",
    "P276": "$name is located in $value.",
    "P36": "The capital of $name is $value.",
    "P40": "$value is a child of $name.",
    "P407": "$name was written in $value.",
    "P413": "$name plays as $value.",
    "P495": "$name was made in $value.",
    "P50": "$name was written by $value.",
    "P69": "$name was educated at $value.",
    "P740": "$name was formed in $value.",
    "P800": "$name is known for $value.",
    "director": "$name was directed by $value.",
    "screenwriter": "The screenplay of $name is by $value.",
    "composer": "The music of $name is by $value.",
    "producer": "$name was produced by $value.",
    "father": "The father of $name is $value.",
    "mother": "The mother of $name is $value.",
    "sport": "$name plays $value.",
    "capital of": "$name is the capital of $value.",
    "religion": "The religion of $name is $value.",
    "country": "$name is in $value.",
}
POPQA = {"place of birth": "P19", "occupation": "P106", "genre": "P136", "author": "P50", "capital": "P36"}


def relation_of(query: Any) -> str:
    return str(POPQA.get(query.relation or "", query.relation or ""))


def slots(queries: Iterable[Any]) -> Iterator[Any]:
    """Each question as `name [SEP] relation`."""
    from msgspec.structs import replace

    from whichone.benchmarks.relations import published_relations

    known = published_relations()
    for query in queries:
        relation = relation_of(query)
        if relation in CLAIMS and query.name:
            label = known[relation].label if relation in known else relation
            yield replace(
                query, id=f"{query.id}=sf", task="sf", input=f"{query.name} [SEP] {label}", relation=relation
            )


def claims(queries: Iterable[Any], text_of: Any) -> Iterator[Any]:
    """A true claim of each question, and a false one with a value of another name that the page does not contain."""
    from msgspec.structs import replace

    from whichone.records import Output

    chosen = [q for q in queries if relation_of(q) in CLAIMS and q.name and q.answers()]
    values: defaultdict[str, list[str]] = defaultdict(list)
    for query in chosen:
        values[relation_of(query)].append(query.answers()[0])
    for query in chosen:
        relation, own = relation_of(query), {a.lower() for a in query.answers()}
        template = CLAIMS[relation].replace("$name", query.name)
        gold = query.outputs[0].provenance
        said = text_of(query).lower()
        true = next((a for a in query.answers() if a.lower() in said), None)
        others = sorted({*values[relation]}, key=lambda v: hashlib.sha256(f"{query.id}{v}".encode()).digest())
        false = next((v for v in others if v.lower() not in own and v.lower() not in said), None)
        for value, label in ((true, "SUPPORTS"), (false, "REFUTES")):
            if value is not None:
                yield replace(
                    query, id=f"{query.id}={label.lower()}", task="fc", relation=relation,
                    input=template.replace("$value", value), outputs=(Output(answer=label, provenance=gold),),
                )  # fmt: skip
