"""Further invented worlds; but for "middle initials", of prose that the evidence was never fitted on.

Chats in small letters, court files, very short notes, lists of parts, passages without a title, threads of several
passages an entity, names that are common words, names with middle initials, complaints full of "not", and languages without a
table of kinds. `bench/namesake_worlds.py` compares `namesake` with BM25 on each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query

COMMON_FIRST = [
    "Will",
    "Mark",
    "Rose",
    "Grace",
    "Bill",
    "May",
    "June",
    "Frank",
    "Art",
    "Pat",
    "Hope",
    "Faith",
    "Chase",
    "Rob",
    "Sue",
    "Dale",
]
COMMON_LAST = [
    "Hill",
    "Park",
    "Bishop",
    "Field",
    "Long",
    "Young",
    "Price",
    "Bush",
    "Stone",
    "Brown",
    "King",
    "Page",
    "Day",
    "Banks",
    "Rice",
    "Law",
]
CYRILLIC_FIRST = ["Иван", "Пётр", "Анна", "Ольга", "Сергей", "Мария", "Фёдор", "Елена", "Олег", "Нина"]
CYRILLIC_LAST = [
    "Орлов",
    "Белов",
    "Громов",
    "Зимин",
    "Котов",
    "Лапин",
    "Минин",
    "Носов",
    "Осин",
    "Панин",
    "Седов",
    "Титов",
]
PARTS = ["Bolt", "Valve", "Pump", "Flange", "Gasket", "Rotor", "Hinge", "Clamp", "Sensor", "Relay"]


@dataclass(frozen=True)
class Prose:
    """How one kind of text is written and asked about; `said` tells bearers apart by one attribute."""

    texts: Sequence[str]
    asks: Sequence[str]
    said: dict[str, str]
    values: dict[str, Sequence[str]]
    title: bool = True
    small: bool = False
    names: str = "invented"
    language: str = ""


CITIES = [
    "Leeds",
    "Turin",
    "Oslo",
    "Porto",
    "Ghent",
    "Lyon",
    "Graz",
    "Brno",
    "Malmo",
    "Cadiz",
    "Riga",
    "Split",
    "Vigo",
    "Tartu",
    "Bergen",
    "Basel",
]
FIRMS = [
    "Acme",
    "Globex",
    "Initech",
    "Umbra",
    "Norwind",
    "Halcyon",
    "Vantage",
    "Kestrel",
    "Meridian",
    "Solaris",
]
WORK = [
    "nurse",
    "welder",
    "baker",
    "notary",
    "miller",
    "surveyor",
    "tailor",
    "pilot",
    "potter",
    "brewer",
    "printer",
    "carver",
]
_THINGS = [
    "scanner",
    "badge",
    "laptop",
    "invoice",
    "router",
    "projector",
    "headset",
    "printer",
    "monitor",
    "password",
]
_YEARS = [str(year) for year in range(1950, 2006)]
_PEOPLE = {"city": CITIES, "firm": FIRMS, "work": WORK, "thing": _THINGS, "year": _YEARS}
_SAID = {"city": "from {city}", "firm": "at {firm}", "work": "the {work}", "year": "({year})"}

KINDS = {
    "chat": Prose(
        ["{name}: hi, {city} office here. {name}: the {thing} again :( agent: {firm} contract? {name}: yes, since {year}. i'm the {work}"],
        ["what broke for {who}", "any news on the ticket of {who}?"],
        _SAID, _PEOPLE, small=True,
    ),
    "court": Prose(
        ["In the matter of {name}, {work}, domiciled at {city}, plaintiff, versus {firm}, respondent: the plaintiff, engaged in {year}, moves for return of one {thing}; the motion is denied without costs."],
        ["What did {who} claim?", "Which motion was filed by {who}?"],
        _SAID, _PEOPLE,
    ),
    "short": Prose(["{name}, {city}, {thing}"], ["{who}?", "What does {who} have?"], {"city": "{city}"}, _PEOPLE),
    "parts": Prose(
        ["{name} | mat. {work} | DN {size} | {city} plant | {firm} | EUR {price}"],
        ["What does the {who} cost?", "price of {who}", "Who makes the {who}?"],
        {"size": "DN {size}", "city": "made in {city}", "work": "in {work}"},
        {"size": [str(n) for n in range(10, 200, 5)], "city": CITIES, "firm": FIRMS, "price": [str(n) for n in range(3, 90)],
         "work": ["steel", "brass", "copper", "nylon", "zinc", "bronze", "titanium", "PVC"]},
        names="parts",
    ),
    "untitled": Prose(
        ["{name} is a {work} from {city} who joined {firm} in {year} and lost a {thing}."],
        ["What did {who} lose?", "When did {who} join?"],
        _SAID, _PEOPLE, title=False,
    ),
    "threads": Prose(
        ["{name} wrote from the {city} office about the {thing}.", "Second level called back. On file: {work}, contract with {firm}.", "Closed in {year} after a replacement was sent."],
        ["What was replaced for {who}?", "What did {who} write about?"],
        _SAID, _PEOPLE,
    ),
    "common words": Prose(
        ["{name} is a {work} in {city}. Long days at {firm} since {year}; will mark every {thing} with a rose."],
        ["What does {who} mark?", "Where will {who} work?"],
        _SAID, _PEOPLE, names="common",
    ),
    "complaints": Prose(
        ["{name} ({city}) does not get the {thing} to work and is not amused. Not the {work} on duty, not {firm}, nobody answered in {year}."],
        ["Why does the {thing} of {who} not work?", "{who} is not happy, not at all: why?"],
        {"city": "from {city}", "thing": "with the {thing}"}, _PEOPLE,
    ),
    "middle initials": Prose(
        ["{name} is a {work} from {city} and has worked for {firm} since {year}."],
        ["Who employs {who}?", "What does {who} do?"],
        {"city": "from {city}", "year": "({year})"}, _PEOPLE, names="initials",
    ),
    "italian": Prose(
        ["{name} (nato nel {year}) è un impiegato di {city}. Lavora per {firm} e ha perso il {thing}."],
        ["Per chi lavora {who}?", "Che cosa ha perso {who}?"],
        {"city": "di {city}", "year": "({year})"}, _PEOPLE, language="it",
    ),
    "dutch": Prose(
        ["{name} (geboren in {year}) komt uit {city}, werkt voor {firm} en is zijn {thing} kwijt."],
        ["Voor wie werkt {who}?", "Wat is {who} kwijt?"],
        {"city": "uit {city}", "year": "({year})"}, _PEOPLE, language="nl",
    ),
    "russian": Prose(
        ["{name} родился в {year} году, живёт в городе {city} и работает в фирме {firm}."],
        ["Где работает {who}?", "Чем занимается {who}?"],
        {"city": "({city})", "year": "({year})"}, _PEOPLE, names="cyrillic", language="ru",
    ),
}  # fmt: skip


def invent(kind: str, folder: Path, *, seed: int = 0, names: int = 150) -> Benchmark:
    """A benchmark of one kind; a quarter of its questions do not say who is meant."""
    place = folder / f"{kind.replace(' ', '-')}-{seed}-{names}"
    if place.exists():
        return Benchmark.open(place)
    draw, prose = random.Random(f"{kind} {seed}"), KINDS[kind]
    passages: list[Passage] = []
    queries: list[Query] = []
    sets: list[NameSet] = []
    for number in range(names):
        name = _name(draw, prose.names)
        bearers = [
            {label: draw.choice(listed) for label, listed in prose.values.items()}
            for _ in range(draw.choice([1, 2, 2, 3, 4]))
        ]
        pages = [f"p:{number}-{n}" for n in range(len(bearers))]
        for n, (page, values) in enumerate(zip(pages, bearers, strict=True)):
            passages += _passages(draw, prose, _own_name(draw, prose, name, n), page, values)
        own = tuple(Bearer(entity=page, pages=(page,)) for page in pages)
        sets.append(NameSet(id=f"s{number}", name=name, bearers=own))
        for n, values in enumerate(bearers):
            others = [b for b in bearers if b is not values]
            query = _query(draw, prose, f"{kind}-{number}-{n}", name, values, others)
            if query is not None:
                text, attributes = query
                gold = (Output(provenance=((Provenance(page=pages[n]),),)),)
                queries.append(
                    Query(
                        id=f"{kind}-{number}-{n}",
                        task="qa",
                        input=text.lower() if prose.small else text,
                        name=name,
                        name_set=f"s{number}",
                        entity=pages[n],
                        attributes=attributes,
                        outputs=gold,
                    )
                )
    return save_benchmark(place, name=f"{kind}-{seed}", queries=queries, passages=passages, sets=sets)


def _name(draw: random.Random, kind: str) -> str:
    if kind == "common":
        return f"{draw.choice(COMMON_FIRST)} {draw.choice(COMMON_LAST)}"
    if kind == "cyrillic":
        return f"{draw.choice(CYRILLIC_FIRST)} {draw.choice(CYRILLIC_LAST)}"
    if kind == "parts":
        return f"{draw.choice(PARTS)} {draw.choice('ABKMRX')}{draw.randint(2, 60)}"
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "al", "en", "or")]
    return " ".join("".join(draw.choices(syllables, k=2)).capitalize() for _ in range(2))


def _own_name(draw: random.Random, prose: Prose, name: str, place: int) -> str:
    """How a bearer's own page has the name: every second one with a middle initial, where they differ."""
    if prose.names != "initials" or place % 2 == 0:
        return name
    first, last = name.split()
    return f"{first} {draw.choice('ABCDEFGHKLM')}. {last}"


def _passages(
    draw: random.Random, prose: Prose, name: str, page: str, values: dict[str, str]
) -> list[Passage]:
    texts = [text.format(name=name, **values) for text in prose.texts]
    return [
        Passage(
            id=f"{page}#{n}",
            page=page,
            title=name if prose.title else "",
            text=text.lower() if prose.small else text,
        )
        for n, text in enumerate(texts)
    ]


def _query(
    draw: random.Random,
    prose: Prose,
    identity: str,
    name: str,
    values: dict[str, str],
    others: Sequence[dict[str, str]],
) -> tuple[str, dict[str, str]] | None:
    is_open = bool(others) and draw.random() < 0.25
    tells = [a for a in prose.said if all(other[a] != values[a] for other in others)]
    if not tells:
        return None
    told_by = draw.choice(tells)
    who = name if is_open else f"{name} {prose.said[told_by].format(**values)}"
    text = draw.choice(prose.asks).format(who=who, **values)
    return text, {"resolvable": "no" if is_open else "yes", "qualifier": values[told_by]}
