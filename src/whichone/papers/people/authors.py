"""Inventors by their mentions, how sure their labels are, and questions that a clue decides or leaves open."""

import hashlib
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import msgspec

from whichone.names import name_key
from whichone.papers.people.mentions import InventorMention
from whichone.records import Bearer, NameSet, Output, Provenance, Query, page_id

KINDS = ("assignee", "field", "place", "co-inventor")  # What can tell two inventors of one name apart

# After this day mentions of the labelled people are, but for a few, without a label.
LABELLED_UNTIL = "2021-12-31"

_LEGAL = re.compile(
    r"\b(incorporated|inc|corporation|corp|company|co|limited|ltd|llc|llp|lp|gmbh|ag|kg|sa|nv|bv|plc|"
    r"kabushiki kaisha|kk|the)\b"
)
_NO_WORD = re.compile(r"[^\w ]+")


class NamedInventor(msgspec.Struct, frozen=True):
    """An inventor: one disambiguated person under one name, with all patents, under other forms of the name too."""

    id: str
    name: str
    mentions: tuple[InventorMention, ...]
    values: Mapping[str, Counter[str]]
    """For each kind, how many patents have each value."""
    values_under_name: Mapping[str, Counter[str]]
    """The same of the patents that print the name as it is asked for: what a question can point at."""

    @property
    def by_hand(self) -> bool:
        """Whether most of the mentions were labelled by hand."""
        return 2 * sum(m.by_hand is not None for m in self.mentions) > len(self.mentions)

    @property
    def pages(self) -> tuple[str, ...]:
        return tuple(sorted({patent_page(m.patent) for m in self.mentions}))


PATENT = "patent"  # Begins the ids of pages


def patent_page(patent: str) -> str:
    return page_id(PATENT, patent)


def same(kind: str, value: str) -> str:
    """What two writings of a value have in common: "LSI Corporation" is "LSI CORP."."""
    if kind == "co-inventor":
        return name_key(value)
    text = _NO_WORD.sub(" ", value.casefold().replace(".", ""))
    if kind == "assignee":
        text = _LEGAL.sub(" ", text)
    return " ".join(text.split()) or value.casefold()


def people_by_name(
    mentions: Iterable[InventorMention], fields: Mapping[str, str], removed: Collection[str] = ()
) -> dict[str, list[NamedInventor]]:
    """Every name that two or more inventors have, most patents first."""
    bearers_of: dict[str, dict[str, None]] = defaultdict(dict)
    whole: dict[str, list[InventorMention]] = defaultdict(list)
    mentions = list(mentions)
    labels = hand_labels(mentions)
    for mention in kept_mentions(mentions, removed):
        person = person_of(mention, labels)
        bearers_of[name_key(mention.name)][person] = None
        whole[person].append(mention)
    shared = {}
    for key, bearers in sorted(bearers_of.items()):
        if len(bearers) > 1:
            people = [_person(identity, key, whole[identity], fields) for identity in bearers]
            shared[key] = sorted(people, key=lambda p: (-len(p.pages), p.id))
    return shared


def kept_mentions(mentions: Sequence[InventorMention], removed: Collection[str]) -> list[InventorMention]:
    """Without those of removed people: by inventor, mention or patent id, or by name."""
    left_out = {name_key(entry) for entry in removed} | set(removed)
    labels = hand_labels(mentions)
    kept = []
    for mention in mentions:
        person, name = person_of(mention, labels), name_key(mention.name)
        known_as = {mention.id, mention.patent, mention.predicted, person, f"{person}/{name}", name}
        if left_out.isdisjoint(known_as):
            kept.append(mention)
    return kept


def hand_labels(mentions: Iterable[InventorMention]) -> dict[str, str]:
    """The hand-labelled person of each of PatentsView's inventors: whom most labelled mentions are of."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.by_hand:
            counted[mention.predicted][mention.by_hand] += 1
    return {key: max(held, key=lambda p: (held[p], p)) for key, held in counted.items()}


def person_of(mention: InventorMention, labels: Mapping[str, str]) -> str:
    """By hand where it was labelled; else PatentsView's, under the hand label of that inventor if any.

    The hand labels end with 2021 and leave out some mentions, so that a mention without a label is
    not known to be of somebody else.
    """
    by_hand = mention.by_hand or labels.get(mention.predicted)
    return f"patentsview:hand-{by_hand}" if by_hand else f"patentsview:{mention.predicted}"


def _person(
    identity: str, key: str, mentions: Sequence[InventorMention], fields: Mapping[str, str]
) -> NamedInventor:
    ordered = tuple(sorted(mentions, key=lambda m: (m.date, m.id)))
    names = Counter(m.name for m in ordered if name_key(m.name) == key)
    name = max(names, key=lambda n: (names[n], n))
    own = {name_key(m.name) for m in ordered}
    under_name = [m for m in ordered if name_key(m.name) == key]
    return NamedInventor(
        f"{identity}/{key}", name, ordered, _values(ordered, own, fields), _values(under_name, own, fields)
    )


def _values(
    mentions: Sequence[InventorMention], own: Collection[str], fields: Mapping[str, str]
) -> dict[str, Counter[str]]:
    return {
        "assignee": Counter(a for m in mentions for a in m.assignees),
        "field": Counter(fields[m.field] for m in mentions if m.field in fields),
        "place": Counter(m.city for m in mentions if m.city),
        "co-inventor": Counter(n for m in mentions for n in m.inventors if name_key(n) not in own),
    }


def clues(person: NamedInventor, others: Sequence[NamedInventor]) -> dict[str, str]:
    """For each kind a value that this person alone has among the bearers of the name: the most usual.

    It is on a patent under the name that is asked for, and on no patent of another bearer under any form of it.
    """
    clues = {}
    for kind in KINDS:
        taken = {same(kind, v) for other in others for v in other.values[kind]}
        held = person.values_under_name[kind]
        unique = [v for v in held if same(kind, v) not in taken]
        if unique:
            clues[kind] = max(unique, key=lambda v: (held[v], v))
    return clues


def label_error(mentions: Sequence[InventorMention]) -> dict[str, Any]:
    """PatentsView's disambiguation against the labels by hand.

    Precision and recall are of pairs of mentions of one name: of the pairs that PatentsView takes for
    one person, how many the hand labels do, and the other way round. `least_pair_precision` counts
    every unlabelled mention up to `LABELLED_UNTIL` that PatentsView gives to a labelled person as
    somebody else's: the labels are said to be complete, and evidently are not.
    """
    labelled, unlabelled = (
        _by_name(m for m in mentions if m.by_hand),
        _by_name(m for m in mentions if not m.by_hand and m.date <= LABELLED_UNTIL),
    )
    agree = predicted = by_hand = doubtful = 0
    people: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    clusters: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for key, held in labelled.items():
        agree += _pairs(held, lambda m: (m.predicted, m.by_hand))
        predicted += _pairs(held, lambda m: m.predicted)
        by_hand += _pairs(held, lambda m: m.by_hand)
        sizes = Counter(m.predicted for m in held)
        doubtful += sum(sizes[m.predicted] for m in unlabelled.get(key, ()))
        for mention in held:
            people[key, mention.by_hand].add(mention.predicted)
            clusters[key, mention.predicted].add(mention.by_hand)
    return {
        "mentions": sum(map(len, labelled.values())),
        "people": len({by_hand for _, by_hand in people}),
        "pair_precision": _share(agree, predicted),
        "least_pair_precision": _share(agree, predicted + doubtful),
        "pair_recall": _share(agree, by_hand),
        "split_people": _share(sum(len(p) > 1 for p in people.values()), len(people)),
        "mixed_people": _share(sum(len(c) > 1 for c in clusters.values()), len(clusters)),
    }


def _by_name(mentions: Iterable[InventorMention]) -> dict[str, list[InventorMention]]:
    grouped: dict[str, list[InventorMention]] = defaultdict(list)
    for mention in mentions:
        grouped[name_key(mention.name)].append(mention)
    return grouped


def _pairs(mentions: Sequence[InventorMention], key: Callable[[InventorMention], Any]) -> int:
    return sum(n * (n - 1) // 2 for n in Counter(map(key, mentions)).values())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


ASKED = (*KINDS, "patent")
SHARES = {"train": 60, "dev": 20, "test": 20}
MOST_ANSWERS = 50  # Titles and co-inventors of people with hundreds of patents; the most usual are kept


class InventorWordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    who: dict[str, list[str]]
    ask: dict[str, list[str]]


def wordings() -> InventorWordings:
    text = resources.files(__package__ or "").joinpath("wordings.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), InventorWordings)


def split_of(name: str, seed: int) -> str:
    """The part that a name is in: by its hash, whatever other names there are."""
    at = _number("split", name, seed) % 100
    for part, share in SHARES.items():
        if at < share:
            return part
        at -= share
    raise AssertionError("the shares add up to 100")


def name_set(name: str, people: Sequence[NamedInventor]) -> NameSet:
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
    name: str, people: Sequence[NamedInventor], *, most: int, seed: int, worded: InventorWordings
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


def _asked(person: NamedInventor, clue: str, seed: int) -> str | None:
    known = [k for k in ASKED if k != clue and _answers(person, k)]
    return min(known, key=lambda kind: _number("asked", person.id, clue, kind, seed), default=None)


def _without_clue(name: str, people: Sequence[NamedInventor], seed: int) -> tuple[NamedInventor, str] | None:
    """A question that two or more bearers have an answer to, and the one whose answer is kept as gold."""
    for asked in sorted(ASKED, key=lambda kind: _number("open", name, kind, seed)):
        having = [person for person in people if _answers(person, asked)]
        if len(having) > 1:
            return having[_number("bearer", name, asked, seed) % len(having)], asked
    return None


def _answers(person: NamedInventor, asked: str) -> list[str]:
    """The person's values, the most usual first."""
    if asked == "patent":
        return list(dict.fromkeys(m.title for m in person.mentions))[:MOST_ANSWERS]
    held = person.values[asked]
    return sorted(held, key=lambda v: (-held[v], v))[:MOST_ANSWERS]


def _query(
    name: str,
    people: Sequence[NamedInventor],
    person: NamedInventor,
    kind: str,
    clue: str,
    asked: str,
    seed: int,
    worded: InventorWordings,
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
