"""Invented pages whose names are shared, and what can be asked about them: the lists that the reader learns from.

Words are those of `pages.toml`; names and values are real ones, subjects and answers of EntityQuestions (MIT licence), so
that they look like names. Facts are invented. No name of the 48k corpus's questions, of the built-in world or of an
EntityQuestions set of it is used, and no wording that AmbER or EntityQuestions asks in.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
PEOPLE = ("P19", "P20", "P26", "P40", "P69", "P106", "P413")
NAMED = {
    "song": ("P175",), "album": ("P175", "P264"), "novel": ("P50",), "film": ("P495",), "series": ("P170", "P495"),
    "band": ("P740", "P264"), "painting": ("P170",), "game": ("P176", "P495"), "town": ("P131", "P17", "P36"),
    "district": ("P36", "P131"), "building": ("P276", "P17"), "company": ("P127", "P159", "P112"), "machine": ("P176",),
    "newspaper": ("P407",), "event": ("P276",), "species": ("P495",), "character": ("P170", "P106"),
}  # fmt: skip
"""Of which relations of EntityQuestions the subjects are names for a kind of thing."""
WORKS = ("song", "album", "novel", "film", "series", "band", "painting", "game", "newspaper", "character")
PLACES = ("town", "town", "town", "district", "building", "event", "machine", "company", "song", "band")
FORMS = {"ask": 45, "slot": 17, "claim": 28, "two": 5, "bridge": 5}
"""How often a question is of each form."""
QUALIFIED, DENIED, FALSE, NEGATED, STATED, TWIN = 0.35, 0.08, 0.4, 0.06, 0.93, 0.7
UNSAID = 0.1
"""So much as likely is a bearer whose page does not say what is asked, where several may be asked so."""
_SLOT = re.compile(r"{(\w+)}")
_FEMALE = {"he": "she", "his": "her", "him": "her", "himself": "herself", "He": "She", "His": "Her"}


def key(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


@dataclass
class Bearer:
    """Somebody or something of a name, with the page about it."""

    name: str
    kind: str
    noun: str
    title: str
    values: dict[str, str]
    words: dict[str, str]
    text: str = ""
    stated: set[str] = field(default_factory=set)

    @property
    def page(self) -> str:
        return f"{self.title}. {self.text}"


@dataclass(frozen=True)
class List:
    """A question with passages, and how much of the answer each of them is; none where only a teacher knows."""

    question: str
    passages: Sequence[str]
    shares: Sequence[float] | None
    form: str = ""


class Vocabulary:
    """The words of `pages.toml`, and names and values; kept in a file, so that another machine needs nothing else."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.kept = kept
        self.pools: dict[str, list[str]] = kept["pools"]
        self.kinds: dict[str, Any] = kept["kinds"]
        self.relations: dict[str, Any] = kept["relations"]
        self.people: list[str] = kept["pools"]["@person"]
        self.names: dict[str, list[str]] = kept["names"]

    @classmethod
    def made(cls, entityquestions: Path, without: Iterable[str], wordings: Iterable[str]) -> Vocabulary:
        """Of EntityQuestions' own files, without names and wordings that others are asked about."""
        table = tomllib.loads((HERE / "pages.toml").read_text("utf-8"))
        refused, known = {key(n) for n in without}, {wording_key(w) for w in wordings}
        pools: dict[str, list[str]] = table["pools"]
        subjects: dict[str, list[str]] = {}
        for file in sorted(entityquestions.glob("dev/*.json.gz")):
            relation = file.name.partition(".")[0]
            with gzip.open(file, "rt") as opened:
                records = json.load(opened)
            asked = [r["question"] for r in records]
            before, after = _frame(asked)
            names = [q[len(before) : len(q) - len(after)] for q in asked]
            subjects[relation] = [n for n in names if key(n) not in refused and 2 < len(n) < 45]
            answers = sorted({r["answers"][0] for r in records if 2 < len(r["answers"][0]) < 40})
            pools[relation] = [a for a in answers if key(a) not in refused]
        pools["P175s"], pools["@title"] = subjects["P175"], [*subjects["P50"], *subjects["P170"]]
        people = sorted({n for r in PEOPLE for n in subjects[r]} | {*pools["P26"], *pools["P40"]})
        pools["@person"] = [n for n in people if 1 < len(n.split()) < 4 and n[0].isupper() and "(" not in n]
        relations = {
            name: own | {f: [t for t in own[f] if wording_key(t) not in known] for f in ("asks", "slots", "claims")}
            for name, own in table["relations"].items()
        }  # fmt: skip
        names = {kind: [n for r in own for n in subjects[r]] for kind, own in NAMED.items()}
        return cls({"pools": pools, "kinds": table["kinds"], "relations": relations, "names": names})

    def value(self, draw: random.Random, pool: str) -> str:
        if pool == "#seasons":
            return str(draw.randint(1, 24))
        if pool == "#population":
            number = int(10 ** draw.uniform(2.2, 6.3))
            return f"{number:,}" if draw.random() < 0.6 else str(number)
        return draw.choice(self.pools[pool])


def wording_key(text: str) -> str:
    """A wording without its name and value, to be compared."""
    return key(re.sub(r"{[Nv]}|\$(name|object)|\[SEP\]", " ", text))


def _frame(asked: Sequence[str]) -> tuple[str, str]:
    """What all questions of a relation begin and end with."""
    first, last = min(asked), max(asked)
    before = next(n for n in range(len(first) + 1) if first[:n + 1] != last[:n + 1] or n == len(first))  # fmt: skip
    turned = sorted(q[::-1] for q in asked)
    a, b = turned[0], turned[-1]
    after = next(n for n in range(len(a) + 1) if a[: n + 1] != b[: n + 1] or n == len(a))
    return first[:before], first[len(first) - after :]


class World:
    """Names with their bearers, one after the other."""

    def __init__(self, vocabulary: Vocabulary, seed: str, plain: Sequence[str] = ()) -> None:
        self.vocabulary, self.plain = vocabulary, plain
        self.draw = random.Random(seed)

    # bearers

    def group(self) -> list[Bearer]:
        """The bearers of one name."""
        draw, kinds = self.draw, self.vocabulary.kinds
        people = [k for k, own in kinds.items() if own.get("person")]
        what = draw.random()
        if what < 0.5:
            name = draw.choice(self.vocabulary.people)
            size = draw.choice([1, 2, 2, 3, 3, 4, 5])
            chosen = draw.sample(people, size) if draw.random() < 0.7 else draw.choices(people, k=size)
            if draw.random() < 0.15:
                chosen[-1] = draw.choice([*WORKS, "machine", "building"])
        else:
            listed = WORKS if what < 0.8 else PLACES
            first = draw.choice(listed)
            name = draw.choice(self.vocabulary.names[first])
            others = [k for k in (*WORKS, *PLACES, "company", "machine", "species") if k != first]
            size = draw.choice([0, 1, 1, 2, 2, 3, 4])
            more = [first if draw.random() < 0.3 else draw.choice(others) for _ in range(size)]
            chosen = [first, *more]
        draw.shuffle(chosen)
        bearers = [self.bearer(name, kind) for kind in chosen]
        if draw.random() < 0.75:
            bearers[0].title = name
        taken: set[str] = set()
        for bearer in bearers:
            if bearer.title in taken:
                bearer.title = f"{name} ({bearer.words['y']} {bearer.noun})"
            taken.add(bearer.title)
        return bearers

    def bearer(self, name: str, kind: str) -> Bearer:
        draw, own = self.draw, self.vocabulary.kinds[kind]
        years = sorted(draw.sample(range(1780, 2015), 3)) if draw.random() < 0.3 else _life(draw)
        words = {
            "N": name, "S": name.split()[-1] if own.get("person") else name,
            **{f: str(y) for f, y in zip(("y", "y2", "y3"), years, strict=True)},
            **{f: self.day(y) for f, y in zip(("d", "d2", "d3"), years, strict=True)},
            "n": str(draw.randint(11, 950)), "age": str(draw.randint(2, 90)),
            "adj": draw.choice(self.vocabulary.pools["nation"]), "pl": draw.choice(self.vocabulary.pools["P19"]),
            "per": draw.choice(self.vocabulary.people),
            "breed": draw.choice(self.vocabulary.pools["breed"]), "family": draw.choice(self.vocabulary.pools["family"]),
        }  # fmt: skip
        values: dict[str, str] = {}
        for relation in own["relations"]:
            relation, _, fixed = relation.partition(":")
            values[relation] = fixed or self.vocabulary.value(
                draw, self.vocabulary.relations[relation]["pool"]
            )
        words |= {"P": values.get("performer", ""), "S2": values.get("author", values.get("creator", ""))}
        label = _filled(draw.choice(own["titles"]), words | values)
        bearer = Bearer(name, kind, draw.choice(own["nouns"]), f"{name} ({label})", values, words)
        self.write(bearer)
        return bearer

    def day(self, year: int) -> str:
        draw = self.draw
        day, month = draw.randint(1, 28), draw.choice(MONTHS)
        return f"{month} {day}, {year}" if draw.random() < 0.5 else f"{day} {month} {year}"

    def write(self, bearer: Bearer) -> None:
        """The text of a page: an opening sentence, and others that state facts or say something else."""
        draw, own = self.draw, self.vocabulary.kinds[bearer.kind]
        fillers = {r: self.vocabulary.value(draw, self.vocabulary.relations[r]["pool"]) if r in self.vocabulary.relations else self.vocabulary.value(draw, r) for r in _unknown(own["leads"], bearer)}  # fmt: skip
        lead = draw.choice(own["leads"])
        bearer.stated = {slot for slot in _SLOT.findall(lead) if slot in bearer.values}
        words = bearer.words | {"N": self.full_name(bearer) if own.get("person") else bearer.name}
        sentences = [_filled(lead, words | fillers | bearer.values)]
        body: list[str] = []
        for relation, value in bearer.values.items():
            if relation not in bearer.stated and draw.random() < 0.7:
                bearer.stated.add(relation)
                body.append(self.statement(bearer, relation, value))
        extra = draw.sample(own["fill"], draw.randint(0, min(3, len(own["fill"]))))
        body += [_filled(text, bearer.words | bearer.values) for text in extra]
        draw.shuffle(body)
        text = " ".join([*sentences, *body])
        bearer.text = _female(text) if own.get("person") and draw.random() < 0.25 else text

    def statement(self, bearer: Bearer, relation: str, value: str) -> str:
        own = self.vocabulary.relations[relation]
        words = {"he": "he", "his": "his", "him": "him", "He": "He", "His": "His", **bearer.words}
        words["S"] = self.draw.choice([words["S"], bearer.name, "He"]) if self.vocabulary.kinds[bearer.kind].get("person") else bearer.name  # fmt: skip
        person = self.vocabulary.kinds[bearer.kind].get("person") or bearer.kind == "character"
        text = self.draw.choice(own.get("of_people", own["states"]) if person else own["states"])
        return _filled(text, words | {"v": value, "v2": self.vocabulary.value(self.draw, own["pool"])})

    def full_name(self, bearer: Bearer) -> str:
        """As an opening sentence has a person's name: sometimes with further ones, or a nickname."""
        first, *rest = bearer.name.split()
        draw, more = self.draw, self.vocabulary.pools["first"]
        how = draw.random()
        if how < 0.6 or not rest:
            return bearer.name
        if how < 0.8:
            return " ".join([first, draw.choice(more), *rest])
        if how < 0.9:
            return " ".join([draw.choice(more), draw.choice(more), f'"{first}"', *rest])
        return " ".join([first, f"{draw.choice('ABCDEFGHJLMPRSTW')}.", *rest])

    # pages that are not meant

    def about_value(self, bearer: Bearer, relation: str, value: str, *, told: bool) -> str:
        """A page about a value, which often mentions the bearer where the value is its own."""
        draw = self.draw
        pool = self.vocabulary.relations[relation]["pool"]
        if pool in ("@person", "P50", "P170", "P26", "P40", "P112", "P175"):
            kinds = {"cast": "actor", "director": "actor", "screenplay": "writer", "author": "writer", "performer": "musician", "creator": "painter", "founder": "businessman"}  # fmt: skip
            other = self.bearer(value, kinds.get(relation, draw.choice(["soldier", "actor", "scientist"])))
        elif pool in ("P175s", "@title"):
            other = self.bearer(value, draw.choice(["song", "novel", "film"]))
        elif pool in ("P264", "P176", "P127"):
            other = self.bearer(value, "company")
        elif pool in _PLACES:
            other = self.bearer(value, "town")
        else:
            text = draw.choice(_GENERAL).format(v=value, pl=bearer.words["pl"], y=bearer.words["y"])
            other = Bearer(value, "", "", value[0].upper() + value[1:], {}, {}, text)
        if not told:
            return f"{value}. {other.text}"
        mention = draw.choice(_MENTIONS).format(N=bearer.name, y=bearer.words["y2"], noun=bearer.noun)
        claim = draw.choice(self.vocabulary.relations[relation]["claims"] or ["{v}: {N}."])
        said = draw.choice([mention, _filled(claim, {"N": bearer.name, "v": value}), ""])
        return f"{value if draw.random() < 0.8 else other.title}. {other.text} {said}".strip()

    def twin(self, bearer: Bearer, relation: str, value: str) -> str:
        """The page of something of another name of which the same claim is true."""
        own = self.vocabulary.kinds[bearer.kind]
        other = self.bearer(self.draw.choice(self.vocabulary.people if own.get("person") else self.vocabulary.names[bearer.kind]), bearer.kind)  # fmt: skip
        other.values[relation] = value
        other.text = f"{other.text} {self.statement(other, relation, value)}"
        return other.page if self.draw.random() < 0.5 else f"{other.name}. {other.text}"

    def touched(self, bearer: Bearer, value: str) -> str:
        """The page of somebody who is not meant, on which the value stands for another reason now and then."""
        if value and self.draw.random() < 0.25:
            return f"{bearer.page} {self.draw.choice(_TOUCHED).format(v=value)}"
        return bearer.page

    def beside(self, bearers: Sequence[Bearer]) -> str:
        """A page that has the name in its title, or only lists who has it."""
        draw, bearer = self.draw, self.draw.choice(bearers)
        name = bearer.name
        if draw.random() < 0.4:
            listed = [f"{b.title}, {b.words['adj']} {b.noun}" for b in bearers]
            opening = draw.choice(["{N} may refer to:", "{N} is the name of:", "{N} can refer to"])
            return f"{name}{draw.choice(['', ' (disambiguation)'])}. {opening.format(N=name)} {'; '.join(listed)}."
        title = draw.choice(_LONGER).format(N=name)
        other = self.bearer(title, bearer.kind if draw.random() < 0.5 else draw.choice([*NAMED]))
        return f"{title}. {other.text}"

    # questions

    def lists(self, *, most: int = 5) -> Iterator[List]:
        """Questions about the bearers of a name."""
        draw, bearers = self.draw, self.group()
        others = [self.group() for _ in range(3)]
        for _ in range(draw.randint(2, most)):
            form = draw.choices([*FORMS], [*FORMS.values()])[0]
            meant = draw.choice(bearers)
            relation = draw.choice([*meant.values])
            made = (
                self.two(form, bearers, meant, others)
                if form in ("two", "bridge")
                else self.one(form, bearers, meant, relation)
            )
            if made is None:
                continue
            question, shares, value = made
            wrong = [self.touched(b, value) for b in bearers if id(b) not in shares]
            for near in others[0][:2]:
                if id(near) not in shares:
                    wrong.append(near.page)
            extra = [self.beside(bearers)] if draw.random() < 0.5 else []
            if value and id(meant) in shares:
                own = value == meant.values[relation]
                times = draw.choice([0, 1, 1, 2] if own else [1, 1, 2])
                extra += [self.about_value(meant, relation, value, told=own) for _ in range(times)]
            if value and form == "claim" and draw.random() < TWIN:
                extra.append(self.twin(meant, relation, value))
            if self.plain and draw.random() < 0.3:
                extra.append(draw.choice(self.plain))
            same = [b for own in others for b in own if relation in b.values and id(b) not in shares]
            wrong += [b.page for b in same[:3]] + extra
            right = {id(b): b.page for own in (bearers, *others) for b in own if id(b) in shares}
            passages = [right[k] for k in shares] + list(dict.fromkeys(wrong))[:10]
            if len(passages) > len(shares):
                amounts = [*shares.values()] + [0.0] * (len(passages) - len(shares))
                yield List(_noisy(draw, question), passages, amounts, form)

    def one(
        self, form: str, bearers: Sequence[Bearer], meant: Bearer, relation: str
    ) -> tuple[str, dict[int, float], str] | None:
        """A question, slot or claim about one bearer, and who may be meant."""
        draw, own = self.draw, self.vocabulary.relations[relation]
        if relation not in meant.stated and draw.random() < STATED:
            meant.text += f" {self.statement(meant, relation, meant.values[relation])}"
            meant.stated.add(relation)
        could = [b for b in bearers if relation in b.values]
        name, decided = meant.name, len(could) == 1
        if form != "claim" and draw.random() < (QUALIFIED if not decided else 0.08):
            name, decided = self.qualified(bearers, meant, relation) or (name, decided)
        value = meant.values[relation]
        if form == "claim":
            if not own["claims"]:
                return None
            if draw.random() < FALSE:
                value = self.vocabulary.value(draw, own["pool"])
            elif all(b is meant or b.values[relation] != value for b in could):
                decided = True
            text = _filled(draw.choice(own["claims"]), {"N": name, "v": value})
            if draw.random() < NEGATED:
                text = draw.choice(_NOT).format(claim=text[:-1])
        elif form == "slot":
            if not own["slots"]:
                return None
            text = draw.choice(_SLOTS).format(N=name, slot=draw.choice(own["slots"]))
        else:
            if not own["asks"]:
                return None
            text = draw.choice(own["asks"]).format(N=name)
        rivals = [b for b in could if b is not meant]
        wrong = [b for b in bearers if b is not meant]
        if form == "ask" and wrong and draw.random() < DENIED and len({b.noun for b in bearers}) > 1:
            denied = draw.choice(wrong)
            if denied.noun != meant.noun:
                text = draw.choice(_DENIALS).format(text=text, noun=denied.noun, N=meant.name)
                rivals = [b for b in rivals if b.noun != denied.noun]
                decided = decided or not rivals
        if decided:
            return text, {id(meant): 1.0}, value
        said = {id(b): 1.0 if relation in b.stated else UNSAID for b in [meant, *rivals]}
        return text, {own: share / sum(said.values()) for own, share in said.items()}, value

    def qualified(self, bearers: Sequence[Bearer], meant: Bearer, relation: str) -> tuple[str, bool] | None:
        """The name with what tells its bearer apart."""
        draw, others = self.draw, [b for b in bearers if b is not meant]
        ways: list[str] = []
        if all(b.noun != meant.noun and b.kind != meant.kind for b in others):
            ways += [f"the {meant.noun} {meant.name}", f"{meant.name} the {meant.noun}", f"{meant.name} ({meant.noun})"]  # fmt: skip
        for other, value in meant.values.items():
            if other == relation or other not in meant.stated:
                continue
            if all(b.values.get(other) != value for b in others) and other in _TOLD:
                ways.append(f"{meant.name} {_TOLD[other].format(v=value)}")
        if meant.words["y"] in meant.text and all(b.words["y"] != meant.words["y"] for b in others):
            ways.append(f"{meant.name} ({meant.words['y']})")
        return (draw.choice(ways), True) if ways else None

    def two(
        self, form: str, bearers: Sequence[Bearer], meant: Bearer, others: Sequence[Sequence[Bearer]]
    ) -> tuple[str, dict[int, float], str] | None:
        """A question that takes two pages."""
        draw = self.draw
        if form == "two":
            fellows = [b for own in others for b in own if b.kind == meant.kind]
            if not fellows or any(b is not meant and b.kind == meant.kind for b in bearers):
                return None
            second = draw.choice(fellows)
            text = draw.choice(_TWO).format(a=meant.name, b=second.name, noun=meant.noun)
            return text, {id(meant): 0.5, id(second): 0.5}, ""
        roles = [r for r in meant.values if r in _ROLES]
        if not roles or any(b is not meant and set(roles) & set(b.values) for b in bearers):
            return None
        role = draw.choice(roles)
        second = next((b for own in others for b in own if self.vocabulary.kinds[b.kind].get("person")), None)
        if second is None:
            return None
        text = f"{self.draw.choice(_BRIDGES)}".format(role=_ROLES[role], noun=meant.noun, N=meant.name)
        linked = Bearer(
            second.name, meant.kind, meant.noun, meant.title, meant.values, meant.words, meant.text
        )
        linked.text += f" {self.statement(meant, role, second.name)}"
        meant.text = linked.text
        return text, {id(meant): 0.7, id(second): 0.3}, ""


_PLACES = ("P19", "P20", "P17", "P131", "P36", "P276", "P159", "P740")
_GENERAL = [
    "The {v} is known in many countries. Its history goes back to {y}, and a museum in {pl} is devoted to it.",
    "{v} is a term that has been used since {y}. It is found in {pl} and elsewhere.",
    "The {v} has had several forms. Its best-known followers lived in {pl}.",
    "{v} was described in {y}. The name is thought to come from {pl}.",
]
_MENTIONS = [
    "Among those connected with it is {N}.", "It is also linked to {N}.", "In {y}, {N} was added to the list.",
    "See also the {noun} {N}.", "{N} is one example.", "A later success was {N}.", "Credits include {N} ({y}).",
]  # fmt: skip
_TOUCHED = [
    "The name of {v} also occurs in a letter.", "There is a connection with {v}.", "A visit to {v} is recorded.", "Compare {v}.",
    "It was once confused with {v}.", "Notes on {v} were found later.", "A neighbour had something to do with {v}.",
]  # fmt: skip
_LONGER = [
    "{N} discography", "List of {N} episodes", "Young {N}", "{N} Jr.", "{N} Memorial Library", "{N} in popular culture",
    "The Return of {N}", "{N} II", "{N} Records", "{N} Street", "St. {N}", "{N} (soundtrack)", "New {N}", "The {N} Story",
    "{N} and Sons", "{N} County", "Lake {N}", "{N} Park",
]  # fmt: skip
_SLOTS = [
    "{N} {slot}",
    "{N}: {slot}",
    "{slot} of {N}",
    "{N}, {slot}",
    "{N} - {slot}",
    "{N} | {slot}",
    "{N} {slot}",
]
_NOT = [
    "It is not true that {claim}.", "{claim}, which is wrong.", "Nobody says that {claim}.", "It is false that {claim}."
]  # fmt: skip
_DENIALS = [
    "{text} I do not mean the {noun}.", "{text} (not the {noun})", "{text} Not the {noun}, please.", "Not the {noun} {N}: {text}",
    "{text} The {noun} is not meant.", "{text} - the other one, not the {noun}",
]  # fmt: skip
_TOLD = {
    "birthplace": "from {v}", "team": "of {v}", "school": "who studied at {v}", "party": "of the {v}", "branch": "of the {v}",
    "instrument": "who played the {v}", "field": "who worked in {v}", "region": "in {v}", "country": "in {v}", "location": "in {v}",
    "director": "by {v}", "author": "by {v}", "performer": "by {v}", "label": "on {v}", "maker": "by {v}", "creator": "by {v}",
    "position": "the {v}", "conflict": "who fought in the {v}", "headquarters": "of {v}", "formed": "from {v}", "network": "on {v}",
}  # fmt: skip
_TWO = [
    "Which is older, {a} or {b}?", "Were {a} and {b} of the same nation?", "Are both {a} and {b} a {noun}?",
    "Who lived longer, {a} or {b}?", "{a} and {b}: which of them came first?", "What do {a} and {b} have in common?",
]  # fmt: skip
_ROLES = {
    "director": "director", "author": "writer", "screenplay": "screenwriter", "cast": "star", "founder": "founder",
    "performer": "singer", "killer": "killer", "spouse": "spouse", "creator": "maker", "student": "doctoral student",
}  # fmt: skip
_BRIDGES = [
    "Where was the {role} of {N} born?", "The {role} of the {noun} {N} is of what nationality?", "When did the {role} of {N} die?",
    "In which year was the {role} of the {noun} {N} born?", "What else is the {role} of {N} known for?",
]  # fmt: skip


def _life(draw: random.Random) -> list[int]:
    born = draw.randint(1820, 1985)
    return [born, born + draw.randint(18, 30), born + draw.randint(31, 60)]


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\b([Aa]) (?=[AEIOUaeiou]\w)", r"\1n ", _SLOT.sub(lambda m: words.get(m[1], m[0]), text))


def _unknown(leads: Sequence[str], bearer: Bearer) -> list[str]:
    """What opening sentences say beside the facts of a bearer."""
    slots = {slot for lead in leads for slot in _SLOT.findall(lead)}
    return sorted(slots - set(bearer.values) - set(bearer.words))


def _female(text: str) -> str:
    return re.sub(r"\b(himself|he|his|him|He|His)\b", lambda m: _FEMALE[m[1]], text)


def _noisy(draw: random.Random, text: str) -> str:
    if draw.random() < 0.08:
        text = text.lower()
    if text.endswith("?") and draw.random() < 0.1:
        text = text[:-1]
    return text[0].upper() + text[1:] if draw.random() < 0.9 and not text.islower() else text


@cache
def paragraphs(dumps: Path) -> tuple[str, ...]:
    """Paragraphs of the cuts of Wikipedia, with their titles."""
    import bz2

    import mwparserfromhell

    found: list[str] = []
    for file in sorted(dumps.glob("en*.bz2")):
        with bz2.open(file, "rt", errors="replace") as opened:
            whole = opened.read()
        for page in re.findall(r"<page>.*?</page>", whole, re.DOTALL):
            title = re.search(r"<title>(.*?)</title>", page)
            text = re.search(r"<text[^>]*>(.*?)</text>", page, re.DOTALL)
            if title is None or text is None or text[1].startswith("#"):
                continue
            plain = re.sub(r"&lt;(ref|math|!--).*?(/ref|/math|--|/)&gt;", " ", text[1], flags=re.DOTALL)
            plain = (
                plain.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
            )
            plain = str(mwparserfromhell.parse(plain).strip_code())
            for part in plain.split("\n"):
                words = part.split()
                if len(words) > 25 and part[0].isalpha() and "|" not in part and ":" not in title[1]:
                    found.append(f"{title[1]}. {' '.join(words[:110])}")
    return tuple(found)
