"""People of one name by their mentions, and questions that a clue decides or leaves open."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from whichone.names import name_key
from whichone.papers.people.recipe import DocumentMention, Recipe
from whichone.records import Bearer, NameSet, Output, Provenance, Query

_LEGAL = re.compile(
    r"\b(incorporated|inc|corporation|corp|company|co|limited|ltd|llc|llp|lp|gmbh|ag|kg|sa|nv|bv|plc|"
    r"kabushiki kaisha|kk|the)\b"
)
SPLITS = {"train": 60, "dev": 80, "test": 100}  # Until which of a hundred names
MOST_ANSWERS = 50  # Of people with hundreds of documents; the most usual are kept


class Person(msgspec.Struct, frozen=True):
    """One person under one name, with all documents, under other forms of the name too."""

    id: str
    name: str
    mentions: tuple[DocumentMention, ...]
    values: Mapping[str, Counter[str]]  # For each attribute, how many documents say each value
    values_under_name: Mapping[str, Counter[str]]
    """The same of the documents that print the name as it is asked for: what a question can point at."""
    answers: Mapping[str, Counter[str]]  # The same of the documents in the corpus: what can be found
    pages: tuple[str, ...]

    @property
    def label(self) -> str:
        """Whose word most mentions rest on."""
        counted = Counter(m.label for m in self.mentions)
        return min(counted, key=lambda label: (-counted[label], label))


def same(how: str, value: str) -> str:
    """What two writings of a value have in common: "LSI Corporation" is "LSI CORP."."""
    if how == "name":
        return name_key(value)
    text = re.sub(r"[^\w ]+", " ", value.casefold().replace(".", ""))
    if how == "organisation":
        text = _LEGAL.sub(" ", text)
    return " ".join(text.split()) or value.casefold()


def kept_mentions(mentions: Sequence[DocumentMention], removed: Collection[str]) -> list[DocumentMention]:
    """Without those of removed people: by the id of a person, a mention or a document, or by name."""
    left_out = {name_key(entry) for entry in removed} | set(removed)
    return [
        m
        for m in mentions
        for key in [name_key(m.name)]
        if left_out.isdisjoint({m.id, *m.also, m.person, f"{m.person}/{key}", key})
    ]


def people_by_name(mentions: Iterable[DocumentMention], recipe: Recipe) -> dict[str, list[Person]]:
    """Every name that two or more people have, most documents first."""
    bearers_of: dict[str, dict[str, None]] = defaultdict(dict)
    whole: dict[str, list[DocumentMention]] = defaultdict(list)
    for mention in mentions:
        bearers_of[name_key(mention.name)][mention.person] = None
        whole[mention.person].append(mention)
    shared = {}
    for key, bearers in sorted(bearers_of.items()):
        if len(bearers) > 1:
            people = [_person(identity, key, whole[identity], recipe) for identity in bearers]
            if sum(bool(person.pages) for person in people) > 1:
                shared[key] = sorted(people, key=lambda p: (-len(p.pages), p.id))
    return shared


def _person(identity: str, key: str, mentions: Sequence[DocumentMention], recipe: Recipe) -> Person:
    ordered = tuple(sorted(mentions, key=lambda m: (m.date, m.id)))
    under_name = [m for m in ordered if name_key(m.name) == key]
    names = Counter(m.name for m in under_name)
    name = max(names, key=lambda n: (names[n], n))
    inside = [m for m in ordered if m.inside]
    values, of_name, answers = (counted(own, ordered, recipe) for own in (ordered, under_name, inside))
    return Person(
        f"{identity}/{key}", name, ordered, values, of_name, answers, tuple(sorted({m.page for m in inside}))
    )


def counted(
    mentions: Iterable[DocumentMention], every: Iterable[DocumentMention], recipe: Recipe
) -> dict[str, Counter[str]]:
    """How many of the mentions have each value; `every` has the names under which the person is known."""
    own, listed = {name_key(m.name) for m in every}, list(mentions)
    return {
        kind: Counter(
            value
            for mention in listed
            for value in mention.values.get(kind, ())
            if attribute.same != "name" or name_key(value) not in own
        )
        for kind, attribute in recipe.attributes.items()
    }


def clues(person: Person, others: Sequence[Person], recipe: Recipe) -> dict[str, str]:
    """For each attribute a value that this person alone has among the bearers of the name: the most usual.

    It is on a document under the name that is asked for, and on none of another bearer under any form of it.
    """
    clues = {}
    for kind in recipe.clues:
        how, held = recipe.attributes[kind].same, person.values_under_name[kind]
        taken = {same(how, v) for other in others for v in other.values[kind]}
        if unique := [v for v in held if same(how, v) not in taken]:
            clues[kind] = max(unique, key=lambda v: (held[v], v))
    return clues


def split_of(name: str, seed: int) -> str:
    """The part that a name is in: by its hash, whatever other names there are."""
    at = _number("split", name, seed) % 100
    return next(part for part, until in SPLITS.items() if at < until)


def name_set(name: str, people: Sequence[Person], recipe: Recipe) -> NameSet:
    bearers = tuple(
        Bearer(
            entity=person.id,
            label=person.name,
            role="tail" if rank else "head",
            popularity=float(len(person.pages)),
            types=(recipe.person,),
            pages=person.pages,
        )
        for rank, person in enumerate(p for p in people if p.pages)
    )
    return NameSet(id=name, name=people[0].name, collection=recipe.name, bearers=bearers)


def questions(
    name: str, people: Sequence[Person], recipe: Recipe, *, most: int, seed: int
) -> Iterator[Query]:
    """At most `most` questions a person, and one that fits several of them."""
    findable = [person for person in people if person.pages]
    for person in findable:
        unique = clues(person, [other for other in people if other is not person], recipe)
        for kind in sorted(unique, key=lambda kind: _number("clue", person.id, kind, seed))[:most]:
            known = [k for k in recipe.asked if k != kind and person.answers[k]]
            asked = min(known, key=lambda k: _number("asked", person.id, kind, k, seed), default=None)
            if asked is not None:
                yield _query(name, findable, person, kind, unique[kind], asked, seed, recipe)
    # Without a clue: what two or more bearers have an answer to, and the one whose answer is kept as gold.
    for asked in sorted(recipe.asked, key=lambda kind: _number("open", name, kind, seed)):
        having = [person for person in findable if person.answers[asked]]
        if len(having) > 1:
            drawn = having[_number("bearer", name, asked, seed) % len(having)]
            yield _query(name, findable, drawn, "none", "", asked, seed, recipe)
            return


def _query(
    name: str, people: Sequence[Person], person: Person, kind: str, clue: str, asked: str, seed: int,
    recipe: Recipe,
) -> Query:  # fmt: skip
    identity = f"{person.id}|{kind}|{asked}"
    wordings = recipe.attributes[kind].clue if kind != "none" else recipe.plain
    who = wordings[_number("who", identity, seed) % len(wordings)].format(name=person.name, clue=clue)
    asks = recipe.attributes[asked].ask
    text = asks[_number("ask", identity, seed) % len(asks)].format(who=who)
    held, in_order = person.answers[asked], recipe.attributes[asked].in_order
    first, *rest = list(held if in_order else sorted(held, key=lambda v: (-held[v], v)))[:MOST_ANSWERS]
    attributes: dict[str, Any] = {
        "clue": kind,
        "resolvable": "no" if kind == "none" else "yes",
        "candidates": sum(bool(p.answers[asked]) for p in people) if kind == "none" else 1,
        "split": split_of(name, seed),
    }
    if person.label:
        attributes["label"] = person.label
    attributes["bearers"] = len(people)
    if clue:
        attributes["clue_value"] = clue
        stating = [m for m in person.mentions if clue in m.values.get(kind, ())]
        if not all(m.inside for m in stating):
            attributes["clue_in"] = "both" if any(m.inside for m in stating) else "left out"
    return Query(
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        task="qa",
        # A phrase between commas loses its second one before a full stop or question mark.
        input=text.replace(",?", "?").replace(",.", ".").replace("..", "."),
        outputs=(
            Output(
                answer=first,
                aliases=tuple(rest),
                entity=person.id,
                provenance=tuple((Provenance(page=page),) for page in person.pages),
            ),
        ),
        language=recipe.language,
        mention=person.name,
        name=person.name,
        name_set=name,
        role="head" if person is people[0] else "tail",
        relation=asked,
        entity=person.id,
        attributes=attributes,
    )


def _number(*what: object) -> int:
    """A number that depends on nothing but these."""
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, what)).encode()).digest()[:8], "big")
