"""Questions about inventors of a shared name: with a clue that decides, and without."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import msgspec

from whichone.papers.inventors.people import KINDS, Person, clues
from whichone.records import Bearer, NameSet, Output, Provenance, Query

ASKED = (*KINDS, "patent")
SHARES = {"train": 60, "dev": 20, "test": 20}
MOST_ANSWERS = 50
"""Titles and co-inventors of people with hundreds of patents; the most usual are kept."""


class Wordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    who: dict[str, list[str]]
    ask: dict[str, list[str]]


def wordings() -> Wordings:
    text = resources.files(__package__ or "").joinpath("wordings.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Wordings)


def split_of(name: str, seed: int) -> str:
    """The part that a name is in: by its hash, whatever other names there are."""
    at = _number("split", name, seed) % 100
    for part, share in SHARES.items():
        if at < share:
            return part
        at -= share
    raise AssertionError("the shares add up to 100")


def name_set(name: str, people: Sequence[Person]) -> NameSet:
    bearers = tuple(
        Bearer(
            entity=person.id,
            label=person.name,
            role="tail" if rank else "head",
            popularity=float(len(person.pages)),
            types=("inventor",),
            pages=person.pages,
        )
        for rank, person in enumerate(people)
    )
    return NameSet(id=name, name=people[0].name, collection="inventors", bearers=bearers)


def questions(
    name: str, people: Sequence[Person], *, most: int, seed: int, worded: Wordings
) -> Iterator[Query]:
    """At most `most` questions an inventor, and one that fits several of them."""
    for person in people:
        others = [other for other in people if other is not person]
        clue_values = clues(person, others)
        kinds = sorted(clue_values, key=lambda kind: _number("clue", person.id, kind, seed))
        for kind in kinds[:most]:
            asked = _asked(person, kind, seed)
            if asked is not None:
                yield _query(name, people, person, kind, clue_values[kind], asked, seed, worded)
    open_ended = _without_clue(name, people, seed)
    if open_ended is not None:
        person, asked = open_ended
        yield _query(name, people, person, "none", "", asked, seed, worded)


def _asked(person: Person, clue: str, seed: int) -> str | None:
    known = [k for k in ASKED if k != clue and _answers(person, k)]
    return min(known, key=lambda kind: _number("asked", person.id, clue, kind, seed), default=None)


def _without_clue(name: str, people: Sequence[Person], seed: int) -> tuple[Person, str] | None:
    """A question that two or more bearers have an answer to, and the one whose answer is kept as gold."""
    for asked in sorted(ASKED, key=lambda kind: _number("open", name, kind, seed)):
        having = [person for person in people if _answers(person, asked)]
        if len(having) > 1:
            return having[_number("bearer", name, asked, seed) % len(having)], asked
    return None


def _answers(person: Person, asked: str) -> list[str]:
    """The person's values, the most usual first."""
    if asked == "patent":
        return list(dict.fromkeys(m.title for m in person.mentions))[:MOST_ANSWERS]
    held = person.values[asked]
    return sorted(held, key=lambda v: (-held[v], v))[:MOST_ANSWERS]


def _query(
    name: str,
    people: Sequence[Person],
    person: Person,
    kind: str,
    clue: str,
    asked: str,
    seed: int,
    worded: Wordings,
) -> Query:
    identity = f"{person.id}|{kind}|{asked}"
    who = _chosen(worded.who[kind], "who", identity, seed)
    ask = _chosen(worded.ask[asked], "ask", identity, seed)
    text = _tidy(ask.format(who=who.format(name=person.name, clue=clue)))
    first, *rest = _answers(person, asked)
    candidates = sum(bool(_answers(p, asked)) for p in people) if kind == "none" else 1
    attributes: dict[str, Any] = {
        "clue": kind,
        "resolvable": "no" if kind == "none" else "yes",
        "candidates": candidates,
        "split": split_of(name, seed),
        "label": "hand" if person.by_hand else "PatentsView",
        "bearers": len(people),
        **({"clue_value": clue} if clue else {}),
    }
    return Query(
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        task="qa",
        input=text,
        outputs=(
            Output(
                answer=first,
                aliases=tuple(rest),
                entity=person.id,
                provenance=tuple((Provenance(page=page),) for page in person.pages),
            ),
        ),
        mention=person.name,
        name=person.name,
        name_set=name,
        role="head" if person is people[0] else "tail",
        relation=asked,
        entity=person.id,
        attributes=attributes,
    )


def _chosen(choices: Sequence[str], *what: object) -> str:
    return choices[_number(*what) % len(choices)]


def _tidy(text: str) -> str:
    """A phrase between commas loses its second one before a full stop or question mark."""
    return text.replace(",?", "?").replace(",.", ".").replace("..", ".")


def _number(*what: object) -> int:
    """A number that depends on nothing but these."""
    text = "\x1f".join(map(str, what))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def fields() -> Mapping[str, str]:
    text = resources.files(__package__ or "").joinpath("fields.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, str])
