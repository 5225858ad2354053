"""`namesake` against BM25 on worlds of several kinds of prose, and on any benchmarks beside them.

    python bench/namesake_worlds.py --work FOLDER [BENCHMARK ...]

Invents people and machines that share names, writes about them in prose of several kinds (an encyclopedia, a
directory, tickets, minutes, a price list, German, French and Spanish pages, and those of `namesake_prose.py`), asks for one attribute by way of
another, and prints the paired difference of acc@1 with its 95 % interval over names. The evidence must be
worth something wherever its words occur and nothing where they do not: the lower bound is to be above -.02.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import namesake_prose
from measured import parsed
from namesake_prose import CITIES, FIRMS, WORK
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_of
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.namesake import NamesakeRetriever

_STARTS = [
    "Ba",
    "Bel",
    "Cor",
    "Da",
    "Dor",
    "El",
    "Fen",
    "Gal",
    "Hal",
    "Ir",
    "Jo",
    "Kel",
    "Lan",
    "Mar",
    "Nor",
    "Ol",
    "Per",
    "Quin",
    "Ros",
    "Sel",
    "Tam",
    "Ul",
    "Ver",
    "Wil",
]
_ENDS = [
    "bert",
    "dan",
    "da",
    "fred",
    "go",
    "la",
    "lin",
    "mo",
    "na",
    "ne",
    "ran",
    "rik",
    "sa",
    "son",
    "ta",
    "ton",
    "va",
    "vin",
    "wen",
    "za",
]
HOBBIES = [
    "chess",
    "rowing",
    "falconry",
    "weaving",
    "fencing",
    "astronomy",
    "beekeeping",
    "archery",
    "calligraphy",
]
_GERMAN = dict(
    zip(
        WORK,
        [
            "Krankenpfleger",
            "Schweißer",
            "Bäcker",
            "Notar",
            "Müller",
            "Landvermesser",
            "Schneider",
            "Pilot",
            "Töpfer",
            "Brauer",
            "Drucker",
            "Schnitzer",
        ],
        strict=True,
    )
)
_FRENCH = dict(
    zip(
        WORK,
        [
            "infirmier",
            "soudeur",
            "boulanger",
            "notaire",
            "meunier",
            "géomètre",
            "tailleur",
            "pilote",
            "potier",
            "brasseur",
            "imprimeur",
            "sculpteur",
        ],
        strict=True,
    )
)
_SPANISH = dict(
    zip(
        WORK,
        [
            "enfermero",
            "soldador",
            "panadero",
            "notario",
            "molinero",
            "agrimensor",
            "sastre",
            "piloto",
            "alfarero",
            "cervecero",
            "impresor",
            "tallador",
        ],
        strict=True,
    )
)

TEXTS = {
    "encyclopedia": "{name} (born {year}) is a {work} from {city}. {name} works for {firm} and is known for {hobby}.",
    "directory": "{name} | {work} | site {city} | employer {firm} | since {year} | club: {hobby}",
    "tickets": "Caller said the badge at {firm} stopped working. Callback after five; on file as {work}, {city} office, joined {year}. Small talk: {hobby}.",
    "minutes": "It was in {city}, the year {year}, that we first hired {name} as our {work}; the folks over at {firm} were furious. Nobody minded the {hobby}.",
    "prices": "{name}, model {year}: made by {firm}, shipped from {city}; for the {work}; case with {hobby} motif.",
    "german": "{name} (geboren {year}) ist ein {work} aus {city}. Er arbeitet für {firm}.",
    "french": "{name} (né en {year}) est un {work} de {city}. Il travaille pour {firm}.",
    "spanish": "{name} (nacido en {year}) es un {work} de {city}. Trabaja para {firm}.",
}
_SAID = {
    "city": "from {city}",
    "firm": "of {firm}",
    "year": "of {year}",
    "work": "the {work}",
    "hobby": "who likes {hobby}",
}
_ASKS = {
    "city": ["Where does {who} work?", "Which office is {who} in?"],
    "firm": ["Who employs {who}?", "Which company does {who} work for?"],
    "year": ["When was {who} born?", "Since when do we know {who}?"],
    "work": ["What is the occupation of {who}?", "What does {who} do?"],
    "hobby": ["What does {who} like to do?", "What is {who} known for?"],
}
_OTHERS = {
    "german": (
        _GERMAN,
        "Für wen arbeitet {who}?",
        {"city": "aus {city}", "year": "({year})", "work": "der {work}"},
    ),
    "french": (
        _FRENCH,
        "Pour qui travaille {who} ?",
        {"city": "de {city}", "year": "({year})", "work": "le {work}"},
    ),
    "spanish": (
        _SPANISH,
        "¿Para quién trabaja {who}?",
        {"city": "de {city}", "year": "({year})", "work": "el {work}"},
    ),
}


def invent(kind: str, folder: Path, *, seed: int = 0, names: int = 150) -> Benchmark:
    """A benchmark of one kind of prose; a quarter of its questions do not say who is meant."""
    place = folder / f"{kind}-{seed}-{names}"
    if place.exists():
        return Benchmark.open(place)
    draw = random.Random(f"{kind} {seed}")
    passages: list[Passage] = []
    queries: list[Query] = []
    sets: list[NameSet] = []
    for number in range(names):
        name = f"{draw.choice(_STARTS)}{draw.choice(_ENDS)} {draw.choice(_STARTS)}{draw.choice(_ENDS)}{draw.choice(_ENDS)}"
        bearers = [_person(draw) for _ in range(draw.choice([1, 2, 2, 3, 4]))]
        pages = [f"p:{number}-{n}" for n in range(len(bearers))]
        for page, person in zip(pages, bearers, strict=True):
            text = TEXTS[kind].format(name=name, **_translated(kind, person))
            passages.append(Passage(id=f"{page}#0", page=page, title=name, text=text))
        sets.append(
            NameSet(id=f"s{number}", name=name, bearers=tuple(Bearer(entity=p, pages=(p,)) for p in pages))
        )
        queries += _queries(draw, kind, number, name, bearers, pages)
    return save_benchmark(place, name=f"{kind}-{seed}", queries=queries, passages=passages, sets=sets)


def _person(draw: random.Random) -> dict[str, str]:
    return {
        "city": draw.choice(CITIES),
        "firm": draw.choice(FIRMS),
        "year": str(draw.randint(1950, 2005)),
        "work": draw.choice(WORK),
        "hobby": draw.choice(HOBBIES),
    }


def _translated(kind: str, person: dict[str, str]) -> dict[str, str]:
    words = _OTHERS[kind][0] if kind in _OTHERS else {}
    return {**person, "work": words.get(person["work"], person["work"])}


def _queries(
    draw: random.Random,
    kind: str,
    number: int,
    name: str,
    bearers: Sequence[dict[str, str]],
    pages: Sequence[str],
) -> Iterator[Query]:
    for n, (person, page) in enumerate(zip(bearers, pages, strict=True)):
        others = [b for b in bearers if b is not person]
        open_question = bool(others) and draw.random() < 0.25
        said = _OTHERS[kind][2] if kind in _OTHERS else _SAID
        asked = "firm" if kind in _OTHERS else draw.choice(list(_ASKS))
        tells = [a for a in said if a != asked and all(o[a] != person[a] for o in others)]
        if (kind == "tickets" and "hobby" in tells) or not tells:
            tells = [a for a in tells if a != "hobby"]
        if not tells:
            continue
        qualifier = draw.choice(tells)
        who = name if open_question else f"{name} {said[qualifier].format(**_translated(kind, person))}"
        template = _OTHERS[kind][1] if kind in _OTHERS else draw.choice(_ASKS[asked])
        attributes: dict[str, str] = {"resolvable": "no" if open_question else "yes"}
        attributes |= {"qualifier": person[qualifier], "qualifier_label": qualifier}
        yield Query(
            id=f"{kind}-{number}-{n}",
            task="qa",
            input=template.format(who=who),
            name=name,
            name_set=f"s{number}",
            entity=page,
            attributes=attributes,
            outputs=(Output(provenance=((Provenance(page=page),),)),),
        )


def paired(
    benchmark: Benchmark, work: Path, most: int, **options: str
) -> tuple[int, float, float, float, float]:
    """How many questions, acc@1 of BM25 and of namesake, and the interval of their difference over names."""
    queries = sorted(benchmark.queries, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())[:most]
    questions = [query.question() for query in queries]
    right = []
    for system in (
        Bm25.over(benchmark.corpus, work),
        NamesakeRetriever.over(benchmark.corpus, work, **options),
    ):
        rankings = system.search(questions, 5)
        pairs = zip(rankings, queries, strict=True)
        right.append(
            np.array([bool(r.passages) and page_of(r.passages[0]) in q.gold_pages() for r, q in pairs])
        )
    difference = right[1].astype(float) - right[0]
    _, owner = np.unique([q.name or q.id for q in queries], return_inverse=True)
    sums, counts = np.bincount(owner, difference), np.bincount(owner)
    draws = np.random.default_rng(0).integers(0, len(sums), (4_000, len(sums)))
    low, high = np.percentile(sums[draws].sum(1) / counts[draws].sum(1), [2.5, 97.5])
    return len(queries), float(right[0].mean()), float(right[1].mean()), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*", help="further benchmarks")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", default="none")
    parser.add_argument("--seed", type=int, default=100, help="the evidence was fitted on seeds below 100")
    parser.add_argument("--most", type=int, default=600, help="questions of a benchmark at most")
    options = parsed(parser, small="--work {place} --most 20")
    worlds = [(kind, invent(kind, options.work, seed=options.seed)) for kind in TEXTS]
    worlds += [
        (kind, namesake_prose.invent(kind, options.work, seed=options.seed)) for kind in namesake_prose.KINDS
    ]
    worlds += [(path, Benchmark.open(path)) for path in options.benchmarks]
    print("| world | questions | BM25 | namesake | difference |\n| --- | --- | --- | --- | --- |")
    for name, benchmark in worlds:
        work = options.work / benchmark.corpus.hash[:16]
        count, before, after, low, high = paired(benchmark, work, options.most, encoder=options.encoder)
        print(
            f"| {name} | {count} | {before:.3f} | {after:.3f} | {after - before:+.3f} [{low:+.3f}, {high:+.3f}] |",
            flush=True,
        )


if __name__ == "__main__":
    main()
